package unavez_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/sandbox"
)

// brokenConnections are the ways in which a reused connection dies under a write.
func brokenConnections() []sandbox.Fault {
	return []sandbox.Fault{
		sandbox.CloseBefore(), sandbox.CloseAfter(), sandbox.ResetBefore(), sandbox.ResetAfter(), sandbox.CutBody(0), sandbox.CutChunked(0),
	}
}

// warm leaves an idle connection behind, without executing anything.
func warm(tb testing.TB, server *sandbox.Server, client *unavez.Client, provider string) {
	tb.Helper()
	server.Script(sandbox.Status(http.StatusUnauthorized, ""))
	_, err := mainCase(tb, provider).do(context.Background(), client, "warming:connection")
	require.ErrorIs(tb, err, unavez.ErrUnauthorized)
}

func TestTransportSendsNoWriteASecondTimeOnAReusedConnection(t *testing.T) {
	t.Parallel()
	for _, c := range everySandboxWrite(t) {
		for _, fault := range brokenConnections() {
			for name, transport := range map[string]*http.Transport{"own transport": nil, "given transport": {}} {
				t.Run(c.String()+" "+fault.String()+" "+name, func(t *testing.T) {
					t.Parallel()
					server, seen := sandbox.Start(t), &watch{}
					client := loopback(t, c.provider, server.URL(), transport, seen.option(), unavez.WithMaxAttempts(1), unavez.WithMaxWait(0))
					prepare(t, c, client)
					warm(t, server, client, c.provider)
					before := server.Requests()
					server.Script(fault)

					_, err := c.do(t.Context(), client, testKey)

					writes := arrived(server, c, testKey)
					require.Len(t, writes, 1, "one write was allowed, and the server got another")
					require.Equal(t, before[len(before)-1].RemoteAddr, writes[0].RemoteAddr, "the connection was not reused, so the test shows nothing")
					require.Equal(t, 1, countWrites(seen.attempts(testKey)), "writes that the observer was told of")
					if err != nil {
						require.Equal(t, 1, countWrites(requireError(t, err).Attempts), "writes that the error lists")
						require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
					}
				})
			}
		}
	}
}

func TestEveryWriteThatArrivesIsCounted(t *testing.T) {
	t.Parallel()
	for _, c := range everySandboxWrite(t) {
		for _, fault := range brokenConnections() {
			t.Run(c.String()+" "+fault.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b, seen := newSandbox(t), &watch{}
					client := b.client(c.provider, seen.option())
					prepare(t, c, client)
					warm(t, b.server, client, c.provider)
					b.server.Script(fault, fault, fault)

					_, err := c.do(t.Context(), client, testKey)

					writes := len(arrived(b.server, c, testKey))
					require.Equal(t, writes, countWrites(seen.attempts(testKey)), "writes that the observer was told of")
					if err != nil {
						require.Equal(t, writes, countWrites(requireError(t, err).Attempts), "writes that the error lists")
					}
					require.LessOrEqual(t, effects(b.server, c, testKey), 1, "effects in the ledger")
				})
			})
		}
	}
}

func TestWriteOnAnIdleConnectionThatDiedIsSentOnce(t *testing.T) {
	t.Parallel()
	for _, c := range everyWrite(t) {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			posts := map[string]int{}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					w.WriteHeader(http.StatusBadGateway) // a lookup teaches nothing here
					return
				}
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				posts[keyOnWire(r.Header, body)+r.URL.Path]++
				mu.Unlock()
				if keyOnWire(r.Header, body) == "warming:connection" {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				w.WriteHeader(http.StatusCreated)
				_, _ = w.Write([]byte(c.success))
			}))
			t.Cleanup(server.Close)
			seen := &watch{}
			client := loopback(t, c.provider, server.URL, &http.Transport{}, seen.option(), unavez.WithMaxAttempts(1), unavez.WithMaxWait(0))
			_, err := mainCase(t, c.provider).do(t.Context(), client, "warming:connection")
			require.ErrorIs(t, err, unavez.ErrUnauthorized)
			server.CloseClientConnections()

			_, err = c.do(t.Context(), client, testKey)

			key := testKey
			if !c.carriesKey() {
				key = ""
			}
			mu.Lock()
			defer mu.Unlock()
			require.LessOrEqual(t, posts[key+c.path], 1, "one write was allowed")
			require.Equal(t, 1, countWrites(seen.attempts(testKey)))
			if err == nil {
				require.Equal(t, 1, posts[key+c.path], "a document without a write")
			}
		})
	}
}

func TestConnectionThatWasRefusedIsNotCountedAsSent(t *testing.T) {
	t.Parallel()
	for _, c := range everySandboxWrite(t) {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, seen := newSandbox(t), &watch{}
				client := b.client(c.provider, seen.option())
				prepare(t, c, client)
				b.transport.CloseIdleConnections()
				b.listener.Refuse(2)
				started := time.Now()

				_, err := c.do(t.Context(), client, testKey)

				require.NoError(t, err)
				require.Equal(t, 3*time.Second, time.Since(started), "waits of 1 and 2 s")
				require.Len(t, arrived(b.server, c, testKey), 1)
				var got []unavez.Effect
				for _, attempt := range seen.attempts(testKey) {
					got = append(got, attempt.Effect)
				}
				require.Equal(t, []unavez.Effect{unavez.NotSent, unavez.NotSent, unavez.Executed}, got)
			})
		})
	}
}
