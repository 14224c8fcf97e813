package memnet_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez/internal/memnet"
)

func TestHTTPRunsInVirtualTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := memnet.Listen()
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			timer := time.NewTimer(time.Hour)
			defer timer.Stop()
			select {
			case <-timer.C:
				_, _ = io.Copy(w, r.Body)
			case <-r.Context().Done():
			}
		})}
		served := make(chan error, 1)
		go func() { served <- srv.Serve(l) }()
		transport := &http.Transport{DialContext: l.DialContext}
		client := &http.Client{Transport: transport}

		start := time.Now()
		res, err := client.Post("http://memory/", "text/plain", http.NoBody)
		require.NoError(t, err)
		_, err = io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, time.Hour, time.Since(start))

		transport.CloseIdleConnections()
		require.NoError(t, srv.Close())
		require.ErrorIs(t, <-served, http.ErrServerClosed)
	})
}

func TestDialAfterCloseIsRefused(t *testing.T) {
	t.Parallel()
	l := memnet.Listen()
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())

	_, err := l.DialContext(t.Context(), "tcp", "anywhere:80")
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	_, err = l.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
}

func TestRefuseFailsTheNextDialsOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := memnet.Listen()
		l.Refuse(2)
		for range 2 {
			_, err := l.DialContext(t.Context(), "tcp", "anywhere:80")
			require.ErrorIs(t, err, syscall.ECONNREFUSED)
		}
		accepted := make(chan net.Conn, 1)
		go func() {
			conn, err := l.Accept()
			if err == nil {
				accepted <- conn
			}
		}()
		conn, err := l.DialContext(t.Context(), "tcp", "anywhere:80")
		require.NoError(t, err)
		require.Equal(t, 3, l.Dials())
		require.NoError(t, conn.Close())
		require.NoError(t, (<-accepted).Close())
		require.NoError(t, l.Close())
	})
}

func TestDialThatNobodyAcceptsEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := memnet.Listen()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()

		start := time.Now()
		_, err := l.DialContext(ctx, "tcp", "anywhere:80")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))
		require.NoError(t, l.Close())
	})
}

func TestAddrNamesTheNetwork(t *testing.T) {
	t.Parallel()
	a := memnet.Listen().Addr()
	require.Equal(t, "mem", a.Network())
	require.Equal(t, "mem", a.String())
}
