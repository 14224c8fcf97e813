package unavez_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// zip compresses a body.
func zip(body io.WriterTo) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = body.WriteTo(w)
	_ = w.Close()
	return out.Bytes()
}

// bombOf unpacks to so many MiB of zeros: as many members of the gzip format, one behind the other.
func bombOf(mib int) []byte {
	return bytes.Repeat(zip(bytes.NewReader(make([]byte, 1<<20))), mib)
}

// canned is a server that answers every write, and every lookup, with the same bytes.
type canned struct {
	*httptest.Server

	connections, open atomic.Int32
}

func newCanned(tb testing.TB, status int, header http.Header, body []byte) *canned {
	tb.Helper()
	c := &canned{}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		maps.Copy(w.Header(), header)
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}))
	c.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			c.connections.Add(1)
			c.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			c.open.Add(-1)
		case http.StateActive, http.StateIdle:
		}
	}
	c.Start()
	tb.Cleanup(c.Close)
	return c
}

func TestFailedAttemptsLeaveNothingBehind(t *testing.T) { //nolint:paralleltest // it measures the goroutines of the whole process
	for name, row := range map[string]struct {
		status      int
		header      http.Header
		body        string
		connections int32
		calls       int
	}{
		"503 with a body":       {503, nil, `{"code":"X","message":"` + strings.Repeat("x", 500) + `"}`, 2, 1000},
		"503 without a body":    {503, nil, "", 2, 200},
		"503 with a long body":  {503, nil, strings.Repeat("x", 100<<10), 2, 200},
		"502 page":              {502, http.Header{"Content-Type": {"text/html"}}, "<html></html>", 2, 200},
		"429 with a long wait":  {429, http.Header{"Retry-After": {"3600"}}, `{}`, 2, 200},
		"422":                   {422, nil, `{"code":"X"}`, 2, 200},
		"redirect":              {302, http.Header{"Location": {"/elsewhere"}}, "<a>", 2, 200},
		"201 without proof":     {201, nil, `{}`, 2, 200},
		"201 of another type":   {201, nil, `<html>`, 2, 200},
		"201 that is not gzip":  {201, http.Header{"Content-Encoding": {"gzip"}}, `{}`, 200, 200},
		"connection is closing": {503, http.Header{"Connection": {"close"}}, `{}`, 200, 200},
	} {
		t.Run(name, func(t *testing.T) {
			server := newCanned(t, row.status, row.header, []byte(row.body))
			transport := &http.Transport{}
			client := loopback(t, atFiscalisto, server.URL, transport, unavez.WithMaxAttempts(1), unavez.WithMaxWait(0))
			call := func(i int) {
				_, err := mainCase(t, atFiscalisto).do(context.Background(), client, fmt.Sprintf("failing-key-%04d", i))
				require.Error(t, err)
			}
			call(row.calls)
			time.Sleep(20 * time.Millisecond)
			before := runtime.NumGoroutine()

			for i := range row.calls {
				call(i)
			}

			require.LessOrEqual(t, server.connections.Load(), row.connections+2, "connections that were opened")
			require.Eventually(t, func() bool { return server.open.Load() <= 2 }, 5*time.Second, 10*time.Millisecond, "connections that stay open")
			require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+4 }, 5*time.Second, 10*time.Millisecond,
				"goroutines: %d before, %d after", before, runtime.NumGoroutine())
			transport.CloseIdleConnections()
			require.Eventually(t, func() bool { return server.open.Load() == 0 }, 5*time.Second, 10*time.Millisecond, "a connection is still in use")
		})
	}
}

func TestAttemptsThatBreakOffLeaveNothingBehind(t *testing.T) { //nolint:paralleltest // it measures the goroutines of the whole process
	for _, at := range points() {
		for _, way := range []string{"reset", "close", "stall"} {
			t.Run(at.name+" "+way, func(t *testing.T) {
				c := mainCase(t, atPayouts)
				b := newBreaker(t, at, way, c.success)
				transport := &http.Transport{}
				client := loopback(t, atPayouts, b.url(), transport, unavez.WithMaxAttempts(1), unavez.WithTimeout(20*time.Millisecond))
				before := runtime.NumGoroutine()

				for i := range 20 {
					_, err := c.do(context.Background(), client, fmt.Sprint("breaking-", i))
					require.ErrorIs(t, err, unavez.ErrRetryLater)
				}

				transport.CloseIdleConnections()
				b.close()
				require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+2 }, 5*time.Second, 10*time.Millisecond,
					"goroutines: %d before, %d after", before, runtime.NumGoroutine())
			})
		}
	}
}

// compressions are bodies that cannot be unpacked, or unpack to more than anybody needs as the bomb does.
func compressions(good string, bomb []byte) map[string][]byte {
	whole := zip(strings.NewReader(good))
	return map[string][]byte{
		"bomb":               bomb,
		"without trailer":    whole[:len(whole)-8],
		"cut in half":        whole[:len(whole)/2],
		"header alone":       whole[:10],
		"wrong checksum":     append(append([]byte{}, whole[:len(whole)-8]...), 1, 2, 3, 4, 5, 6, 7, 8),
		"plain":              []byte(good),
		"gzip inside gzip":   zip(bytes.NewReader(whole)),
		"garbage behind it":  append(append([]byte{}, whole...), "garbage"...),
		"bomb behind a body": append(append([]byte{}, whole...), bomb...),
	}
}

var gzipped = http.Header{"Content-Encoding": {"gzip"}, "Content-Type": {"application/json"}}

func TestGoodStatusWithABodyThatCannotBeUnpackedHasAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	bomb := bombOf(64)
	for _, c := range everyWrite(t) {
		for name, body := range compressions(c.success, bomb) {
			t.Run(c.String()+" "+name, func(t *testing.T) {
				t.Parallel()
				server := newCanned(t, 201, gzipped, body)
				client := loopback(t, c.provider, server.URL, nil, unavez.WithMaxAttempts(1), unavez.WithMaxWait(0))

				made, err := c.do(t.Context(), client, testKey)

				require.Nil(t, made)
				e := requireError(t, err)
				require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
				require.ErrorIs(t, err, unavez.ErrRetryLater)
				require.Equal(t, 201, e.Attempts[0].HTTPStatus)
			})
		}
	}
}

func TestErrorStatusDecidesThoughItsBodyCannotBeUnpacked(t *testing.T) {
	t.Parallel()
	bodies := compressions(`{}`, bombOf(64))
	for _, provider := range allProviders() {
		for _, status := range []int{401, 409, 422, 429, 503} {
			t.Run(fmt.Sprint(provider, " ", status), func(t *testing.T) {
				t.Parallel()
				want := endOnSocket(t, provider, status, nil, nil)
				for name, body := range bodies {
					require.Equal(t, want, endOnSocket(t, provider, status, gzipped, body), name)
				}
			})
		}
	}
}

// endOnSocket is what a write ends as that is answered with these bytes, and whose lookup is as well.
func endOnSocket(t *testing.T, provider string, status int, header http.Header, body []byte) string {
	t.Helper()
	server := newCanned(t, status, header, body)
	client := loopback(t, provider, server.URL, nil, unavez.WithMaxAttempts(1), unavez.WithMaxWait(0))
	_, err := mainCase(t, provider).do(t.Context(), client, testKey)
	return outcomeOf(requireError(t, err))
}

func TestListThatCannotBeUnpackedTeachesNothing(t *testing.T) {
	t.Parallel()
	for name, body := range compressions(`{"invoices":[]}`, bombOf(64)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newCanned(t, 200, gzipped, body)
			client := loopback(t, atFacty, server.URL, nil, unavez.WithMaxAttempts(1))

			_, err := client.Invoices.Reconcile(t.Context(), testKey)

			require.ErrorIs(t, err, unavez.ErrRetryLater)
			require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
		})
	}
}

func TestHonestGzipIsRead(t *testing.T) {
	t.Parallel()
	for _, c := range everyWrite(t) {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			server := newCanned(t, 201, gzipped, zip(strings.NewReader(c.success)))
			made, err := c.do(t.Context(), loopback(t, c.provider, server.URL, nil), testKey)
			require.NoError(t, err)
			require.Equal(t, c.success, string(made.Raw))
		})
	}
}

func TestAnswerOfAnySizeTakesBoundedMemory(t *testing.T) { //nolint:paralleltest // it measures the memory of the whole process
	for name, row := range map[string]struct {
		header http.Header
		body   []byte
	}{"bomb of 64 MiB": {gzipped, bombOf(64)}, "bomb of 1 GiB": {gzipped, bombOf(1024)}, "64 MiB in plain": {nil, make([]byte, 64<<20)}} {
		for _, status := range []int{200, 404, 503} {
			t.Run(fmt.Sprint(name, " ", status), func(t *testing.T) {
				server := newCanned(t, status, row.header, row.body)
				client := loopback(t, atFacty, server.URL, &http.Transport{}, unavez.WithMaxAttempts(1), unavez.WithMaxWait(0))
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)

				_, err := mainCase(t, atFacty).do(context.Background(), client, testKey)
				_, lookup := client.Invoices.Reconcile(context.Background(), testKey)

				runtime.ReadMemStats(&after)
				require.Error(t, err)
				require.Error(t, lookup)
				const requests, each = 3, 48 << 20 // a buffer of up to 8 MiB that grows by doubling, and what the server takes
				require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(requests*each), "bytes allocated for three answers")
			})
		}
	}
}

func TestBodyOfOneMiBIsReadAndOneOfNineIsNot(t *testing.T) {
	t.Parallel()
	for mib, isRead := range map[int]bool{1: true, 9: false} {
		for name, isGzip := range map[string]bool{"plain": false, "gzip": true} {
			t.Run(fmt.Sprint(mib, " MiB ", name), func(t *testing.T) {
				t.Parallel()
				c := mainCase(t, atPayouts)
				body := []byte(c.success[:len(c.success)-1] + `,"nota":"` + strings.Repeat("x", mib<<20) + `"}`)
				header := http.Header{}
				if isGzip {
					header, body = gzipped, zip(bytes.NewReader(body))
				}
				server := newCanned(t, 200, header, body)

				made, err := c.do(t.Context(), loopback(t, atPayouts, server.URL, nil, unavez.WithMaxAttempts(1)), testKey)

				if isRead {
					require.NoError(t, err)
					require.NotNil(t, made)
					return
				}
				require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
				require.NotErrorIs(t, err, unavez.ErrRefused)
			})
		}
	}
}
