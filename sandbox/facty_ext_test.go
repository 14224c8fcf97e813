package sandbox_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez/sandbox"
)

func TestFactyStampsWithAnExactTotal(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		r := b.facty(key)
		require.Equal(t, http.StatusCreated, r.status)
		require.Regexp(t, `^\{"id":"inv_1","uuid":"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}",`+
			`"idempotencyKey":"mi-erp:test:factura:77","status":"stamped","type":"ingreso","serie":"A","folio":1,`+
			`"total":349.16,"moneda":"MXN","stampedAt":"2000-01-01T00:00:00"\}$`, r.body)
		require.NotEmpty(t, r.header.Get("x-request-id"))
	})
}

func TestFactyLivesBelowAPIAsWell(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		first := b.facty(key)
		again := b.post("/api"+factyPath, factyBody(key), "X-API-Key", "fk_1")
		require.Equal(t, first.body, again.body)
	})
}

func TestFactyAnswersAStampedKeyWithTheSameDocument(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		first := b.facty(key)
		wait(1000 * 24 * time.Hour)
		again := b.facty(key)
		require.Equal(t, http.StatusOK, again.status)
		require.Equal(t, first.body, again.body)
		require.NotEqual(t, first.header.Get("x-request-id"), again.header.Get("x-request-id"))
		require.Equal(t, 1, b.Effects(key))
	})
}

func TestFactyKeepsOrganisationsApart(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.facty(key)
		other := b.post("/authenticated/other/invoices", factyBody(key), "X-API-Key", "fk_1")
		require.Equal(t, http.StatusCreated, other.status)
		require.Equal(t, "acme", b.Ledger()[0].Account)
		require.Equal(t, "other", b.Ledger()[1].Account)
	})
}

func TestFactyRefusesKeysOutsideOf8To128Characters(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		for length, status := range map[int]int{0: 422, 7: 422, 8: 201, 128: 201, 129: 422} {
			r := b.facty(strings.Repeat("k", length))
			require.Equal(t, status, r.status, "length %d", length)
		}
	})
}

func TestFactyCountsCharactersOfAKeyNotBytes(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		require.Equal(t, http.StatusCreated, b.facty(strings.Repeat("ñ", 128)).status)
	})
}

func TestFactyRefusesAnExchangeRateInQuotes(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		body := `{"type":"ingreso","idempotencyKey":"` + key + `","moneda":"USD","tipoCambio":"18.50"}`
		r := b.post(factyPath, body, "X-API-Key", "fk_1")
		require.Equal(t, http.StatusUnprocessableEntity, r.status)
		require.Equal(t, "must be a number", r.member("fieldErrors.tipoCambio"))
		require.Equal(t, r.header.Get("x-request-id"), r.member("requestId"))
		require.Equal(t, http.StatusCreated, b.facty(key).status, "the key is free after that")
	})
}

func TestFactyNamesTheMembersThatAreWrong(t *testing.T) {
	t.Parallel()
	const head = `{"idempotencyKey":"` + key + `",`
	for name, c := range map[string]struct{ path, body, member string }{
		"type":        {factyPath, head + `"type":"I"}`, "type"},
		"client":      {factyPath, head + `"type":"ingreso","clientId":7}`, "clientId"},
		"items":       {factyPath, head + `"type":"ingreso","items":{}}`, "items"},
		"quantity":    {factyPath, head + `"type":"ingreso","items":[{"quantity":"2"}]}`, "items.0.quantity"},
		"exponent":    {factyPath, head + `"type":"ingreso","items":[{"quantity":1e9}]}`, "items.0.quantity"},
		"description": {factyPath, head + `"type":"ingreso","items":[{"description":1}]}`, "items.0.description"},
		"amount":      {"/authenticated/acme/payments", head + `"monto":"1"}`, "monto"},
		"date":        {"/authenticated/acme/payments", head + `"fechaPago":"2026-08-11T10:20:30Z"}`, "fechaPago"},
		"paid":        {"/authenticated/acme/payments", head + `"documents":[{"importePagado":"1"}]}`, "documents.0.importePagado"},
		"documents":   {"/authenticated/acme/payments", head + `"documents":{}}`, "documents"},
		"motive":      {"/authenticated/acme/invoices/inv_1/cancel", `{"motivo":"1"}`, "motivo"},
		"substitute":  {"/authenticated/acme/invoices/inv_1/cancel", `{"motivo":"01"}`, "folioSustitucion"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(b *testBundle) {
				r := b.post(c.path, c.body, "X-API-Key", "fk_1")
				require.Equal(t, http.StatusUnprocessableEntity, r.status)
				require.Contains(t, r.body, `"`+c.member+`":`)
				require.Empty(t, b.Ledger())
			})
		})
	}
}

func TestFactyPendingKeyConflictsThenTurnsOutStamped(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.Script(sandbox.StayPending(time.Minute))
		require.Equal(t, http.StatusGatewayTimeout, b.facty(key).status)
		require.Equal(t, http.StatusConflict, b.facty(key).status)
		require.Contains(t, b.factyList("?idempotencyKey="+key).body, `"uuid":null,"idempotencyKey":"`+key+`","status":"pending"`)
		require.Zero(t, b.Effects(key))

		wait(time.Minute)
		require.Equal(t, 1, b.Effects(key))
		require.Contains(t, b.factyList("?idempotencyKey="+key).body, `"status":"stamped"`)
		require.Equal(t, http.StatusOK, b.facty(key).status)
	})
}

func TestFactyPendingStaysAConflictWithTheRetryFlag(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.Script(sandbox.OutcomeUnknown())
		b.facty(key)
		wait(1000 * time.Hour)
		require.Equal(t, http.StatusConflict, b.factyRetry("ingreso").status)
	})
}

func (b *testBundle) factyRetry(kind string) reply {
	body := `{"type":"` + kind + `","allowRetryOnFailed":true,"idempotencyKey":"` + key + `"}`
	return b.post(factyPath, body, "X-API-Key", "fk_1")
}

func TestFactyFailedKeyNeedsTheRetryFlag(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"ingreso", "egreso"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(b *testBundle) {
				b.Script(sandbox.Reject("CFDI40147"))
				r := b.facty(key)
				require.Equal(t, http.StatusUnprocessableEntity, r.status)
				require.Equal(t, "CFDI40147", r.member("code"))
				require.Contains(t, r.body, `"fieldErrors":{`)
				require.Equal(t, http.StatusConflict, b.facty(key).status)
				require.Contains(t, b.factyList("?idempotencyKey="+key).body, `"status":"failed"`)

				require.Equal(t, http.StatusCreated, b.factyRetry(kind).status)
				require.Equal(t, 1, b.Effects(key))
				require.Equal(t, 1, strings.Count(b.factyList("?idempotencyKey="+key).body, `"id":`))
			})
		})
	}
}

func TestFactyRetryThatWasRefusedLeavesTheKeyFailed(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.Script(sandbox.Reject("X"), sandbox.TooMany("1"))
		b.facty(key)
		require.Equal(t, http.StatusTooManyRequests, b.factyRetry("ingreso").status)
		require.Equal(t, http.StatusConflict, b.facty(key).status)
		require.Equal(t, http.StatusCreated, b.factyRetry("ingreso").status)
	})
}

func TestFactyOffersTheRetryFlagForInvoicesAlone(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.Script(sandbox.Reject("X"))
		body := `{"idempotencyKey":"` + key + `","allowRetryOnFailed":true}`
		require.Equal(t, 422, b.post("/authenticated/acme/retenciones", body, "X-API-Key", "fk_1").status)
		require.Equal(t, 409, b.post("/authenticated/acme/retenciones", body, "X-API-Key", "fk_1").status)
	})
}

func TestFactyPendingCanTurnOutFailed(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.Script(sandbox.PendingThenFail(time.Minute))
		b.facty(key)
		wait(time.Minute)
		require.Contains(t, b.factyList("?idempotencyKey="+key).body, `"status":"failed"`)
		require.Empty(t, b.Ledger())
	})
}

func TestFactyConflictsLookAlike(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.Script(sandbox.Reject("X"), sandbox.OutcomeUnknown())
		b.facty("failed-key")
		b.facty("pending-key")
		require.Equal(t, b.facty("failed-key").member("code"), b.facty("pending-key").member("code"))
	})
}

func TestFactyKeyOfAnotherOperationConflicts(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.facty(key)
		r := b.post("/authenticated/acme/retenciones", `{"idempotencyKey":"`+key+`"}`, "X-API-Key", "fk_1")
		require.Equal(t, http.StatusConflict, r.status)
	})
}

func TestFactyStampsARegisteredPaymentOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		const payments = "/authenticated/acme/payments"
		made := b.post(payments, `{"idempotencyKey":"payment-1","monto":116.00,"stamp":false}`, "X-API-Key", "fk_1")
		require.Equal(t, http.StatusCreated, made.status)
		require.Equal(t, "pay_1", made.member("paymentId"))
		require.Equal(t, "null", made.member("uuid"))
		require.Zero(t, b.Stamps())
		require.Equal(t, 1, b.Effects("payment-1"))

		stamped := b.post(payments+"/pay_1/stamp", `{"idempotencyKey":"stamping-1"}`, "X-API-Key", "fk_1")
		require.Equal(t, http.StatusCreated, stamped.status)
		require.Equal(t, "116.00", stamped.member("total"))
		require.NotEmpty(t, stamped.member("paymentInvoiceId"))
		require.Equal(t, 1, b.Stamps())

		second := b.post(payments+"/pay_1/stamp", `{"idempotencyKey":"stamping-2"}`, "X-API-Key", "fk_1")
		require.Equal(t, http.StatusConflict, second.status)
		require.Equal(t, 404, b.post(payments+"/pay_9/stamp", `{"idempotencyKey":"stamping-3"}`, "X-API-Key", "fk_1").status)
	})
}

func TestFactyDoesNotStampAPaymentUnderTwoKeysAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		const payments = "/authenticated/acme/payments"
		b.Script(sandbox.Pass(), sandbox.StayPending(time.Minute))
		b.post(payments, `{"idempotencyKey":"payment-1"}`, "X-API-Key", "fk_1")
		b.post(payments+"/pay_1/stamp", `{"idempotencyKey":"stamping-1"}`, "X-API-Key", "fk_1")
		r := b.post(payments+"/pay_1/stamp", `{"idempotencyKey":"stamping-2"}`, "X-API-Key", "fk_1")
		require.Equal(t, http.StatusConflict, r.status)
		wait(time.Minute)
		require.Equal(t, 1, b.Stamps())
	})
}

func TestFactyListsComplementsButNotRetentions(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.post("/authenticated/acme/payments", `{"idempotencyKey":"payment-1","stamp":true}`, "X-API-Key", "fk_1")
		b.post("/authenticated/acme/retenciones", `{"idempotencyKey":"retention-1"}`, "X-API-Key", "fk_1")
		require.Equal(t, 2, b.Stamps())
		require.Contains(t, b.factyList("?idempotencyKey=payment-1").body, `"status":"stamped"`)
		require.Equal(t, `{"invoices":[]}`, b.factyList("?idempotencyKey=retention-1").body)
	})
}

func TestFactyCancelsOnceAndSaysSoInSatStatus(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.facty(key)
		const doc = factyPath + "/inv_1"
		require.Equal(t, "Vigente", b.get(doc+"/sat-status", "X-API-Key", "fk_1").member("estado"))
		require.Equal(t, "true", b.get(doc+"/sat-status", "X-API-Key", "fk_1").member("cached"))
		require.Equal(t, "false", b.get(doc+"/sat-status?force=true", "X-API-Key", "fk_1").member("cached"))

		r := b.post(doc+"/cancel", `{"motivo":"02"}`, "X-API-Key", "fk_1")
		require.Equal(t, http.StatusOK, r.status)
		require.Equal(t, "cancelled", r.member("status"))
		require.Equal(t, http.StatusConflict, b.post(doc+"/cancel", `{"motivo":"02"}`, "X-API-Key", "fk_1").status)
		require.Equal(t, "Cancelado", b.get(doc+"/sat-status", "X-API-Key", "fk_1").member("estado"))
		require.Equal(t, sandbox.OpCancel, b.Ledger()[1].Operation)
		require.Equal(t, 1, b.Stamps())
	})
}

func TestFactyCancelsAPaymentByItsOwnID(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.post("/authenticated/acme/payments", `{"idempotencyKey":"payment-1","stamp":true}`, "X-API-Key", "fk_1")
		r := b.post("/authenticated/acme/payments/pay_1/cancel", `{"motivo":"02"}`, "X-API-Key", "fk_1")
		require.Equal(t, http.StatusOK, r.status)
	})
}

func TestFactyCancellationMayBeOpenFirst(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.facty(key)
		b.Script(sandbox.StayPending(time.Hour))
		require.Equal(t, 504, b.post(factyPath+"/inv_1/cancel", `{"motivo":"02"}`, "X-API-Key", "fk_1").status)
		require.Equal(t, "Vigente", b.get(factyPath+"/inv_1/sat-status", "X-API-Key", "fk_1").member("estado"))
		b.Advance(time.Hour)
		require.Equal(t, "Cancelado", b.get(factyPath+"/inv_1/sat-status", "X-API-Key", "fk_1").member("estado"))
	})
}

func TestFactyDoesNotCancelWhatIsNotThere(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		require.Equal(t, 404, b.post(factyPath+"/inv_9/cancel", `{"motivo":"02"}`, "X-API-Key", "fk_1").status)
		require.Equal(t, 404, b.get(factyPath+"/inv_9", "X-API-Key", "fk_1").status)
		require.Equal(t, 404, b.get(factyPath+"/inv_9/sat-status", "X-API-Key", "fk_1").status)
	})
}

func TestFactyFindsByKeyUUIDAndID(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.facty("first-key")
		second := b.facty("second-key")
		want := `{"invoices":[` + second.body + `]}`
		require.Equal(t, want, b.factyList("?idempotencyKey=second-key").body)
		require.Equal(t, want, b.factyList("?uuid="+strings.ToLower(second.member("uuid"))).body)
		require.Equal(t, second.body, b.get(factyPath+"/inv_2", "X-API-Key", "fk_1").body)
		require.Equal(t, `{"invoices":[]}`, b.factyList("?idempotencyKey=third-key").body)
	})
}

func TestFactyShowsSlowWorkAsPending(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.Script(sandbox.Slow(time.Minute))
		require.Error(t, b.sendWithin(time.Second, sandbox.Facty).err)
		require.Contains(t, b.factyList("?idempotencyKey="+key).body, `"status":"pending"`)
		wait(time.Minute)
		require.Contains(t, b.factyList("?idempotencyKey="+key).body, `"status":"stamped"`)
	})
}

func TestFactyRefusesAnotherMotiveThanTheFour(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *testBundle) {
		b.facty(key)
		for body, status := range map[string]int{
			`{"motivo":"05"}`: 422,
			`{"motivo":"02","folioSustitucion":"ABCD"}`: 422,
			`[]`: 400,
		} {
			require.Equal(t, status, b.post(factyPath+"/inv_1/cancel", body, "X-API-Key", "fk_1").status, body)
		}
		b.Script(sandbox.Reject("X"), sandbox.Status(500, ""))
		require.Equal(t, 422, b.post(factyPath+"/inv_1/cancel", `{"motivo":"02"}`, "X-API-Key", "fk_1").status)
		require.Equal(t, 500, b.post(factyPath+"/inv_1/cancel", `{"motivo":"02"}`, "X-API-Key", "fk_1").status)
		require.Len(t, b.Ledger(), 1)
	})
}
