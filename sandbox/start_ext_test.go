package sandbox_test

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez/sandbox"
)

// start is setup over a real socket, in real time.
func start(t *testing.T, opts ...sandbox.Option) *testBundle {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	srv := sandbox.Start(t, opts...)
	return &testBundle{Server: srv, t: t, base: srv.URL(), client: newClient(transport)}
}

// cleanups is a TB whose test ends when it is told to.
type cleanups struct {
	testing.TB

	run []func()
}

func (c *cleanups) Cleanup(f func()) { c.run = append(c.run, f) }

func TestStartServesOnLoopbackUntilTheTestEnds(t *testing.T) {
	t.Parallel()
	tb := &cleanups{TB: t}
	srv := sandbox.Start(tb)
	require.True(t, strings.HasPrefix(srv.URL(), "http://127.0.0.1:"))
	b := &testBundle{Server: srv, t: t, base: srv.URL(), client: newClient(&http.Transport{})}
	require.Equal(t, http.StatusNotFound, b.get("/nowhere").status)

	for _, f := range tb.run {
		f()
	}
	require.ErrorIs(t, b.get("/nowhere").err, syscall.ECONNREFUSED)
	require.Len(t, srv.Requests(), 1)
}

func TestURLIsEmptyBeforeListen(t *testing.T) {
	t.Parallel()
	require.Empty(t, sandbox.New().URL())
}

func TestResetIsAResetOnARealSocket(t *testing.T) {
	t.Parallel()
	for effects, fault := range []sandbox.Fault{sandbox.ResetBefore(), sandbox.ResetAfter()} {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.Script(fault)
			require.ErrorIs(t, b.ipso(key).err, syscall.ECONNRESET)
			require.Equal(t, effects, b.Effects(key))
		})
	}
}

func TestCloseIsAnEndWithoutAnAnswerOnARealSocket(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.Script(sandbox.CloseAfter())
	r := b.ipso(key)
	require.ErrorContains(t, r.err, "EOF")
	require.Equal(t, 1, b.Effects(key))
}

func TestRefusedConnectionSendsNothingBackOnARealSocket(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.Script(sandbox.Refuse())
	require.Error(t, b.ipso(key).err)
	require.Empty(t, b.Ledger())
	require.Equal(t, 201, b.ipso(key).status)
}

func TestHangEndsWithTheClientOnARealSocket(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.Script(sandbox.HangAfter())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for b.Effects(key) == 0 && ctx.Err() == nil {
			runtime.Gosched()
		}
		cancel()
	}()
	r := b.do(ctx, http.MethodPost, ipsoPath, ipsoBody, "x-api", "k", "Idempotency-Key", key)
	require.ErrorIs(t, r.err, context.Canceled)
	require.Equal(t, 1, b.Effects(key))
}

func TestCutBodyOnARealSocket(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.Script(sandbox.CutBody(5))
	r := b.ipso(key)
	require.Equal(t, 201, r.status)
	require.ErrorContains(t, r.err, "unexpected EOF")
}
