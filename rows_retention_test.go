package unavez_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/sandbox"
)

// How long a key protects, and what happens past it: 24 h at Facty and the payouts API, 96 h at Ipsofactura, no end at Fiscalisto.

// losingAt is an earlier call whose answer was lost so long ago.
func losingAt(c writeCase, ago time.Duration) func(t *testing.T, b *mockBundle) {
	return func(t *testing.T, b *mockBundle) {
		t.Helper()
		if c.provider == atFacty {
			losingAtFacty(t, b)
		} else {
			losing(c)(t, b)
		}
		time.Sleep(ago)
	}
}

// expiring is losingAt, and the call that found the window over.
func expiring(c writeCase, ago time.Duration) func(t *testing.T, b *mockBundle) {
	return func(t *testing.T, b *mockBundle) {
		t.Helper()
		losingAt(c, ago)(t, b)
		_, err := c.do(t.Context(), b.client, testKey)
		require.ErrorIs(t, err, unavez.ErrNeedsManualReview)
	}
}

func TestRowsRetentionWindow(t *testing.T) {
	t.Parallel()
	windows := map[string]struct{ inside, past []time.Duration }{
		atIpsofactura: {inside: hours(1, 73, 95), past: hours(96, 97, 1000)},
		atPayouts:     {inside: hours(1, 23), past: hours(24, 25, 1000)},
		atFiscalisto:  {inside: hours(1, 25, 97, 10_000)},
	}
	for provider, window := range windows {
		c := mainCase(t, provider)
		reconcile := func(ctx context.Context, b *mockBundle, options ...unavez.CallOption) (*result, error) {
			return c.reconcile(ctx, b.newClient(), testKey, options...)
		}
		expired := keyExpired()
		var rows []row
		for _, ago := range window.inside {
			rows = append(rows,
				row{fact: "Create after " + ago.String() + " sends the same bytes", before: losingAt(c, ago), answers: then(answer(201, c.success)), sends: []float64{0}, want: aDocument()},
				row{fact: "Create after a restart and " + ago.String(), before: losingAt(c, ago), act: afterRestart(c), answers: then(answer(201, c.success)), sends: []float64{0}, want: aDocument()},
				row{fact: "Reconcile after " + ago.String(), before: losingAt(c, ago), act: reconcile, answers: then(answer(201, c.success)), sends: []float64{0}, want: aDocument()},
			)
		}
		for _, ago := range window.past {
			rows = append(rows,
				row{fact: "Create after " + ago.String() + " sends nothing", before: losingAt(c, ago), want: expired},
				row{fact: "Create twice after " + ago.String() + " sends nothing", before: expiring(c, ago), want: expired},
				row{fact: "Create after a restart and " + ago.String() + " sends nothing", before: losingAt(c, ago), act: afterRestart(c), want: expired},
				row{fact: "Reconcile after " + ago.String() + " sends nothing", before: losingAt(c, ago), act: reconcile, want: expired},
			)
		}
		runRows(t, provider, rows)
	}
}

// The window closes five minutes and one attempt's timeout before the provider forgets the key: a request that is on its way then, or a
// clock that differs a little, does no harm.
func TestRowsRetentionWindowClosesFiveMinutesAndOneTimeoutEarly(t *testing.T) {
	t.Parallel()
	const timeout = 17 * time.Second
	for provider, retention := range map[string]time.Duration{atIpsofactura: 96 * time.Hour, atPayouts: 24 * time.Hour} {
		c := mainCase(t, provider)
		last := retention - 5*time.Minute - timeout
		for ago, sends := range map[time.Duration]int{last - 1: 1, last: 0} {
			synctest.Test(t, func(t *testing.T) {
				b := newMock(t, provider).play(lostAnswer())
				_, err := c.do(t.Context(), b.client, testKey, unavez.WithMaxAttempts(1))
				require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
				time.Sleep(ago)
				b.play(answer(201, c.success))
				_, err = c.do(t.Context(), b.client, testKey, unavez.WithTimeout(timeout))
				require.Len(t, b.writes(), 1+sends, "%s, %s after the first write: %v", provider, ago, err)
				if sends == 0 {
					require.ErrorIs(t, err, unavez.ErrNeedsManualReview)
				}
			})
		}
	}
}

// keyExpired is how an unresolved operation ends past the window: its outcome is still unknown, and only a person can go on.
func keyExpired() want {
	return review(unavez.Unknown, unavez.ReasonKeyExpired, unavez.NextReview).marked(unavez.ErrOutcomeUnknown)
}

func hours(numbers ...int) []time.Duration {
	var all []time.Duration
	for _, number := range numbers {
		all = append(all, time.Duration(number)*time.Hour)
	}
	return all
}

// What was never executed, as far as the provider said, is no second effect however late it is sent.
func TestRowsRetentionWindowIsNoneWhereNothingMayHaveBeenExecuted(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		c := mainCase(t, provider)
		for name, before := range map[string]reply{"429": slow(), "refused dial": noConnection()} {
			runRows(t, provider, []row{{
				fact: name + ", and 1000h later", answers: then(answer(201, c.success)), sends: []float64{0}, want: aDocument(),
				before: func(t *testing.T, b *mockBundle) {
					t.Helper()
					endedWith(c, unavez.ErrRetryLater, repeated(5, before)...)(t, b)
					time.Sleep(1000 * time.Hour)
				},
			}})
		}
	}
}

func TestRowsFactyWindowIsForAResendAndNotForALookup(t *testing.T) {
	t.Parallel()
	c := mainCase(t, atFacty)
	expired := keyExpired()
	var rows []row
	for _, ago := range hours(23, 25, 1000) {
		rows = append(rows,
			row{fact: "Reconcile after " + ago.String() + " asks", before: losingAt(c, ago), act: reconciling, answers: then(stamped()), looks: []float64{0}, want: aDocument()},
			row{
				fact: "Reconcile after " + ago.String() + " of an empty list", before: losingAt(c, ago), act: reconciling, answers: then(emptyList()), looks: []float64{0},
				want: review(unavez.Unknown, unavez.ReasonNeverArrived, neverArrivedNext(ago)).http(200, ""),
			},
			row{fact: "Create after " + ago.String() + " asks first", before: losingAt(c, ago), answers: then(stamped()), looks: []float64{0}, want: aDocument()},
			row{fact: "Create after " + ago.String() + " of a pending row asks again", before: losingAt(c, ago), answers: then(pending(), stamped()), looks: []float64{0, 1}, want: aDocument()},
		)
	}
	rows = append(rows,
		row{
			fact: "Create after 23h and two empty lists sends the same bytes", before: losingAt(c, 23*time.Hour), looks: []float64{0, 1}, sends: []float64{1},
			answers: then(repeated(2, emptyList()), answer(201, c.success)), want: aDocument(),
		},
		row{
			fact: "Create after 25h and two empty lists sends nothing", before: losingAt(c, 25*time.Hour), looks: []float64{0, 1}, answers: repeated(2, emptyList()),
			want: expired.http(200, ""),
		},
	)
	runRows(t, atFacty, rows)
}

// neverArrivedNext is what follows an empty list: past the window the key protects nothing, so a person decides.
func neverArrivedNext(ago time.Duration) unavez.Next {
	if ago < 24*time.Hour {
		return unavez.NextResend
	}
	return unavez.NextReview
}

func TestRowsAWaitThatWouldEndPastTheWindowIsNotSlept(t *testing.T) {
	t.Parallel()
	patient := []unavez.CallOption{unavez.WithMaxWait(200 * time.Hour)}
	for provider, window := range map[string]int{atIpsofactura: 96, atPayouts: 24} {
		c := mainCase(t, provider)
		long := answer(503, errorBody(provider, "X"), "Retry-After: "+strconv.Itoa(window*3600))
		runRows(t, provider, []row{{
			fact: "after a lost outcome a person decides at once", options: patient, answers: then(long), sends: []float64{0},
			want: keyExpired().http(503, "X"),
		}, {
			fact: "a wait well inside is slept", options: patient, answers: then(answer(503, "", "Retry-After: "+strconv.Itoa((window-1)*3600)), answer(201, c.success)),
			sends: []float64{0, float64((window - 1) * 3600)}, want: aDocument(),
		}})
	}
}

// The sandbox forgets keys as the pages say. What is sent past the window would be a second stamp or payout, and the ledger would show it.
func TestRowsRetentionWindowLedger(t *testing.T) {
	t.Parallel()
	for provider, ago := range map[string][]time.Duration{
		atIpsofactura: hours(95, 97), atPayouts: hours(23, 25), atFiscalisto: hours(25, 5000), atFacty: hours(23, 25),
	} {
		for _, d := range ago {
			t.Run(provider+" after "+d.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b, c, journal := newSandbox(t), mainCase(t, provider), unavez.NewMemoryJournal(0)
					b.server.Script(sandbox.CloseAfter())
					b.server.ScriptLookups(sandbox.Status(403, ""))
					_, err := c.do(t.Context(), b.client(provider, unavez.WithJournal(journal)), testKey, unavez.WithMaxAttempts(1), unavez.WithMaxWait(0))
					require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
					time.Sleep(d)
					_, _ = c.do(t.Context(), b.client(provider, unavez.WithJournal(journal)), testKey)
					_, _ = c.reconcile(t.Context(), b.client(provider, unavez.WithJournal(journal)), testKey)
					require.Equal(t, 1, b.server.Effects(testKey), "effects after a call inside and past the window")
				})
			})
		}
	}
}
