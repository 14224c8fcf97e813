package unavez_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// point is a moment of a conversation at which it can end.
type point struct {
	name string
	// reads how much of the request: nothing, its header, or all of it.
	reads string
	// says is what is answered before the end, for a good body of this length.
	says func(body string) string
}

func points() []point {
	head := func(body string) string {
		return "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n"
	}
	nothing := func(string) string { return "" }
	return []point{
		{"connected", "nothing", nothing},
		{"header read", "header", nothing},
		{"request read", "all", nothing},
		{"in the status line", "all", func(string) string { return "HTTP/1.1 20" }},
		{"after the status line", "all", func(string) string { return "HTTP/1.1 201 Created\r\n" }},
		{"in the header", "all", func(string) string { return "HTTP/1.1 201 Created\r\nContent-Type: appl" }},
		{"after the header", "all", head},
		{"in the body", "all", func(body string) string { return head(body) + body[:len(body)/2] }},
		{"before the last byte", "all", func(body string) string { return head(body) + body[:len(body)-1] }},
	}
}

// breaker is a server on a real socket that lets every conversation end at one point, in one way.
type breaker struct {
	listener net.Listener
	at       point
	way      string // reset, close or stall
	body     string
	reached  chan struct{}

	mu    sync.Mutex
	conns []net.Conn
}

func newBreaker(tb testing.TB, at point, way, body string) *breaker {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	b := &breaker{listener: listener, at: at, way: way, body: body, reached: make(chan struct{}, 1024)}
	tb.Cleanup(b.close)
	go b.serve()
	return b
}

func (b *breaker) url() string { return "http://" + b.listener.Addr().String() }

func (b *breaker) serve() {
	for {
		conn, err := b.listener.Accept()
		if err != nil {
			return
		}
		b.mu.Lock()
		b.conns = append(b.conns, conn)
		b.mu.Unlock()
		go b.converse(conn)
	}
}

func (b *breaker) converse(conn net.Conn) {
	if b.at.reads != "nothing" {
		request, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		if b.at.reads == "all" {
			_, _ = io.Copy(io.Discard, request.Body)
		}
	}
	_, _ = io.WriteString(conn, b.at.says(b.body))
	b.reached <- struct{}{}
	switch b.way {
	case "reset":
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // closing then sends RST
		}
		_ = conn.Close()
	case "close":
		_ = conn.Close()
	}
}

func (b *breaker) close() {
	_ = b.listener.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, conn := range b.conns {
		_ = conn.Close()
	}
}

func TestConversationThatBreaksOffHasAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		for _, at := range points() {
			for _, way := range []string{"reset", "close", "stall"} {
				t.Run(provider+" "+at.name+" "+way, func(t *testing.T) {
					t.Parallel()
					c := mainCase(t, provider)
					b := newBreaker(t, at, way, c.success)
					client := loopback(t, provider, b.url(), &http.Transport{},
						unavez.WithMaxAttempts(1), unavez.WithMaxWait(0), unavez.WithTimeout(250*time.Millisecond))

					made, err := c.do(t.Context(), client, testKey)

					require.Nil(t, made)
					e := requireError(t, err)
					require.Equal(t, unavez.RetryLater, e.Disposition)
					if at.reads == "nothing" && way == "reset" && e.Effect == unavez.NotSent {
						require.NotErrorIs(t, err, unavez.ErrOutcomeUnknown)
						return // the connection was dead before the client had taken it over
					}
					require.Equal(t, unavez.Unknown, e.Effect)
					require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
					require.Equal(t, 1, countWrites(e.Attempts))
					require.Equal(t, unavez.Unknown, e.Attempts[0].Effect)
					next := unavez.NextResend
					if provider == atFacty {
						next = unavez.NextReconcile
					}
					require.Equal(t, next, e.Next)
					require.NoError(t, t.Context().Err(), "the attempt's timeout is not the caller's end")
				})
			}
		}
	}
}

func TestCallerWhoCancelsAfterTheWriteIsToldAtOnceThatTheOutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		for _, at := range points() {
			t.Run(provider+" "+at.name, func(t *testing.T) {
				t.Parallel()
				c := mainCase(t, provider)
				b := newBreaker(t, at, "stall", c.success)
				client := loopback(t, provider, b.url(), &http.Transport{}, unavez.WithTimeout(time.Minute))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() {
					<-b.reached
					cancel()
				}()

				_, err := c.do(ctx, client, testKey)

				e := requireError(t, err)
				require.ErrorIs(t, err, context.Canceled)
				require.ErrorIs(t, err, unavez.ErrRetryLater)
				if at.reads == "nothing" && e.Effect == unavez.NotSent {
					return // the client had not taken the connection over yet
				}
				require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
				require.Equal(t, unavez.Unknown, e.Effect)
				require.Len(t, e.Attempts, 1, "nothing is tried for a caller who has gone")
			})
		}
	}
}

func TestNothingWasSentWhereNoConnectionWasObtained(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := closed.Addr().String()
	require.NoError(t, closed.Close())
	silent := newBreaker(t, point{"tls", "nothing", func(string) string { return "" }}, "stall", "")
	hangsUp := newBreaker(t, point{"tls", "nothing", func(string) string { return "" }}, "close", "")
	garbage := newBreaker(t, point{"tls", "nothing", func(string) string { return "HTTP/1.1 400 Bad Request\r\n\r\n" }}, "stall", "")
	for name, row := range map[string]struct {
		base string
		dial func(context.Context, string, string) (net.Conn, error)
	}{
		"closed port": {base: "http://" + address},
		"no such host": {base: "https://provider.example", dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.DNSError{Err: "no such host", Name: "provider.example", IsNotFound: true}
		}},
		"dial that never ends": {base: "https://provider.example", dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}},
		"TLS handshake that stalls":    {base: "https://" + silent.listener.Addr().String()},
		"TLS handshake that is closed": {base: "https://" + hangsUp.listener.Addr().String()},
		"TLS handshake without TLS":    {base: "https://" + garbage.listener.Addr().String()},
	} {
		for _, provider := range allProviders() {
			t.Run(provider+" "+name, func(t *testing.T) {
				t.Parallel()
				client := loopback(t, provider, row.base, &http.Transport{DialContext: row.dial},
					unavez.WithMaxAttempts(1), unavez.WithTimeout(250*time.Millisecond))

				_, err := mainCase(t, provider).do(t.Context(), client, testKey)

				e := requireError(t, err)
				require.Equal(t, unavez.RetryLater, e.Disposition)
				require.Equal(t, unavez.NotSent, e.Effect)
				require.NotErrorIs(t, err, unavez.ErrOutcomeUnknown)
				require.Equal(t, unavez.NextResend, e.Next)
				require.Len(t, e.Attempts, 1, "nothing has to be looked up")
			})
		}
	}
}

func TestCertificateThatIsNotTrustedIsRefusedAndNothingWasSent(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request arrived") }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	trusting := x509.NewCertPool()
	trusting.AddCert(server.Certificate())
	for name, config := range map[string]*tls.Config{
		"unknown authority": {},
		"other host":        {RootCAs: trusting, ServerName: "elsewhere.example"},
		"expired":           {RootCAs: trusting, Time: func() time.Time { return server.Certificate().NotAfter.AddDate(1, 0, 0) }},
	} {
		for _, provider := range allProviders() {
			t.Run(provider+" "+name, func(t *testing.T) {
				t.Parallel()
				client := loopback(t, provider, server.URL, &http.Transport{TLSClientConfig: config.Clone()})

				_, err := mainCase(t, provider).do(t.Context(), client, testKey)

				e := requireError(t, err)
				require.Equal(t, unavez.Refused, e.Disposition, "waiting mends no certificate")
				require.Equal(t, unavez.NotSent, e.Effect)
				require.Len(t, e.Attempts, 1)
			})
		}
	}
}

func TestContextThatEndedBeforeTheCallSendsNothing(t *testing.T) {
	t.Parallel()
	for _, c := range everyWrite(t) {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			b := newMock(t, c.provider)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()

			_, err := c.do(ctx, b.client, testKey)

			e := requireError(t, err)
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, unavez.RetryLater, e.Disposition)
			require.Equal(t, unavez.NotSent, e.Effect)
			require.Empty(t, b.all())
		})
	}
}
