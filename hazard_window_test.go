package unavez_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/sandbox"
)

// windowOf is how long a provider's page protects a resend; zero if for ever.
func windowOf(provider string) time.Duration {
	switch provider {
	case atIpsofactura:
		return 96 * time.Hour
	case atFiscalisto:
		return 0
	}
	return 24 * time.Hour
}

// later is a way to come back to an operation.
type later struct {
	name string
	come func(t *testing.T, c writeCase, b *mockBundle) (*result, error)
}

func laters() []later {
	return []later{
		{"Create", func(t *testing.T, c writeCase, b *mockBundle) (*result, error) {
			t.Helper()
			return c.do(t.Context(), b.client, testKey)
		}},
		{"Create after a restart", func(t *testing.T, c writeCase, b *mockBundle) (*result, error) {
			t.Helper()
			return c.do(t.Context(), b.newClient(), testKey)
		}},
		{"Reconcile", func(t *testing.T, c writeCase, b *mockBundle) (*result, error) {
			t.Helper()
			return c.reconcile(t.Context(), b.client, testKey)
		}},
		{"Reconcile after a restart", func(t *testing.T, c writeCase, b *mockBundle) (*result, error) {
			t.Helper()
			return c.reconcile(t.Context(), b.newClient(), testKey)
		}},
	}
}

func TestUnresolvedKeyIsNotSentPastTheWindowOfItsProvider(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{atIpsofactura, atPayouts, atFiscalisto} {
		window := windowOf(provider)
		moments := map[string]struct {
			after  time.Duration
			isSent bool
		}{
			"at once": {time.Second, true}, "just inside": {window - 10*time.Minute, true}, "at the limit": {window, false},
			"just past": {window + time.Second, false}, "an hour past": {window + time.Hour, false}, "a year past": {365 * 24 * time.Hour, false},
		}
		if window == 0 {
			moments = map[string]struct {
				after  time.Duration
				isSent bool
			}{"at once": {time.Second, true}, "25 h": {25 * time.Hour, true}, "97 h": {97 * time.Hour, true}, "a year": {365 * 24 * time.Hour, true}}
		}
		for name, moment := range moments {
			for _, way := range laters() {
				t.Run(provider+" "+name+" "+way.name, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						c, b := mainCase(t, provider), newMock(t, provider)
						leaveUnresolved(t, b)
						time.Sleep(moment.after)
						if moment.isSent {
							b.play(answer(201, c.success))
						}

						made, err := way.come(t, c, b)

						if moment.isSent {
							require.NoError(t, err)
							require.NotNil(t, made)
							require.Len(t, b.writes(), 2)
							requireSameBytes(t, b.writes())
							return
						}
						e := requireError(t, err)
						require.Equal(t, unavez.NeedsManualReview, e.Disposition)
						require.Equal(t, unavez.ReasonKeyExpired, e.Reason)
						require.Equal(t, unavez.Unknown, e.Effect)
						require.Len(t, b.writes(), 1, "sent under a key that its provider has forgotten")
					})
				})
			}
		}
	}
}

func TestFactyIsAskedPastTheWindowAndNotSentAgain(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{24 * time.Hour, 25 * time.Hour, 365 * 24 * time.Hour} {
		for name, lookups := range map[string][]reply{
			"stamped": {answer(200, factyList(factyRow(testKey, "stamped", testUUID)))},
			"empty":   {answer(200, `{"invoices":[]}`), answer(200, `{"invoices":[]}`)},
		} {
			for _, way := range laters() {
				t.Run(fmt.Sprint(after, " ", name, " ", way.name), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						c, b := mainCase(t, atFacty), newMock(t, atFacty)
						leaveUnresolved(t, b)
						time.Sleep(after)
						b.play(lookups...)

						made, err := way.come(t, c, b)

						require.Len(t, b.writes(), 1, "sent again past the window")
						if name == "stamped" {
							require.NoError(t, err)
							require.Equal(t, testUUID, made.UUID)
							return
						}
						require.Equal(t, unavez.NeedsManualReview, requireError(t, err).Disposition)
					})
				})
			}
		}
	}
}

func TestWaitThatWouldEndPastTheWindowIsNotSlept(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{atIpsofactura, atPayouts} {
		for name, wait := range map[string]struct {
			seconds int
			isSlept bool
		}{"ends inside": {60, true}, "ends past": {3600, false}} {
			t.Run(provider+" "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					c, b := mainCase(t, provider), newMock(t, provider, unavez.WithMaxWait(1000*time.Hour))
					leaveUnresolved(t, b)
					time.Sleep(windowOf(provider) - 20*time.Minute)
					b.restart()
					b.play(answer(500, "", fmt.Sprint("Retry-After: ", wait.seconds)))
					if wait.isSlept {
						b.play(answer(201, c.success))
					}

					_, err := c.do(t.Context(), b.client, testKey)

					if wait.isSlept {
						require.NoError(t, err)
						return
					}
					e := requireError(t, err)
					require.Zero(t, time.Since(b.began), "slept for a send that may not happen")
					require.Len(t, b.all(), 1)
					require.Equal(t, unavez.NeedsManualReview, e.Disposition)
					require.Equal(t, unavez.ReasonKeyExpired, e.Reason)
				})
			})
		}
	}
}

func TestKeyThatTheProviderForgotNeverPaysOrStampsTwice(t *testing.T) {
	t.Parallel()
	for _, c := range everySandboxWrite(t) {
		for _, fault := range []sandbox.Fault{sandbox.CloseAfter(), sandbox.HTML(502).AfterCommit(), sandbox.HangAfter()} {
			for _, idle := range []time.Duration{23 * time.Hour, 25 * time.Hour, 97 * time.Hour} {
				t.Run(fmt.Sprint(c, " ", fault, " ", idle), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						b, journal := newSandbox(t), unavez.NewMemoryJournal(0)
						client := b.client(c.provider, unavez.WithJournal(journal), unavez.WithMaxAttempts(1), unavez.WithTimeout(time.Second))
						prepare(t, c, client)
						b.server.Script(fault)
						b.server.ScriptLookups(sandbox.HTML(502))
						_, err := c.do(t.Context(), client, testKey)
						require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
						b.transport.CloseIdleConnections()
						time.Sleep(idle)

						queue := b.client(c.provider, unavez.WithJournal(journal))
						_, _ = c.do(t.Context(), queue, testKey)

						require.Equal(t, 1, effects(b.server, c, testKey), "done twice")
					})
				})
			}
		}
	}
}
