package sandbox_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez/sandbox"
)

func (b *testBundle) payoutOf(quote, key string) reply {
	body := strings.Replace(payBody, "q-1", quote, 1)
	return b.post(payoutPath, body, "x-api-key", "k", "Idempotency-Key", key)
}

func TestPayoutsGivesTheOriginalAnswerAgain(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		first := b.payout(key)
		require.Equal(t, http.StatusOK, first.status)
		require.Equal(t, "po_1", first.member("id"))
		again := b.payout(key)
		require.Equal(t, first.status, again.status)
		require.Equal(t, first.body, again.body)
		require.Equal(t, 1, b.Effects(key))
		require.Zero(t, b.Stamps())
	})
}

func TestPayoutsComparesTheExactBodyAndTheQuery(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.payout(key)
		reordered := `{"method":"pago_movil","quoteId":"q-1","beneficiaryId":"b-1"}`
		for _, r := range []reply{
			b.post(payoutPath, reordered, "x-api-key", "k", "Idempotency-Key", key),
			b.post(payoutPath+"?x=1", payBody, "x-api-key", "k", "Idempotency-Key", key),
		} {
			require.Equal(t, http.StatusConflict, r.status)
			require.Equal(t, "idempotency_key_reused", r.member("error.code"))
			require.Equal(t, "invalid_request_error", r.member("error.type"))
			require.Regexp(t, "^req_[0-9a-f]{24}$", r.member("error.request_id"))
		}
	})
}

func TestPayoutsForgetsAKeyAfter24HoursButNotTheQuote(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.payout(key)
		b.Advance(24*time.Hour - time.Second)
		require.Equal(t, http.StatusOK, b.payout(key).status)
		b.Advance(time.Second)
		require.Equal(t, "quote_already_consumed", b.payout(key).member("error.code"))
		require.Equal(t, http.StatusOK, b.payoutOf("q-2", "key-2").status)
	})
}

func TestPayoutsUsesAQuoteOnceUnderAnyKey(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.payout(key)
		r := b.payout("another-key")
		require.Equal(t, http.StatusConflict, r.status)
		require.Equal(t, "quote_already_consumed", r.member("error.code"))
		none := b.post(payoutPath, payBody, "x-api-key", "k")
		require.Equal(t, "quote_already_consumed", none.member("error.code"))
		require.Len(t, b.Ledger(), 1)
	})
}

func TestPayoutsFreesTheKeyOfARequestThatFailed(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]sandbox.Fault{
		"provider_error":        sandbox.Status(502, ""),
		"no_provider_available": sandbox.Status(503, ""),
		"rate_limited":          sandbox.TooMany(""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(b *testBundle) {
				b.Script(fault)
				require.Equal(t, name, b.payout(key).member("error.code"))
				require.Equal(t, "idempotency_key_reused", b.payoutOf("q-2", key).member("error.code"))
				require.Equal(t, http.StatusOK, b.payout(key).status)
				require.Equal(t, 1, b.Effects(key))
			})
		})
	}
}

func TestPayoutsNeedsItsThreeMembers(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		r := b.post(payoutPath, `{"quoteId":"q-1","method":1}`, "x-api-key", "k", "Idempotency-Key", key)
		require.Equal(t, http.StatusBadRequest, r.status)
		require.Contains(t, r.member("error.message"), "method, beneficiaryId")
	})
}

func TestPayoutsFailedPayoutUsesUpKeyAndQuote(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.Script(sandbox.Reject(""))
		first := b.payout(key)
		require.Equal(t, http.StatusOK, first.status)
		require.Equal(t, "failed", first.member("status"))
		require.Equal(t, first.body, b.payout(key).body)
		require.Equal(t, "quote_already_consumed", b.payout("another-key").member("error.code"))
		require.Empty(t, b.Ledger())
	})
}

func TestPayoutsUnknownPayoutIsInTheLedger(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.Script(sandbox.OutcomeUnknown())
		first := b.payout(key)
		require.Equal(t, "unknown", first.member("status"))
		require.Equal(t, first.body, b.payout(key).body)
		require.Equal(t, "unknown", b.Ledger()[0].Status)
	})
}

func TestPayoutsCutRequestIsInFlightFor60Seconds(t *testing.T) {
	t.Parallel()
	for _, fault := range []sandbox.Fault{sandbox.CloseBefore(), sandbox.ResetBefore()} {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(b *testBundle) {
				b.Script(fault)
				require.Error(t, b.payout(key).err)
				wait(59 * time.Second)
				r := b.payout(key)
				require.Equal(t, http.StatusConflict, r.status)
				require.Equal(t, "idempotency_request_in_flight", r.member("error.code"))
				wait(time.Second)
				require.Equal(t, http.StatusOK, b.payout(key).status)
				require.Equal(t, 1, b.Effects(key))
			})
		})
	}
}

func TestPayoutsHungRequestIsInFlightUntil60SecondsAfterItWasCut(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.Script(sandbox.HangBefore())
		require.Error(t, b.postWithin(90*time.Second, payoutPath, payBody, "x-api-key", "k", "Idempotency-Key", key).err)
		wait(59 * time.Second)
		require.Equal(t, "idempotency_request_in_flight", b.payout(key).member("error.code"))
		wait(2 * time.Second)
		require.Equal(t, http.StatusOK, b.payout(key).status)
	})
}

func TestPayoutsCutDoesNotTouchAKeyThatIsDone(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		first := b.payout(key)
		b.Script(sandbox.CloseBefore())
		require.Error(t, b.payout(key).err)
		require.Equal(t, first.body, b.payout(key).body)
	})
}

func TestPayoutsInterruptedPayoutMeetsItsOwnQuote(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.Script(sandbox.Interrupt())
		require.Error(t, b.payout(key).err)
		require.Equal(t, "idempotency_request_in_flight", b.payout(key).member("error.code"))
		wait(time.Minute)
		require.Equal(t, "quote_already_consumed", b.payout(key).member("error.code"))
		require.Equal(t, 1, b.Effects(key))
	})
}

func TestPayoutsInFlightEndsWithTheOriginalAnswer(t *testing.T) {
	t.Parallel()
	for want, fault := range map[string]sandbox.Fault{
		"processing": sandbox.StayPending(time.Minute),
		"failed":     sandbox.PendingThenFail(time.Minute),
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(b *testBundle) {
				b.Script(fault)
				for range 2 {
					require.Equal(t, "idempotency_request_in_flight", b.payout(key).member("error.code"))
				}
				wait(time.Minute)
				r := b.payout(key)
				require.Equal(t, http.StatusOK, r.status)
				require.Equal(t, want, r.member("status"))
			})
		})
	}
}

func TestPayoutsKeepsProgramsApart(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.payout(key)
		r := b.post(payoutPath, payBody, "x-api-key", "other", "Idempotency-Key", key)
		require.Equal(t, "po_2", r.member("id"))
	})
}

func TestPayoutsWithoutKeyAreNotToldApart(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		require.Equal(t, http.StatusOK, b.post(payoutPath, payBody, "x-api-key", "k").status)
		other := strings.Replace(payBody, "q-1", "q-2", 1)
		require.Equal(t, http.StatusOK, b.post(payoutPath, other, "x-api-key", "k").status)
		require.Equal(t, 2, b.Effects(""))
	})
}
