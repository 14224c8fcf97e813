package sandbox_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez/sandbox"
)

func (b *testBundle) fiscalOther(key string) reply {
	return b.post(fiscalPath, strings.Replace(fisBody, "900", "901", 1), "Authorization", "Bearer k", "Idempotency-Key", key)
}

func TestFiscalistoAnswersTheSameDocumentForEver(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		first := b.fiscal(key)
		require.Equal(t, http.StatusCreated, first.status)
		require.Equal(t, "1044.00", first.member("total"))
		require.Empty(t, first.header.Get("idempotent-replayed"))

		b.Advance(5000 * time.Hour)
		again := b.fiscal(key)
		require.Equal(t, http.StatusCreated, again.status)
		require.Equal(t, first.body, again.body)
		require.Equal(t, "true", again.header.Get("idempotent-replayed"))
		require.Equal(t, 1, b.Effects(key))
	})
}

func TestFiscalistoBindsAKeyToRouteAndBodyFor24Hours(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		first := b.fiscal(key)
		require.Equal(t, "idempotency_key_reused", b.fiscalOther(key).member("error.code"))
		route := b.post("/v1/credit_notes", fisBody, "Authorization", "Bearer k", "Idempotency-Key", key)
		require.Equal(t, http.StatusConflict, route.status)

		b.Advance(24 * time.Hour)
		require.Equal(t, first.body, b.fiscalOther(key).body, "the old document, for another body")
		require.Equal(t, 1, b.Effects(key))
	})
}

func TestFiscalistoDemandsAKeyOf8To255ASCIICharacters(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		require.Equal(t, "idempotency_key_missing", b.fiscal("").member("error.code"))
		for k, status := range map[string]int{
			strings.Repeat("k", 7): 400, strings.Repeat("k", 8): 201,
			strings.Repeat("k", 255): 201, strings.Repeat("k", 256): 400,
			"pedido-ñ-1042": 400,
		} {
			r := b.fiscal(k)
			require.Equal(t, status, r.status, k)
			if status == 400 {
				require.Equal(t, "idempotency_key_invalid", r.member("error.code"))
			}
		}
	})
}

func TestFiscalistoFreesTheKeyOfWhatDidNotReachThePAC(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]sandbox.Fault{
		"invoice_invalid": sandbox.Status(422, "invoice_invalid"),
		"rejected so":     sandbox.Reject("invoice_invalid"),
		"400":             sandbox.Status(400, "bad_request"),
		"500":             sandbox.Status(500, "error"),
		"429":             sandbox.TooMany("2"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(b *testBundle) {
				b.Script(fault)
				require.GreaterOrEqual(t, b.fiscal(key).status, 400)
				require.Equal(t, http.StatusCreated, b.fiscalOther(key).status)
			})
		})
	}
}

func TestFiscalistoLocksTheBodyOfWhatReachedThePAC(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]sandbox.Fault{
		"invoice_rejected": sandbox.Reject("invoice_rejected"),
		"402":              sandbox.Status(402, ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(b *testBundle) {
				b.Script(fault)
				require.GreaterOrEqual(t, b.fiscal(key).status, 400)
				require.Equal(t, "idempotency_key_reused", b.fiscalOther(key).member("error.code"))
				require.Equal(t, http.StatusCreated, b.fiscal(key).status, "the same body tries again")
			})
		})
	}
}

func TestFiscalistoLetsALockedKeyGoAfter24Hours(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.Script(sandbox.Reject("invoice_rejected"))
		b.fiscal(key)
		b.Advance(24 * time.Hour)
		require.Equal(t, http.StatusCreated, b.fiscalOther(key).status)
		require.Equal(t, "idempotency_key_reused", b.fiscal(key).member("error.code"))
	})
}

func TestFiscalistoReviewsBeforeThePAC(t *testing.T) {
	t.Parallel()
	for body, member := range map[string]string{
		`[]`:                                `object`,
		`{"payment_form":3}`:                `payment_form`,
		`{"customer":7}`:                    `customer`,
		`{"items":[]}`:                      `items`,
		`{"items":[{"unit_price":"900"}]}`:  `unit_price`,
		`{"items":[{"quantity":1e400000}]}`: `quantity`,
	} {
		t.Run(member, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(b *testBundle) {
				r := b.post(fiscalPath, body, "Authorization", "Bearer k", "Idempotency-Key", key)
				require.Equal(t, http.StatusUnprocessableEntity, r.status)
				require.Equal(t, "invoice_invalid", r.member("error.code"))
				require.Contains(t, r.member("error.message"), member)
				require.Equal(t, http.StatusCreated, b.fiscal(key).status)
			})
		})
	}
}

func TestFiscalisto202BecomesThe201(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.Script(sandbox.StayPending(time.Minute))
		r := b.fiscal(key)
		require.Equal(t, http.StatusAccepted, r.status)
		require.Equal(t, "null", r.member("uuid"))

		dup := b.fiscal(key)
		require.Equal(t, http.StatusConflict, dup.status)
		require.Equal(t, "request_in_progress", dup.member("error.code"))
		require.Equal(t, "3", dup.header.Get("Retry-After"))

		wait(time.Minute)
		done := b.fiscal(key)
		require.Equal(t, http.StatusCreated, done.status)
		require.Equal(t, r.member("id"), done.member("id"))
		require.Equal(t, 1, b.Effects(key))
	})
}

func TestFiscalisto202CanTurnOutRejected(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.Script(sandbox.PendingThenFail(time.Minute))
		require.Equal(t, http.StatusAccepted, b.fiscal(key).status)
		wait(time.Minute)
		require.Equal(t, "invoice_rejected", b.fiscal(key).member("error.code"))
		require.Equal(t, http.StatusCreated, b.fiscal(key).status, "the same body tries again")
	})
}

func TestFiscalisto202MayNeverEnd(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.Script(sandbox.OutcomeUnknown())
		require.Equal(t, http.StatusAccepted, b.fiscal(key).status)
		b.Advance(20 * time.Hour)
		require.Equal(t, "request_in_progress", b.fiscal(key).member("error.code"))
	})
}

func TestFiscalistoKeepsAccountsApart(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.fiscal(key)
		r := b.post(fiscalPath, fisBody, "Authorization", "Bearer other", "Idempotency-Key", key)
		require.Empty(t, r.header.Get("idempotent-replayed"))
		require.NotEqual(t, b.Ledger()[0].Account, b.Ledger()[1].Account)
		require.NotContains(t, b.Ledger()[1].Account, "other")
	})
}

func TestFiscalistoNamesOtherOperationsByPath(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.post("/v1/credit_notes", fisBody, "Authorization", "Bearer k", "Idempotency-Key", key)
		require.Equal(t, sandbox.Operation("credit_notes"), b.Ledger()[0].Operation)
	})
}
