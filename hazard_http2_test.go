package unavez_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// The frames and codes of RFC 9113 that the tests need.
const (
	frameData, frameHeaders, frameReset, frameSettings, frameGoAway = 0x0, 0x1, 0x3, 0x4, 0x7
	flagEnd, flagAck                                                = 0x1, 0x1
	codeNone, codeInternal, codeRefusedStream, codeCancel           = 0x0, 0x2, 0x7, 0x8
)

// frame writes one HTTP/2 frame.
func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	out := make([]byte, 9, 9+len(payload))
	out[0], out[1], out[2] = byte(len(payload)>>16), byte(len(payload)>>8), byte(len(payload))
	out[3], out[4] = kind, flags
	binary.BigEndian.PutUint32(out[5:], stream)
	return append(out, payload...)
}

func word(values ...uint32) []byte {
	var out []byte
	for _, value := range values {
		out = binary.BigEndian.AppendUint32(out, value)
	}
	return out
}

// rawHTTP2 is a TLS server that speaks just enough HTTP/2 to break off a stream at a chosen moment.
type rawHTTP2 struct {
	listener net.Listener
	roots    *x509.CertPool
	// onHeaders and onData are what is written when the header of a stream, or the end of its body, has come.
	onHeaders, onData func(stream uint32) []byte
	streams, bodies   atomic.Int32

	mu    sync.Mutex
	conns []net.Conn
}

func newRawHTTP2(tb testing.TB, onHeaders, onData func(stream uint32) []byte) *rawHTTP2 {
	tb.Helper()
	borrowed := httptest.NewUnstartedServer(nil)
	borrowed.StartTLS()
	certificate := borrowed.TLS.Certificates[0]
	roots := x509.NewCertPool()
	roots.AddCert(borrowed.Certificate())
	borrowed.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12,
	})
	require.NoError(tb, err)
	s := &rawHTTP2{listener: listener, roots: roots, onHeaders: onHeaders, onData: onData}
	tb.Cleanup(s.close)
	go s.serve()
	return s
}

func (s *rawHTTP2) url() string { return "https://" + s.listener.Addr().String() }

func (s *rawHTTP2) transport() *http.Transport {
	return &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: s.roots, ServerName: "example.com"}}
}

func (s *rawHTTP2) serve() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns = append(s.conns, conn)
		s.mu.Unlock()
		go s.converse(conn)
	}
}

func (s *rawHTTP2) close() {
	_ = s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.conns {
		_ = conn.Close()
	}
}

func (s *rawHTTP2) converse(conn net.Conn) {
	preface := make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	if _, err := io.ReadFull(conn, preface); err != nil {
		return
	}
	_, _ = conn.Write(frame(frameSettings, 0, 0, nil))
	header := make([]byte, 9)
	for {
		if _, err := io.ReadFull(conn, header); err != nil {
			return
		}
		payload := make([]byte, int(header[0])<<16|int(header[1])<<8|int(header[2]))
		if _, err := io.ReadFull(conn, payload); err != nil {
			return
		}
		_, _ = conn.Write(s.react(header[3], header[4], binary.BigEndian.Uint32(header[5:])))
	}
}

func (s *rawHTTP2) react(kind, flags byte, stream uint32) []byte {
	switch {
	case kind == frameSettings && flags&flagAck == 0:
		return frame(frameSettings, flagAck, 0, nil)
	case kind == frameHeaders:
		s.streams.Add(1)
		return s.onHeaders(stream)
	case kind == frameData && flags&flagEnd != 0:
		s.bodies.Add(1)
		return s.onData(stream)
	}
	return nil
}

func silent(uint32) []byte { return nil }

func resets(code uint32) func(uint32) []byte {
	return func(stream uint32) []byte { return frame(frameReset, 0, stream, word(code)) }
}

// goesAway says that no stream above last was processed. Without an error code it is the graceful one.
func goesAway(last, code uint32) func(uint32) []byte {
	return func(uint32) []byte { return frame(frameGoAway, 0, 0, word(last, code)) }
}

func TestStreamThatThePeerRefusedWasNotSent(t *testing.T) {
	t.Parallel()
	for name, react := range map[string]func(uint32) []byte{
		"REFUSED_STREAM": resets(codeRefusedStream), "GOAWAY before the stream": goesAway(0, codeNone),
	} {
		for _, c := range everyWrite(t) {
			t.Run(c.String()+" "+name, func(t *testing.T) {
				t.Parallel()
				server := newRawHTTP2(t, silent, react)
				client := loopback(t, c.provider, server.url(), server.transport(), unavez.WithMaxAttempts(1), unavez.WithTimeout(5*time.Second))

				_, err := c.do(t.Context(), client, testKey)

				e := requireError(t, err)
				require.Equal(t, unavez.RetryLater, e.Disposition)
				require.Equal(t, unavez.NotSent, e.Effect, "%v", e.Err)
				require.NotErrorIs(t, err, unavez.ErrOutcomeUnknown)
				require.Equal(t, int32(1), server.streams.Load(), "the transport sent the write again on its own")
				require.Len(t, e.Attempts, 1)
			})
		}
	}
}

func TestStreamThatBreaksOffHasAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	closing := func(uint32) []byte { return frame(frameGoAway, 0, 0, word(1<<31-1, codeInternal)) }
	for name, row := range map[string]struct{ onHeaders, onData func(uint32) []byte }{
		"INTERNAL_ERROR after the body":       {silent, resets(codeInternal)},
		"CANCEL after the body":               {silent, resets(codeCancel)},
		"INTERNAL_ERROR after the header":     {resets(codeInternal), silent},
		"silence":                             {silent, silent},
		"GOAWAY with an error, stream inside": {silent, closing},
	} {
		for _, provider := range allProviders() {
			t.Run(provider+" "+name, func(t *testing.T) {
				t.Parallel()
				server := newRawHTTP2(t, row.onHeaders, row.onData)
				client := loopback(t, provider, server.url(), server.transport(), unavez.WithMaxAttempts(1), unavez.WithMaxWait(0),
					unavez.WithTimeout(500*time.Millisecond))

				_, err := mainCase(t, provider).do(t.Context(), client, testKey)

				e := requireError(t, err)
				require.ErrorIs(t, err, unavez.ErrRetryLater)
				require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
				require.Equal(t, 1, countWrites(e.Attempts))
				require.Equal(t, unavez.Unknown, e.Attempts[0].Effect)
			})
		}
	}
}

// newHTTP2 is net/http's own server over HTTP/2.
func newHTTP2(tb testing.TB, handler http.HandlerFunc) (*httptest.Server, *http.Transport) {
	tb.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	tb.Cleanup(server.Close)
	transport, ok := server.Client().Transport.(*http.Transport)
	require.True(tb, ok)
	return server, transport.Clone()
}

func TestAbortedStreamOfARealServerHasAnUnknownOutcomeAndIsSentOnce(t *testing.T) {
	t.Parallel()
	for _, c := range everyWrite(t) {
		for _, isWarm := range []bool{false, true} {
			name := c.String() + " first request"
			if isWarm {
				name = c.String() + " reused connection"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var writes atomic.Int32
				server, transport := newHTTP2(t, func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					switch {
					case r.ProtoMajor != 2:
						t.Error("the request came over HTTP/1")
					case bytes.Contains(body, []byte("warming")) || r.Header.Get("Idempotency-Key") == "warming:connection":
						w.WriteHeader(http.StatusUnauthorized)
						return
					case r.Method == http.MethodPost:
						writes.Add(1)
					}
					panic(http.ErrAbortHandler)
				})
				client := loopback(t, c.provider, server.URL, transport, unavez.WithMaxAttempts(1), unavez.WithMaxWait(0))
				if isWarm {
					_, err := mainCase(t, c.provider).do(t.Context(), client, "warming:connection")
					require.ErrorIs(t, err, unavez.ErrUnauthorized)
				}

				_, err := c.do(t.Context(), client, testKey)

				e := requireError(t, err)
				require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
				require.Equal(t, 1, countWrites(e.Attempts))
				require.Equal(t, int32(1), writes.Load(), "the transport sent the write again on its own")
			})
		}
	}
}

func TestBodyThatIsCutOverHTTP2HasAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, c := range everyWrite(t) {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			server, transport := newHTTP2(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.WriteHeader(http.StatusCreated)
				_, _ = io.WriteString(w, c.success[:len(c.success)/2])
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			})
			client := loopback(t, c.provider, server.URL, transport, unavez.WithMaxAttempts(1), unavez.WithMaxWait(0))

			_, err := c.do(t.Context(), client, testKey)

			e := requireError(t, err)
			require.ErrorIs(t, err, unavez.ErrRetryLater)
			require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
			require.Equal(t, http.StatusCreated, e.Attempts[0].HTTPStatus)
		})
	}
}
