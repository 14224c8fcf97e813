package sandbox

import (
	"io"
	"net/http"
	"time"
)

// maxBody bounds what is read of a request: more than any invoice needs.
const maxBody = 8 << 20

// A Request is what arrived on the wire, for tests that assert on its bytes.
type Request struct {
	Method        string
	Path          string // with the query, escaped as it was sent
	Host          string
	RemoteAddr    string // tells connections apart, on real sockets only
	Header        http.Header
	ContentLength int64     // -1 if the request did not say
	Body          []byte    // as far as it was read; at most 8 MiB
	At            time.Time // when its header had arrived, in the server's time
}

// Requests returns a copy of every request so far, lookups and requests that no
// provider knows included, in the order of their arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, 0, len(s.requests))
	for _, r := range s.requests {
		c := *r
		c.Header = r.Header.Clone()
		c.Body = append([]byte(nil), r.Body...)
		out = append(out, c)
	}
	return out
}

// arrive records a request, and returns it with a body that adds to the record
// whatever is read of it.
func (s *Server) arrive(r *http.Request) *http.Request {
	entry := &Request{
		Method:        r.Method,
		Path:          wirePath(r),
		Host:          r.Host,
		RemoteAddr:    r.RemoteAddr,
		Header:        r.Header.Clone(),
		ContentLength: r.ContentLength,
	}
	s.mu.Lock()
	entry.At = s.settle()
	s.requests = append(s.requests, entry)
	s.mu.Unlock()

	out := r.WithContext(r.Context())
	body := r.Body
	if body == nil {
		body = http.NoBody
	}
	out.Body = &recordedBody{ReadCloser: body, server: s, entry: entry}
	return out
}

// wirePath returns path and query as they were sent.
func wirePath(r *http.Request) string {
	if r.RequestURI != "" {
		return r.RequestURI
	}
	return r.URL.RequestURI()
}

type recordedBody struct {
	io.ReadCloser
	server *Server
	entry  *Request
}

func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.server.mu.Lock()
		b.entry.Body = append(b.entry.Body, p[:n]...)
		b.server.mu.Unlock()
	}
	return n, err
}
