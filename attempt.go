package unavez

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// maxAnswer is how much of an answer is read, in bytes after decompression.
const maxAnswer = 8 << 20

// exchange is one attempt: what is sent, and what is known when it ends. It is used by one attempt at a time.
type exchange struct {
	timeout time.Duration
	body    []byte

	onConnect func(httptrace.GotConnInfo)
	connected atomic.Bool // the transport may call the hook from another goroutine
	bodyRead  atomic.Bool
	started   time.Time
	duration  time.Duration
	answer    *Answer
	err       error
}

type exchangeKey struct{}

func (x *exchange) reset() {
	x.connected.Store(false)
	x.bodyRead.Store(false)
	x.answer, x.err, x.duration = nil, nil, 0
	x.started = time.Now()
}

// sent reports whether a byte may have left. A transport that knows no trace still has to read the body.
func (x *exchange) sent() bool { return x.connected.Load() || x.bodyRead.Load() }

// attempter is the RoundTripper below every client: one call is one attempt, with its own timeout, its own reader over the frozen
// bytes, and the answer read to its end. It has no CloseIdleConnections method, so that nobody above it can empty the pool
// of a transport that the application shares.
type attempter struct {
	transport http.RoundTripper
	// isTraced says that the transport is net/http's own, which tells when it has a connection.
	isTraced bool
}

func newAttempter(transport http.RoundTripper) attempter {
	_, isTraced := transport.(*http.Transport)
	return attempter{transport: transport, isTraced: isTraced}
}

var (
	errNoExchange = errors.New("unavez: request without an exchange")
	errNoResponse = errors.New("unavez: the transport returned neither a response nor an error")
)

// RoundTrip implements [http.RoundTripper].
func (a attempter) RoundTrip(request *http.Request) (*http.Response, error) {
	x, ok := request.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, errNoExchange
	}
	x.reset()
	ctx, cancel := context.WithTimeout(request.Context(), x.timeout)
	defer cancel()
	if x.onConnect == nil {
		x.onConnect = func(httptrace.GotConnInfo) { x.connected.Store(true) }
	}
	// A new trace each time: the caller's own hooks are composed into it.
	attempt := request.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: x.onConnect}))
	if x.body != nil {
		attempt.Body = a.newBody(x)
		attempt.ContentLength = int64(len(x.body))
		attempt.GetBody = nil // with it net/http sends a write again on its own
	}
	response, err := a.transport.RoundTrip(attempt)
	if err == nil && response == nil {
		err = errNoResponse
	}
	if err != nil {
		if response != nil && response.Body != nil {
			_ = response.Body.Close()
		}
		x.err, x.duration = err, time.Since(x.started)
		return nil, err
	}
	x.answer = readAnswer(response)
	x.duration = time.Since(x.started)
	response.Body = http.NoBody
	return response, nil
}

// newBody returns a reader of its own for each attempt. net/http sends headers and body in one packet only if it knows the type
// of the reader to be in memory.
func (a attempter) newBody(x *exchange) io.ReadCloser {
	if a.isTraced {
		return io.NopCloser(bytes.NewReader(x.body))
	}
	return &frozenBody{exchange: x, reader: *bytes.NewReader(x.body)}
}

// frozenBody reads the bytes of the operation and notes that the transport began to, for transports that may not trace.
type frozenBody struct {
	exchange *exchange
	reader   bytes.Reader
}

// Read implements [io.Reader].
func (b *frozenBody) Read(p []byte) (int, error) {
	b.exchange.bodyRead.Store(true)
	return b.reader.Read(p)
}

// Close implements [io.Closer].
func (*frozenBody) Close() error { return nil }

// readAnswer reads within the bound and closes. What is longer or cut is Truncated, and its body is dropped.
func readAnswer(response *http.Response) *Answer {
	answer := &Answer{Status: response.StatusCode, Header: response.Header}
	if response.Body == nil {
		return answer
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode < http.StatusOK { // after 101 the body is the connection, and has no end
		answer.Truncated = true
		return answer
	}
	size := response.ContentLength
	if size < 0 || size > 64<<10 {
		size = 512
	}
	body, err := readBounded(response.Body, make([]byte, 0, size+1))
	answer.Body, answer.Truncated = body, err != nil
	return answer
}

var errTooLong = errors.New("unavez: answer longer than the client reads")

// readBounded reads to the end into buffer, which grows as needed; a body of exactly the expected size needs one byte of
// room to see its end.
func readBounded(body io.Reader, buffer []byte) ([]byte, error) {
	for {
		n, err := body.Read(buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
		switch {
		case len(buffer) > maxAnswer:
			return nil, errTooLong
		case errors.Is(err, io.EOF):
			return buffer, nil
		case err != nil:
			return nil, err
		case len(buffer) == cap(buffer):
			buffer = slices.Grow(buffer, len(buffer)+bytes.MinRead)
		}
	}
}

// isCertificateError reports an error that no waiting mends: the peer is not who it should be.
func isCertificateError(err error) bool {
	var verification *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &verification) || errors.As(err, &unknown) || errors.As(err, &hostname) || errors.As(err, &invalid)
}

// isRefusedStream reports that an HTTP/2 peer said it did not process the stream (REFUSED_STREAM, or GOAWAY before it). net/http
// tells it in a text only, once a body was read. The text is used in the harmless direction alone: where it is
// worded otherwise, the attempt counts as sent.
func isRefusedStream(err error) bool {
	text := err.Error()
	if !strings.Contains(text, "http2: Transport: cannot retry err [") {
		return false
	}
	return strings.Contains(text, "; REFUSED_STREAM") || strings.Contains(text, "graceful shutdown GOAWAY")
}

// withoutURL drops the address from a net/http error: it may hold a key.
func withoutURL(err error) error {
	var withURL *url.Error
	if errors.As(err, &withURL) {
		return withURL.Err
	}
	return err
}
