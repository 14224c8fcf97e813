package unavez_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/internal/memnet"
	"github.com/unavez/unavez/sandbox"
)

func TestSwitchingProtocolsDoesNotHangTheCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		listener := memnet.Listen()
		t.Cleanup(func() { require.NoError(t, listener.Close()) })
		go switchProtocols(listener)
		transport := &http.Transport{DialContext: listener.DialContext}
		client := newClient(t, atIpsofactura, "http://127.0.0.1", transport, unavez.WithTimeout(500*time.Millisecond), unavez.WithMaxWait(0))
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		began := time.Now()
		_, err := mainCase(t, atIpsofactura).do(ctx, client, testKey)
		_ = requireError(t, err)
		require.LessOrEqual(t, time.Since(began), 2*time.Second, "neither WithTimeout nor the caller's deadline ended the call")
	})
}

// switchProtocols answers every request with 101, and keeps the connection open for at most 20 s.
func switchProtocols(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			_, _ = conn.Read(make([]byte, 64<<10))
			_, _ = conn.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"))
			_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
			_, _ = io.Copy(io.Discard, conn) // until the client closes
		}()
	}
}

func TestRoundTripperThatReturnsNothingUsableDoesNotPanic(t *testing.T) {
	t.Parallel()
	c := mainCase(t, atIpsofactura)
	for name, transport := range map[string]roundTripper{
		"neither a response nor an error": func(*http.Request) (*http.Response, error) { return nil, nil },
		"a response without a body and a header": func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusServiceUnavailable}, nil
		},
		"a response without a body": func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusNoContent, Header: http.Header{}}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := newClient(t, atIpsofactura, testHost, transport, unavez.WithMaxWait(0))
			require.NotPanics(t, func() {
				_, err := c.do(context.Background(), client, testKey)
				_ = requireError(t, err)
			})
		})
	}
}

func TestResponseBesideAnErrorIsClosed(t *testing.T) {
	t.Parallel()
	closed := atomic.Bool{}
	transport := roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusBadGateway, Body: closer{&closed}, Header: http.Header{}}, net.ErrClosed
	})
	client := newClient(t, atIpsofactura, testHost, transport, unavez.WithMaxWait(0))
	_, err := mainCase(t, atIpsofactura).do(t.Context(), client, testKey)
	_ = requireError(t, err)
	require.True(t, closed.Load(), "the body leaks, and its connection with it")
}

type closer struct{ closed *atomic.Bool }

func (closer) Read([]byte) (int, error) { return 0, net.ErrClosed }
func (c closer) Close() error           { c.closed.Store(true); return nil }

func TestTraceOfTheCallerSeesEachAttemptOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newSandbox(t)
		b.server.Script(sandbox.Status(503, ""), sandbox.Status(503, ""), sandbox.Status(503, ""))
		got, wrote := 0, 0
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
			GotConn:      func(httptrace.GotConnInfo) { got++ },
			WroteRequest: func(httptrace.WroteRequestInfo) { wrote++ },
		})
		_, err := mainCase(t, atIpsofactura).do(ctx, b.client(atIpsofactura), testKey)
		require.NoError(t, err)
		require.Equal(t, 4, b.writes(), "three answers of 503 and one document")
		require.Equal(t, []int{4, 4}, []int{got, wrote}, "hooks of the caller's httptrace per attempt")
	})
}

func TestObserverMayKeepTheError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		events := make(chan unavez.Event, 100)
		stop := make(chan struct{})
		go func() {
			defer close(stop)
			for event := range events {
				if event.Err != nil {
					for range 100 {
						_ = fmt.Sprint(event.Err.RetryAfter, len(event.Err.Attempts))
						runtime.Gosched()
					}
				}
			}
		}()
		b := newMock(t, atFacty)
		b.play(answer(200, `{"invoices":[{"idempotencyKey":"`+testKey+`","status":"pending"}]}`),
			answer(200, `{"invoices":[{"idempotencyKey":"`+testKey+`","status":"failed"}]}`))
		client := b.newClient(unavez.WithObserver(func(_ context.Context, e unavez.Event) { events <- e }))
		_, err := client.Invoices.Await(context.Background(), testKey)
		_ = requireError(t, err)
		close(events)
		<-stop
	})
}

func TestFinishedEventComesWithALiveContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMock(t, atIpsofactura)
		b.play(answer(201, mainCase(t, atIpsofactura).success))
		var ended error
		client := b.newClient(unavez.WithObserver(func(ctx context.Context, e unavez.Event) {
			if e.Kind == unavez.EventFinished {
				ended = ctx.Err()
			}
		}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := mainCase(t, atIpsofactura).do(ctx, client, testKey)
		require.NoError(t, err)
		require.NoError(t, ended, "an observer or a log handler that uses the context (OpenTelemetry) finds it cancelled after every call")
	})
}

func TestEscapedMembersTakeLinearTime(t *testing.T) {
	t.Parallel()
	members := strings.Repeat(`"\u0061":0,`, 100_000) + `"z":0`
	for name, script := range map[string][]reply{
		"answer of a write": {answer(200, `{`+members+`}`), answer(200, `{"invoices":[]}`)},
		"row of a lookup":   {lostAnswer(), answer(200, `{"invoices":[{`+members+`}]}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newMock(t, atFacty)
			b.play(script...)
			began := time.Now()
			_, err := mainCase(t, atFacty).do(t.Context(), b.client, testKey, unavez.WithMaxAttempts(1))
			_ = requireError(t, err)
			// Quadratic work on a hundred thousand members takes minutes.
			require.Less(t, time.Since(began), 30*time.Second, "the answer takes more than linear time")
		})
	}
}

func TestThousandsOfAttemptsAreAllListed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		transport := roundTripper(func(*http.Request) (*http.Response, error) {
			return nil, net.ErrClosed
		})
		client := newClient(t, atFiscalisto, testHost, transport, unavez.WithMaxAttempts(2000))
		_, err := mainCase(t, atFiscalisto).do(t.Context(), client, testKey)
		e := requireError(t, err)
		require.Len(t, e.Attempts, 2000, "attempts are what was tried")
	})
}
