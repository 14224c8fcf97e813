package sandbox_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unavez/unavez/sandbox"
)

// plainWriter is a ResponseWriter without any extras.
type plainWriter struct{}

func (plainWriter) Header() http.Header         { return http.Header{} }
func (plainWriter) Write(p []byte) (int, error) { return len(p), nil }
func (plainWriter) WriteHeader(int)             {}

func newPost(t *testing.T) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, payoutPath, strings.NewReader(payBody))
	require.NoError(t, err)
	return req
}

func TestEveryKeyThatIsNotEmptyIsAcceptedByDefault(t *testing.T) {
	t.Parallel()
	each(t, func(b *testBundle, p sandbox.Provider) {
		require.Less(t, b.send(p, key).status, 300)
	})
}

func TestUnknownAPIKeysAreAnswered401(t *testing.T) {
	t.Parallel()
	each(t, func(b *testBundle, p sandbox.Provider) {
		require.Equal(t, http.StatusUnauthorized, b.send(p, key).status)
		require.Equal(t, http.StatusUnauthorized, b.factyList("").status)
		require.Empty(t, b.Ledger())
	}, sandbox.WithAPIKeys("right"), sandbox.WithAPIKeys("right too"))
}

func TestForbiddenAPIKeysAreAnswered403(t *testing.T) {
	t.Parallel()
	each(t, func(b *testBundle, p sandbox.Provider) {
		require.Equal(t, http.StatusForbidden, b.send(p, key).status)
	}, sandbox.WithAPIKeys("fk_1", "k"), sandbox.WithForbiddenAPIKeys("fk_1", "k"))
}

func TestAMissingAPIKeyIsAnswered401(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		for path, body := range map[string]string{
			factyPath: factyBody(key), ipsoPath: ipsoBody, fiscalPath: fisBody, payoutPath: payBody,
		} {
			require.Equal(t, 401, b.post(path, body, "Idempotency-Key", key).status)
			require.Equal(t, 401, b.post(path, body, "Idempotency-Key", key, "Authorization", "Basic x").status)
		}
	})
}

func TestA401DoesNotTakeTheKey(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		require.Equal(t, 401, b.post(ipsoPath, ipsoBody, "Idempotency-Key", key).status)
		r := b.ipso(key)
		require.Equal(t, 201, r.status)
		require.Empty(t, r.header.Get("Idempotency-Replayed"))
	})
}

func TestRequestsKeepWhatWasOnTheWire(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		const odd = "{\"quoteId\" : \"\xf1\",\n\"n\":1.00}"
		b.post(payoutPath+"?a=%2F&b", odd, "x-api-key", "k", "Idempotency-Key", key)
		wait(time.Second)
		b.get("/nowhere")

		all := b.Requests()
		require.Len(t, all, 2)
		require.Equal(t, http.MethodPost, all[0].Method)
		require.Equal(t, payoutPath+"?a=%2F&b", all[0].Path)
		require.Equal(t, "127.0.0.1", all[0].Host)
		require.Equal(t, odd, string(all[0].Body))
		require.Equal(t, int64(len(odd)), all[0].ContentLength)
		require.Equal(t, key, all[0].Header.Get("Idempotency-Key"))
		require.Equal(t, time.Second, all[1].At.Sub(all[0].At))

		all[0].Body[0] = 'x'
		all[0].Header.Set("Idempotency-Key", "changed")
		require.Equal(t, odd, string(b.Requests()[0].Body), "a copy is given out")
		require.Equal(t, key, b.Requests()[0].Header.Get("Idempotency-Key"))
	})
}

func TestUnknownPathsAreNotFound(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		require.Equal(t, http.StatusNotFound, b.get("/nowhere").status)
		require.Equal(t, http.StatusMethodNotAllowed, b.get(payoutPath).status)
	})
}

func TestLedgerNamesEveryEffect(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		for _, p := range providers() {
			require.Less(t, b.send(p, key).status, 300)
		}
		ledger := b.Ledger()
		require.Len(t, ledger, 4)
		uuids := map[string]bool{}
		for i, p := range providers() {
			require.Equal(t, p, ledger[i].Provider)
			require.Equal(t, key, ledger[i].Key)
			require.NotEmpty(t, ledger[i].ID)
			require.Equal(t, b.Now(), ledger[i].At)
			uuids[ledger[i].UUID] = true
		}
		require.Len(t, uuids, 4)
		require.Equal(t, 4, b.Effects(key))
		require.Equal(t, 3, b.Stamps())
	})
}

func TestTwoServersIssueTheSameIdentifiers(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		require.Equal(t, b.facty(key).body, setup(b.t).facty(key).body)
	})
}

func TestWithClockDecidesTheTime(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 8, 11, 10, 20, 30, 0, time.UTC)
	bubble(t, func(b *testBundle) {
		require.Equal(t, "2026-08-11T10:20:30", b.facty(key).member("stampedAt"))
		b.Script(sandbox.Slow(time.Second))
		require.Equal(t, http.StatusCreated, b.facty("another-key").status, "timers run on a clock that stands")
		b.Advance(time.Hour)
		require.Equal(t, at.Add(time.Hour), b.Now())
	}, sandbox.WithClock(func() time.Time { return at }))
}

func TestAsAHandlerItNeedsNoNetwork(t *testing.T) {
	t.Parallel()
	srv := sandbox.New()
	req := newPost(t)
	req.Header.Set("x-api-key", "k")
	srv.ServeHTTP(plainWriter{}, req)
	require.Len(t, srv.Ledger(), 1)
	require.Equal(t, payoutPath, srv.Requests()[0].Path)
	require.NoError(t, srv.Close())
	require.NoError(t, srv.Close())
}

// faults draws one of the faults after which the same request may be sent again.
func faults() *rapid.Generator[sandbox.Fault] {
	return rapid.SampledFrom([]sandbox.Fault{
		sandbox.Pass(), sandbox.Refuse(), sandbox.CloseBefore(), sandbox.CloseAfter(),
		sandbox.ResetBefore(), sandbox.ResetAfter(), sandbox.HangBefore(), sandbox.HangAfter(),
		sandbox.CutBody(7), sandbox.CutChunked(7), sandbox.StallBody(7), sandbox.Late(time.Minute),
		sandbox.Slow(20 * time.Second), sandbox.Slow(time.Minute), sandbox.Queue(time.Minute), sandbox.Interrupt(),
		sandbox.Status(500, ""), sandbox.Status(503, "").AfterCommit(), sandbox.TooMany("1"),
		sandbox.HTML(502), sandbox.HTML(504).AfterCommit(), sandbox.StayPending(time.Minute),
		sandbox.StayPending(time.Hour).With(sandbox.CloseAfter()), sandbox.PendingThenFail(time.Minute),
	})
}

// A bubble cannot be failed from inside while a property shrinks, so the effects
// are handed out of it.
func TestNoScriptMakesTwoEffectsUnderOneKey(t *testing.T) {
	t.Parallel()
	for _, p := range providers() {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				script := rapid.SliceOfN(faults(), 0, 6).Draw(rt, "script")
				effects := effectsOf(t, p, script)
				if effects > 1 {
					rt.Fatalf("%d effects", effects)
				}
			})
		})
	}
}
