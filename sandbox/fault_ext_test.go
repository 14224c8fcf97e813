package sandbox_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez/sandbox"
)

// again sends until there is an answer that is not about a key in flight.
func (b *testBundle) again(p sandbox.Provider) reply {
	for {
		r := b.send(p, key)
		if r.status != http.StatusConflict {
			return r
		}
		wait(time.Minute)
	}
}

func TestRefuseBreaksOffBeforeTheBodyIsRead(t *testing.T) {
	t.Parallel()
	each(t, func(b *testBundle, p sandbox.Provider) {
		b.Script(sandbox.Refuse())
		require.Error(t, b.send(p, key).err)
		require.Empty(t, b.Requests()[0].Body)
		require.Empty(t, b.Ledger())
		require.Less(t, b.send(p, key).status, 300)
	})
}

func TestRefuseOfAKeyReadsTheBodyOnlyWhereTheKeyIsInIt(t *testing.T) {
	t.Parallel()
	each(t, func(b *testBundle, p sandbox.Provider) {
		b.ScriptKey("another-key", sandbox.Pass())
		b.ScriptKey(key, sandbox.Refuse())
		require.Error(t, b.send(p, key).err)
		require.Equal(t, p == sandbox.Facty, len(b.Requests()[0].Body) > 0)
		require.Empty(t, b.Ledger())
	})
}

func TestCutsBeforeTheCommitExecuteNothing(t *testing.T) {
	t.Parallel()
	for _, fault := range []sandbox.Fault{sandbox.CloseBefore(), sandbox.ResetBefore()} {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			each(t, func(b *testBundle, p sandbox.Provider) {
				b.Script(fault)
				require.Error(t, b.send(p, key).err)
				require.Empty(t, b.Ledger())
				require.NotEmpty(t, b.Requests()[0].Body)
				require.Less(t, b.again(p).status, 300)
				require.Equal(t, 1, b.Effects(key))
			})
		})
	}
}

func TestCutsAfterTheCommitLoseTheAnswerOnly(t *testing.T) {
	t.Parallel()
	for _, fault := range []sandbox.Fault{sandbox.CloseAfter(), sandbox.ResetAfter()} {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			each(t, func(b *testBundle, p sandbox.Provider) {
				b.Script(fault)
				require.Error(t, b.send(p, key).err)
				require.Equal(t, 1, b.Effects(key))
				require.Less(t, b.send(p, key).status, 300)
				require.Equal(t, 1, b.Effects(key))
			})
		})
	}
}

func (b *testBundle) sendWithin(d time.Duration, p sandbox.Provider) reply {
	switch p {
	case sandbox.Facty:
		return b.postWithin(d, factyPath, factyBody(key), "X-API-Key", "fk_1")
	case sandbox.Ipsofactura:
		return b.postWithin(d, ipsoPath, ipsoBody, "x-api", "k", "Idempotency-Key", key)
	case sandbox.Fiscalisto:
		return b.postWithin(d, fiscalPath, fisBody, "Authorization", "Bearer k", "Idempotency-Key", key)
	default:
		return b.postWithin(d, payoutPath, payBody, "x-api-key", "k", "Idempotency-Key", key)
	}
}

func TestHangsLastUntilTheClientGoes(t *testing.T) {
	t.Parallel()
	for effects, fault := range []sandbox.Fault{sandbox.HangBefore(), sandbox.HangAfter()} {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			each(t, func(b *testBundle, p sandbox.Provider) {
				b.Script(fault)
				start := time.Now()
				require.ErrorIs(t, b.sendWithin(time.Hour, p).err, context.DeadlineExceeded)
				require.Equal(t, time.Hour, time.Since(start))
				require.Equal(t, effects, b.Effects(key))
				require.Less(t, b.again(p).status, 300)
				require.Equal(t, 1, b.Effects(key))
			})
		})
	}
}

func TestCloseEndsWaitingHandlers(t *testing.T) {
	t.Parallel()
	for _, fault := range []sandbox.Fault{
		sandbox.HangBefore(), sandbox.HangAfter(), sandbox.Late(time.Hour), sandbox.Slow(time.Hour),
		sandbox.Queue(time.Hour), sandbox.StallBody(3),
	} {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			each(t, func(b *testBundle, p sandbox.Provider) {
				b.Script(fault)
				time.AfterFunc(time.Minute, func() { _ = b.Close() })
				start := time.Now()
				require.Error(t, b.send(p, key).err)
				require.Equal(t, time.Minute, time.Since(start))
			})
		})
	}
}

func TestCutBodyAnnouncesTheWholeLength(t *testing.T) {
	t.Parallel()
	each(t, func(b *testBundle, p sandbox.Provider) {
		whole := b.send(p, key)
		for _, n := range []int{0, 1, len(whole.body) - 1} {
			b.Script(sandbox.CutBody(n))
			r := b.send(p, key)
			require.ErrorIs(t, r.err, io.ErrUnexpectedEOF)
			require.Less(t, r.status, 300)
			require.Equal(t, strconv.Itoa(len(whole.body)), r.header.Get("Content-Length"))
			require.Equal(t, whole.body[:n], r.body)
		}
		b.Script(sandbox.CutBody(len(whole.body)))
		require.NoError(t, b.send(p, key).err)
	})
}

func TestCutChunkedHasNoFinalChunk(t *testing.T) {
	t.Parallel()
	each(t, func(b *testBundle, p sandbox.Provider) {
		whole := b.send(p, key)
		for _, n := range []int{0, 5, len(whole.body)} {
			b.Script(sandbox.CutChunked(n))
			r := b.send(p, key)
			require.ErrorIs(t, r.err, io.ErrUnexpectedEOF)
			require.Empty(t, r.header.Get("Content-Length"))
			require.Equal(t, whole.body[:n], r.body)
		}
		require.Equal(t, 1, b.Effects(key))
	})
}

func TestStallBodyStopsWithinTheBody(t *testing.T) {
	t.Parallel()
	each(t, func(b *testBundle, p sandbox.Provider) {
		b.Script(sandbox.StallBody(4))
		r := b.sendWithin(time.Minute, p)
		require.ErrorIs(t, r.err, context.DeadlineExceeded)
		require.Less(t, r.status, 300)
		require.Len(t, r.body, 4)
		require.Equal(t, 1, b.Effects(key))
	})
}

func TestLateCommitsAtOnceAndAnswersAfterwards(t *testing.T) {
	t.Parallel()
	each(t, func(b *testBundle, p sandbox.Provider) {
		b.Script(sandbox.Late(time.Minute))
		start := time.Now()
		require.Less(t, b.send(p, key).status, 300)
		require.Equal(t, time.Minute, time.Since(start))
		require.Equal(t, start, b.Ledger()[0].At)
	})
}

func TestSlowCommitsEvenIfTheClientHasGone(t *testing.T) {
	t.Parallel()
	each(t, func(b *testBundle, p sandbox.Provider) {
		b.Script(sandbox.Slow(3 * time.Second))
		start := time.Now()
		require.Error(t, b.sendWithin(time.Second, p).err)
		require.Equal(t, http.StatusConflict, b.send(p, key).status)
		require.Zero(t, b.Effects(key))
		wait(3 * time.Second)
		require.Equal(t, 1, b.Effects(key))
		require.Equal(t, start.Add(3*time.Second), b.Ledger()[0].At)
		require.Less(t, b.send(p, key).status, 300)
		require.Equal(t, 1, b.Effects(key))
	})
}

func TestSlowAnswersAClientThatWaits(t *testing.T) {
	t.Parallel()
	each(t, func(b *testBundle, p sandbox.Provider) {
		b.Script(sandbox.Slow(3 * time.Second))
		start := time.Now()
		require.Less(t, b.send(p, key).status, 300)
		require.Equal(t, 3*time.Second, time.Since(start))
	})
}

func TestConcurrentDuplicatesAreExecutedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(b *testBundle, p sandbox.Provider) {
		b.Script(sandbox.Slow(time.Second))
		replies := make(chan reply, 8)
		for range cap(replies) {
			go func() { replies <- b.send(p, key) }()
		}
		conflicts := 0
		for range cap(replies) {
			if r := <-replies; r.status == http.StatusConflict {
				conflicts++
			}
		}
		require.Equal(t, 7, conflicts)
		require.Equal(t, 1, b.Effects(key))
	})
}

func TestQueuedRequestIsUnknownUntilItLands(t *testing.T) {
	t.Parallel()
	each(t, func(b *testBundle, p sandbox.Provider) {
		b.Script(sandbox.Queue(3 * time.Second))
		require.Error(t, b.sendWithin(time.Second, p).err)
		require.Equal(t, `{"invoices":[]}`, b.factyList("").body)
		wait(3 * time.Second)
		require.Equal(t, 1, b.Effects(key))
	})
}

func TestQueuedRequestFindsTheKeyTakenByALaterOne(t *testing.T) {
	t.Parallel()
	each(t, func(b *testBundle, p sandbox.Provider) {
		b.Script(sandbox.Queue(3 * time.Second))
		require.Error(t, b.sendWithin(time.Second, p).err)
		require.Less(t, b.send(p, key).status, 300)
		wait(3 * time.Second)
		require.Equal(t, 1, b.Effects(key))
	})
}

func TestAdvanceWakesWhatWaits(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.Script(sandbox.Slow(time.Hour))
		start := time.Now()
		time.AfterFunc(time.Second, func() { b.Advance(59 * time.Minute) })
		require.Equal(t, http.StatusCreated, b.ipso(key).status)
		require.Equal(t, time.Minute, time.Since(start))
	})
}

func TestStatusSpeaksInEachProvidersEnvelope(t *testing.T) {
	t.Parallel()
	for p, path := range map[sandbox.Provider]string{
		sandbox.Facty: "code", sandbox.Ipsofactura: "code",
		sandbox.Fiscalisto: "error.code", sandbox.Payouts: "error.code",
	} {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(b *testBundle) {
				b.Script(sandbox.Status(503, "SOME_CODE", "Retry-After: 7", "X-Two: a", "X-Two: b"))
				r := b.send(p, key)
				require.Equal(t, 503, r.status)
				require.Equal(t, "SOME_CODE", r.member(path))
				require.Equal(t, "7", r.header.Get("Retry-After"))
				require.Equal(t, []string{"a", "b"}, r.header.Values("X-Two"))
				require.Empty(t, b.Ledger())
			})
		})
	}
}

func TestAnswersReplacedAfterTheCommitHideAnEffect(t *testing.T) {
	t.Parallel()
	for _, fault := range []sandbox.Fault{
		sandbox.Status(500, "error"), sandbox.TooMany("5"), sandbox.HTML(502),
		sandbox.Redirect(302, "/elsewhere"), sandbox.Raw(409, nil, "{}"),
	} {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			each(t, func(b *testBundle, p sandbox.Provider) {
				b.Script(fault, fault.AfterCommit())
				before := b.send(p, key)
				require.Empty(t, b.Ledger())
				after := b.send(p, key)
				require.Equal(t, before.status, after.status)
				require.Equal(t, 1, b.Effects(key))
				require.Less(t, b.send(p, key).status, 300)
				require.Equal(t, 1, b.Effects(key))
			})
		})
	}
}

func TestStatusOverridesAKeyThatIsDoneWithoutTouchingIt(t *testing.T) {
	t.Parallel()
	each(t, func(b *testBundle, p sandbox.Provider) {
		first := b.send(p, key)
		b.Script(sandbox.Status(503, "busy"))
		require.Equal(t, 503, b.send(p, key).status)
		require.Equal(t, first.body, b.send(p, key).body)
	})
}

func TestTooManySendsAnyRetryAfter(t *testing.T) {
	t.Parallel()
	each(t, func(b *testBundle, p sandbox.Provider) {
		for _, text := range []string{"9223372036854775807", "-1", "Wed Oct 21 07:28:00 2026"} {
			b.Script(sandbox.TooMany(text))
			r := b.send(p, key)
			require.Equal(t, http.StatusTooManyRequests, r.status)
			require.Equal(t, text, r.header.Get("Retry-After"))
		}
		b.Script(sandbox.TooMany(""))
		require.NotContains(t, b.send(p, key).header, "Retry-After")
	})
}

func TestHTMLIsAGatewaysPage(t *testing.T) {
	t.Parallel()
	each(t, func(b *testBundle, p sandbox.Provider) {
		b.Script(sandbox.HTML(502, "Retry-After: 2"))
		r := b.send(p, key)
		require.Equal(t, 502, r.status)
		require.Equal(t, "text/html", r.header.Get("Content-Type"))
		require.Equal(t, "2", r.header.Get("Retry-After"))
		require.Contains(t, r.body, "<h1>502 Bad Gateway</h1>")
	})
}

func TestRedirectNamesItsTarget(t *testing.T) {
	t.Parallel()
	each(t, func(b *testBundle, p sandbox.Provider) {
		b.Script(sandbox.Redirect(307, "http://elsewhere.invalid/"))
		r := b.send(p, key)
		require.Equal(t, 307, r.status)
		require.Equal(t, "http://elsewhere.invalid/", r.header.Get("Location"))
	})
}

func TestRawIsSentAsItIs(t *testing.T) {
	t.Parallel()
	each(t, func(b *testBundle, p sandbox.Provider) {
		b.Script(sandbox.Raw(200, http.Header{"X-Odd": {"1"}}, "\xff\x00"))
		r := b.send(p, key)
		require.Equal(t, "\xff\x00", r.body)
		require.Equal(t, "1", r.header.Get("X-Odd"))
		require.Empty(t, b.Ledger())
	})
}

func TestWithCombinesWhatHappensAndHowItTravels(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.Script(sandbox.StayPending(time.Minute).With(sandbox.CloseAfter()))
		require.Error(t, b.facty(key).err)
		require.Contains(t, b.factyList("?idempotencyKey="+key).body, `"status":"pending"`)
		wait(time.Minute)
		require.Equal(t, 1, b.Effects(key))
	})
}

func TestGzipFaultsLieInEachTheirWay(t *testing.T) {
	t.Parallel()
	each(t, func(b *testBundle, p sandbox.Provider) {
		whole := b.send(p, key)
		unzip := func(r reply) (int, error) {
			require.Equal(t, "gzip", r.header.Get("Content-Encoding"))
			require.Equal(t, whole.status, max(r.status, whole.status))
			z, err := gzip.NewReader(bytes.NewBufferString(r.body))
			if err != nil {
				return 0, err
			}
			n, err := io.Copy(io.Discard, z)
			return int(n), err
		}
		b.Script(sandbox.GzipBomb(3), sandbox.GzipCut(), sandbox.GzipPlain())

		n, err := unzip(b.send(p, key))
		require.NoError(t, err)
		require.Equal(t, 3<<20, n)
		n, err = unzip(b.send(p, key))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Equal(t, len(whole.body), n)
		_, err = unzip(b.send(p, key))
		require.ErrorIs(t, err, gzip.ErrHeader)
		require.Equal(t, 1, b.Effects(key))
	})
}

func TestAKeysOwnQueueComesFirst(t *testing.T) {
	t.Parallel()
	each(t, func(b *testBundle, p sandbox.Provider) {
		b.Script(sandbox.Status(500, ""), sandbox.Pass())
		b.ScriptKey(key, sandbox.Status(503, ""))
		b.ScriptKey("another-key", sandbox.Pass())
		require.Equal(t, 4, b.Pending())
		require.Equal(t, 503, b.send(p, key).status)
		require.Equal(t, 500, b.send(p, key).status)
		require.Less(t, b.send(p, key).status, 300)
		require.Equal(t, 1, b.Pending())
	})
}

func TestFaultsPrintAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for want, fault := range map[string]sandbox.Fault{
		"Pass()":                             {},
		"Slow(3s)":                           sandbox.Slow(3 * time.Second),
		`Status(503, "busy", "A: b")`:        sandbox.Status(503, "busy", "A: b"),
		`TooMany("x").AfterCommit()`:         sandbox.TooMany("x").AfterCommit(),
		"HTML(502).AfterCommit()":            sandbox.HTML(502).AfterCommit(),
		"CloseAfter()":                       sandbox.CloseAfter().AfterCommit(),
		"StayPending(1m0s).With(CutBody(3))": sandbox.StayPending(time.Minute).With(sandbox.CutBody(3)),
		`Raw(200, "{}")`:                     sandbox.Raw(200, nil, "{}"),
		`Shape("[]")`:                        sandbox.Shape("[]"),
		"LagLookup(1s)":                      sandbox.LagLookup(time.Second),
		`Redirect(301, "/")`:                 sandbox.Redirect(301, "/"),
		"Queue(1s)":                          sandbox.Queue(time.Second),
		`Reject("X")`:                        sandbox.Reject("X"),
	} {
		require.Equal(t, want, fault.String())
		require.Equal(t, want, fmt.Sprintf("%#v", fault))
	}
}

func TestABodyThatIsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		r := b.post(payoutPath, string(make([]byte, 9<<20)), "x-api-key", "k")
		if r.err == nil {
			require.Equal(t, http.StatusRequestEntityTooLarge, r.status)
		}
		require.Empty(t, b.Ledger())
	})
}

func TestAHandlerThatCannotBeHijackedIsAborted(t *testing.T) {
	t.Parallel()
	srv := sandbox.New()
	srv.Script(sandbox.CloseBefore())
	require.PanicsWithError(t, http.ErrAbortHandler.Error(), func() {
		srv.ServeHTTP(plainWriter{}, newPost(t))
	})
}
