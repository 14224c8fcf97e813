package unavez_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// Facty's writes beside the invoice, the failed key that a person tries again, and plain reads.

func TestRowsFactyPaymentsStampsAndRetentions(t *testing.T) {
	t.Parallel()
	for _, on := range []unavez.OperationName{unavez.PaymentCreate, unavez.PaymentStamp, unavez.RetentionCreate} {
		c := caseOf(t, atFacty, on)
		fact := func(text string) string { return string(on) + " " + text }
		runRows(t, atFacty, []row{
			{fact: fact("is the document"), on: on, answers: then(answer(201, c.success)), sends: []float64{0}, want: aDocument()},
			{fact: fact("refused dial is sent again"), on: on, answers: then(noConnection(), answer(201, c.success)), sends: []float64{0, 1}, want: aDocument()},
			{fact: fact("429 is sent again"), on: on, answers: then(slow(), answer(201, c.success)), sends: []float64{0, 1}, want: aDocument()},
			{
				fact: fact("row with our key is believed, its paymentId may be missing"), on: on, answers: then(lostAnswer(), stamped()), sends: []float64{0}, looks: []float64{0},
				want: aDocumentWith(func(t *testing.T, got *result) {
					t.Helper()
					require.Equal(t, testUUID, got.UUID)
					require.Empty(t, got.PaymentID)
				}),
			},
			{
				fact: fact("empty list is no proof: no resend"), on: on, answers: then(lostAnswer(), repeated(2, emptyList())), sends: []float64{0}, looks: []float64{0, 1},
				want: unknownOutcome(unavez.NextReconcile, 1).http(200, ""),
			},
			{
				fact: fact("failed row is for a person, without the flag"), on: on, answers: then(answer(409, ""), failed()), sends: []float64{0}, looks: []float64{0},
				want: review(unavez.NotExecuted, unavez.ReasonFailed, unavez.NextReview).http(200, ""),
			},
			{
				fact: fact("pending is asked again"), on: on, answers: then(answer(504, ""), pending(), stamped()), sends: []float64{0}, looks: []float64{0, 1}, want: aDocument(),
			},
			{
				fact: fact("empty list from Reconcile is no proof either"), on: on, answers: then(emptyList()), looks: []float64{0}, before: losingAtFactyAs(c),
				act: func(ctx context.Context, b *mockBundle, options ...unavez.CallOption) (*result, error) {
					return c.reconcile(ctx, b.client, testKey, options...)
				},
				want: unknownOutcome(unavez.NextReconcile, 1).http(200, ""),
			},
		})
	}
}

func losingAtFactyAs(c writeCase) func(t *testing.T, b *mockBundle) {
	return func(t *testing.T, b *mockBundle) {
		t.Helper()
		b.play(lostAnswer(), answer(403, ""))
		_, err := c.do(t.Context(), b.client, testKey)
		require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
	}
}

func TestRowsFactyPaymentThatIsOnlyRecorded(t *testing.T) {
	t.Parallel()
	create := func(stampNow bool) func(context.Context, *mockBundle, ...unavez.CallOption) (*result, error) {
		return func(ctx context.Context, b *mockBundle, options ...unavez.CallOption) (*result, error) {
			params := paymentParams(atFacty)
			params.StampNow = stampNow
			p, err := b.client.Payments.Create(ctx, params, append(options, unavez.WithIdempotencyKey(testKey))...)
			return paymentResult(p), err
		}
	}
	on := unavez.PaymentCreate
	runRows(t, atFacty, []row{
		{
			fact: "paymentId is its proof", on: on, act: create(false), answers: then(answer(201, `{"paymentId":"pay_1","uuid":null}`)), sends: []float64{0},
			want: aDocumentWith(func(t *testing.T, got *result) { t.Helper(); require.Equal(t, "pay_1", got.PaymentID) }),
		},
		{
			fact: "paymentId with a word of its own is proof as well", on: on, act: create(false), answers: then(answer(201, `{"paymentId":"pay_1","status":"pending"}`)),
			sends: []float64{0}, want: aDocument(),
		},
		{
			fact: "an id beside the code of a stamp that was made before proves nothing", on: on, act: create(false),
			answers: then(answer(201, `{"paymentId":"pay_1","code":"CFDI307"}`), stamped()), sends: []float64{0}, looks: []float64{0}, want: aDocument(),
		},
		{
			fact: "a stamp that was asked for is not proved by paymentId", on: on, act: create(true), answers: then(answer(201, `{"paymentId":"pay_1"}`), stamped()),
			sends: []float64{0}, looks: []float64{0}, want: aDocument(),
		},
	})
}

func TestRowsFactyCancel(t *testing.T) {
	t.Parallel()
	on := unavez.InvoiceCancel
	sat := func(word string) reply {
		return answer(200, `{"estado":"`+word+`","esCancelable":"x","cached":true,"checkedAt":"2026-08-11T10:20:30"}`)
	}
	const hint = "sat-status"
	runRows(t, atFacty, []row{
		{fact: "2xx object is the cancellation", on: on, answers: then(answer(200, `{"ok":true}`)), sends: []float64{0}, want: aDocument()},
		{fact: "refused dial is sent again", on: on, answers: then(noConnection(), answer(200, `{}`)), sends: []float64{0, 1}, want: aDocument()},
		{fact: "lost, then Cancelado", on: on, answers: then(lostAnswer(), sat("Cancelado")), sends: []float64{0}, looks: []float64{0}, want: aDocument()},
		{
			fact: "lost, then Cancelado with the key of the invoice", on: on, looks: []float64{0}, sends: []float64{0},
			answers: then(lostAnswer(), answer(200, `{"estado":"Cancelado","idempotencyKey":"mi-erp:test:factura:1"}`)), want: aDocument(),
		},
		{
			fact: "lost, then Vigente: never sent again", on: on, answers: then(lostAnswer(), sat("Vigente")), sends: []float64{0}, looks: []float64{0},
			want: unknownOutcome(unavez.NextReconcile, 1).http(200, "").with(explains(hint)).saying("the provider's record does not prove the outcome"),
		},
		{
			fact: "lost, then No Encontrado: never sent again", on: on, answers: then(lostAnswer(), sat("No Encontrado")), sends: []float64{0}, looks: []float64{0},
			want: unknownOutcome(unavez.NextReconcile, 1).http(200, "").with(explains(hint)).saying("the provider's record does not prove the outcome"),
		},
		{
			fact: "lost, then a lookup that never answers", on: on, answers: then(lostAnswer(), repeated(5, lostAnswer())), sends: []float64{0}, looks: []float64{0, 1, 3, 7, 15},
			want: unknownOutcome(unavez.NextReconcile, 8).with(explains(hint)),
		},
		{
			fact: "409 is never sent again", on: on, answers: then(answer(409, ""), sat("Vigente")), sends: []float64{0}, looks: []float64{0},
			want: unknownOutcome(unavez.NextReconcile, 1).http(200, "").with(explains(hint)),
		},
		{
			fact: "lost, then a word that is not listed", on: on, answers: then(lostAnswer(), sat("Cancelado sin aceptación")), sends: []float64{0}, looks: []float64{0},
			want: review(unavez.Unknown, unavez.ReasonUnknownStatus, unavez.NextReview).http(200, ""),
		},
		{fact: "422 with fieldErrors", on: on, answers: then(answer(422, `{"fieldErrors":{"motivo":"x"}}`)), sends: []float64{0}, want: refused(unavez.NotExecuted, unavez.NextFixSameKey).http(422, "")},
	})
}

func explains(text string) func(t *testing.T, e *unavez.Error) {
	return func(t *testing.T, e *unavez.Error) {
		t.Helper()
		require.Contains(t, e.Error()+e.Explain(), text, "the error names where to look")
	}
}

func TestRowsFactyCancelReadsTheCachedStatusAndCarriesNoKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMock(t, atFacty).play(lostAnswer(), answer(200, `{"estado":"Cancelado"}`))
		_, err := caseOf(t, atFacty, unavez.InvoiceCancel).do(t.Context(), b.client, testKey)
		require.NoError(t, err)
		require.Equal(t, `{"motivo":"02"}`, b.writes()[0].Body)
		require.NotContains(t, b.writes()[0].Header, "Idempotency-Key")
		require.Equal(t, "/authenticated/acme/invoices/inv_1/sat-status", b.lookups()[0].Path, "never with force, which costs a stamp")
	})
}

func TestRowsFactyPaymentCancelIsNeverResent(t *testing.T) {
	t.Parallel()
	on := unavez.PaymentCancel
	runRows(t, atFacty, []row{
		{fact: "2xx object is the cancellation", on: on, answers: then(answer(200, `{}`)), sends: []float64{0}, want: aDocument()},
		{
			fact: "lost: nothing is sent and nothing can be looked up", on: on, answers: then(lostAnswer()), sends: []float64{0},
			want: unknownOutcome(unavez.NextReconcile, 1).with(explains("sat-status")),
		},
		{
			fact: "503: nothing is sent", on: on, answers: then(answer(503, "")), sends: []float64{0}, want: unknownOutcome(unavez.NextReconcile, 1).http(503, ""),
		},
		{
			fact: "409: nothing is sent", on: on, answers: then(answer(409, "")), sends: []float64{0}, want: unknownOutcome(unavez.NextReconcile, 1).http(409, ""),
		},
		{fact: "refused dial is sent again", on: on, answers: then(noConnection(), answer(200, `{}`)), sends: []float64{0, 1}, want: aDocument()},
		{
			fact: "again after a lost one: a person decides", on: on, before: endedWith(caseOf(t, atFacty, on), unavez.ErrOutcomeUnknown, lostAnswer()),
			want: review(unavez.Unknown, unavez.ReasonOutcomeUnknown, unavez.NextReview).marked(unavez.ErrOutcomeUnknown).with(explains("sat-status")),
		},
	})
}

// failing is an earlier call that ended with the row failed.
func failing(t *testing.T, b *mockBundle) {
	t.Helper()
	b.play(answer(409, ""), failed())
	_, err := mainCase(t, atFacty).do(t.Context(), b.client, testKey)
	require.ErrorIs(t, err, unavez.ErrNeedsManualReview)
}

// retrying creates again with the flag of a person, and with a corrected body if a use is given.
func retrying(use string) func(context.Context, *mockBundle, ...unavez.CallOption) (*result, error) {
	return func(ctx context.Context, b *mockBundle, options ...unavez.CallOption) (*result, error) {
		params := invoiceParams(atFacty)
		params.AllowRetryOnFailed = true
		if use != "" {
			params.CFDIUse = use
		}
		i, err := b.client.Invoices.Create(ctx, params, append(options, unavez.WithIdempotencyKey(testKey))...)
		return invoiceResult(i), err
	}
}

func TestRowsFactyAllowRetryOnFailed(t *testing.T) {
	t.Parallel()
	success := mainCase(t, atFacty).success
	runRows(t, atFacty, []row{
		{fact: "without the flag nothing is sent", before: failing, want: review(unavez.NotExecuted, unavez.ReasonFailed, unavez.NextFixSameKey).http(200, "")},
		{fact: "with the flag the same request is sent under the same key", before: failing, act: retrying(""), answers: then(answer(201, success)), sends: []float64{0}, want: aDocument()},
		{fact: "with the flag a corrected request is sent under the same key", before: failing, act: retrying("G01"), answers: then(answer(201, success)), sends: []float64{0}, want: aDocument()},
		{
			fact: "with the flag and a lost answer, a row that still says failed is looked at twice", before: failing, act: retrying(""),
			answers: then(lostAnswer(), failed(), stamped()), sends: []float64{0}, looks: []float64{0, 1}, want: aDocument(),
		},
		{
			fact: "with the flag and a lost answer, a row that says failed twice may be the one from before", before: failing, act: retrying(""),
			answers: then(lostAnswer(), failed(), failed()), sends: []float64{0}, looks: []float64{0, 1}, want: failedBefore(),
		},
		{
			fact: "with the flag and a 503, a row that says failed twice may be the one from before", before: failing, act: retrying(""),
			answers: then(answer(503, ""), failed(), failed()), sends: []float64{0}, looks: []float64{0, 1}, want: failedBefore(),
		},
		{
			fact: "with the flag and a 409, failed again is for a person again", before: failing, act: retrying(""),
			answers: then(answer(409, ""), failed(), failed()), sends: []float64{0}, looks: []float64{0, 1},
			want: review(unavez.NotExecuted, unavez.ReasonFailed, unavez.NextFixSameKey).http(200, ""),
		},
		{
			fact: "with the flag, after that, the same request may be tried again", before: failingTwice, act: retrying("G01"), answers: then(answer(201, success)),
			sends: []float64{0}, want: aDocument(),
		},
		{
			fact: "with the flag, after that, another document is not sent", before: failingTwice, act: retrying("G03"),
			want: review(unavez.Unknown, unavez.ReasonKeyReused, unavez.NextReconcile).marked(unavez.ErrKeyReused),
		},
		{
			fact: "without the flag, after that, nothing is sent", before: failingTwice, want: review(unavez.Unknown, unavez.ReasonKeyReused, unavez.NextReconcile).marked(unavez.ErrKeyReused),
		},
		{
			fact: "Reconcile, after that, finds what became of it", before: failingTwice, act: reconciling, answers: then(stamped()), looks: []float64{0}, want: aDocument(),
		},
		{
			fact: "Reconcile, after that, is not told more by the same row", before: failingTwice, act: reconciling, answers: then(failed()), looks: []float64{0}, want: failedBefore(),
		},
		{
			fact: "with the flag, pending stays 409 and is waited for", before: failing, act: retrying(""), answers: then(answer(409, ""), pending(), stamped()),
			sends: []float64{0}, looks: []float64{0, 1}, want: aDocument(),
		},
		{
			fact: "with the flag, after it failed with the flag, a person has decided once more", act: retrying(""), answers: then(answer(201, success)), sends: []float64{0},
			before: func(t *testing.T, b *mockBundle) {
				t.Helper()
				_, err := retrying("")(t.Context(), b.play(answer(409, ""), failed(), failed()))
				require.ErrorIs(t, err, unavez.ErrNeedsManualReview)
			},
			want: aDocument(),
		},
		{fact: "with the flag from the start", act: retrying(""), answers: then(answer(201, success)), sends: []float64{0}, want: aDocument()},
		{
			fact: "with the flag, while the outcome is unknown, another document is not sent", before: losingAtFacty, act: retrying("G01"),
			want: review(unavez.Unknown, unavez.ReasonKeyReused, unavez.NextReconcile).marked(unavez.ErrKeyReused),
		},
		{
			fact: "with the flag, while the outcome is unknown, what is recorded is looked up", before: losingAtFacty, act: retrying(""),
			answers: then(stamped()), looks: []float64{0}, want: aDocument(),
		},
		{
			fact: "with the flag, while the outcome is unknown, a look that finds it failed asks the person again", before: losingAtFacty, act: retrying(""),
			answers: then(failed()), looks: []float64{0}, want: review(unavez.NotExecuted, unavez.ReasonFailed, unavez.NextFixSameKey).http(200, ""),
		},
		{
			fact: "with the flag, after success, the document is answered", act: retrying(""), want: aDocument(),
			before: func(t *testing.T, b *mockBundle) {
				t.Helper()
				_, err := mainCase(t, atFacty).do(t.Context(), b.play(answer(201, success)).client, testKey)
				require.NoError(t, err)
			},
		},
		{
			fact: "without the flag, after success with it, the document is answered", want: aDocument(),
			before: func(t *testing.T, b *mockBundle) {
				t.Helper()
				_, err := retrying("")(t.Context(), b.play(answer(201, success)))
				require.NoError(t, err)
			},
		},
		{
			fact: "without the flag, after a lost answer with it, what is recorded is looked up", answers: then(pending(), stamped()), looks: []float64{0, 1},
			want: aDocument(), before: losingWithFlag,
		},
		{
			fact: "without the flag, after a lost answer with it, a row that says failed may be the one from before", answers: then(failed(), failed()),
			looks: []float64{0, 1}, want: failedBefore(), before: losingWithFlag,
		},
	})
}

// failedBefore is how another try ends whose answer was lost, while the record still says failed.
func failedBefore() want {
	return review(unavez.Unknown, unavez.ReasonFailed, unavez.NextReview).http(200, "").marked(unavez.ErrOutcomeUnknown).with(explains("may be from before this try"))
}

// failingTwice is a try with corrected bytes that ended so.
func failingTwice(t *testing.T, b *mockBundle) {
	t.Helper()
	failing(t, b)
	_, err := retrying("G01")(t.Context(), b.play(lostAnswer(), failed(), failed()))
	require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
}

// losingWithFlag is an earlier call with a person's decision whose answer was lost.
func losingWithFlag(t *testing.T, b *mockBundle) {
	t.Helper()
	_, err := retrying("")(t.Context(), b.play(lostAnswer(), answer(403, "")))
	require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
}

func TestRowsFactyDecisionIsCarriedOutByNoOtherCall(t *testing.T) {
	t.Parallel()
	for status, sentinel := range map[int]error{429: unavez.ErrRetryLater, 402: unavez.ErrInsufficientBalance, 401: unavez.ErrUnauthorized, 400: unavez.ErrRefused} {
		synctest.Test(t, func(t *testing.T) {
			b := newMock(t, atFacty)
			_, err := retrying("")(t.Context(), b.play(answer(status, "")), unavez.WithMaxAttempts(1))
			require.ErrorIs(t, err, sentinel)
			_, err = mainCase(t, atFacty).do(t.Context(), b.play(answer(201, mainCase(t, atFacty).success)).client, testKey)
			require.NoError(t, err)
			require.Len(t, b.writes(), 2, "one write each")
			require.Contains(t, b.writes()[0].Body, "allowRetryOnFailed")
			require.NotContains(t, b.writes()[1].Body, "allowRetryOnFailed", "after %d, the call that decides nothing sends its own bytes", status)
		})
	}
}

func TestRowsFactyAllowRetryOnFailedIsOnTheWire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMock(t, atFacty)
		failing(t, b)
		_, err := retrying("")(t.Context(), b.play(answer(201, mainCase(t, atFacty).success)))
		require.NoError(t, err)
		require.NotContains(t, b.writes()[0].Body, "allowRetryOnFailed", "never on the SDK's own initiative")
		require.Contains(t, b.writes()[1].Body, `"idempotencyKey":"`+testKey+`","allowRetryOnFailed":true`)
	})
}

func TestRowsFactyCorrectionAfterFieldErrorsTakesTheSameKey(t *testing.T) {
	t.Parallel()
	invalid := func(t *testing.T, b *mockBundle) {
		t.Helper()
		b.play(answer(422, `{"fieldErrors":{"usoCfdi":"x"}}`))
		_, err := mainCase(t, atFacty).do(t.Context(), b.client, testKey)
		require.ErrorIs(t, err, unavez.ErrRefused)
	}
	success := mainCase(t, atFacty).success
	runRows(t, atFacty, []row{
		{fact: "with the flag", before: invalid, act: retrying("G01"), answers: then(answer(201, success)), sends: []float64{0}, want: aDocument()},
		{fact: "the same request again", before: invalid, answers: then(answer(201, success)), sends: []float64{0}, want: aDocument()},
	})
}

func TestRowsFactyExactBytes(t *testing.T) {
	t.Parallel()
	bodies := map[unavez.OperationName]string{
		unavez.InvoiceCreate: `{"type":"ingreso","idempotencyKey":"` + testKey + `","clientId":"cli_1","usoCfdi":"G03","formaPago":"03","metodoPago":"PUE",` +
			`"items":[{"quantity":2,"claveProdServ":"86121700","claveUnidad":"E48","description":"Servicio","unitPrice":150.50,"iva":0.16,"objetoImp":"02"}]}`,
		unavez.PaymentCreate: `{"accountId":"acc_1","fechaPago":"2026-08-11T10:20:30","formaPago":"03","monto":116.00,"idempotencyKey":"` + testKey + `","stamp":true,` +
			`"documents":[{"invoiceId":"inv_1","numParcialidad":1,"importeSaldoAnterior":116.00,"importePagado":116.00,"importeSaldoInsoluto":0.00}]}`,
		unavez.PaymentStamp:    `{"idempotencyKey":"` + testKey + `"}`,
		unavez.RetentionCreate: `{"cveRetenc":"25","idempotencyKey":"` + testKey + `"}`,
		unavez.InvoiceCancel:   `{"motivo":"02"}`,
		unavez.PaymentCancel:   `{"motivo":"02"}`,
	}
	for _, c := range writeCases(t, atFacty) {
		b := newMock(t, atFacty).play(answer(201, c.success))
		_, err := c.do(t.Context(), b.client, testKey)
		require.NoError(t, err)
		write := b.writes()[0]
		if c.operation == unavez.RetentionCreate { // the order of the two members is nobody's promise
			require.Contains(t, []string{bodies[c.operation], `{"idempotencyKey":"` + testKey + `","cveRetenc":"25"}`}, write.Body)
			continue
		}
		require.Equal(t, bodies[c.operation], write.Body, string(c.operation))
		require.Equal(t, c.path, write.Path)
		require.Equal(t, []string{testAPIKey}, write.Header["X-Api-Key"])
		require.NotContains(t, write.Header, "Idempotency-Key", "Facty's key travels in the body")
	}
}

func TestRowsOperationsThatAProviderLacks(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	key := unavez.WithIdempotencyKey(testKey)
	calls := map[unavez.OperationName]func(c *unavez.Client) error{
		unavez.InvoiceCreate: func(c *unavez.Client) error {
			_, err := c.Invoices.Create(ctx, &unavez.InvoiceParams{Raw: []byte(`{}`)}, key)
			return err
		},
		unavez.InvoiceStampXML: func(c *unavez.Client) error {
			_, err := c.Invoices.StampXML(ctx, &unavez.StampXMLParams{XML: []byte("<c/>")}, key)
			return err
		},
		unavez.InvoiceCancel: func(c *unavez.Client) error {
			_, err := c.Invoices.Cancel(ctx, &unavez.CancelParams{ID: "1", Motive: "02"}, key)
			return err
		},
		unavez.PaymentCreate: func(c *unavez.Client) error {
			_, err := c.Payments.Create(ctx, &unavez.PaymentParams{Raw: []byte(`{}`)}, key)
			return err
		},
		unavez.PaymentStamp: func(c *unavez.Client) error { _, err := c.Payments.Stamp(ctx, "pay_1", key); return err },
		unavez.PaymentCancel: func(c *unavez.Client) error {
			_, err := c.Payments.Cancel(ctx, &unavez.CancelParams{ID: "1", Motive: "02"}, key)
			return err
		},
		unavez.RetentionCreate: func(c *unavez.Client) error {
			_, err := c.Retentions.Create(ctx, &unavez.RetentionParams{Raw: []byte(`{}`)}, key)
			return err
		},
		unavez.PayoutCreate: func(c *unavez.Client) error { _, err := c.Payouts.Create(ctx, payoutParams(), key); return err },
	}
	for _, provider := range allProviders() {
		has := make(map[unavez.OperationName]bool)
		for _, c := range writeCases(t, provider) {
			has[c.operation] = true
		}
		for operation, call := range calls {
			if has[operation] {
				continue
			}
			err := call(newMock(t, provider).client)
			require.ErrorIs(t, err, errors.ErrUnsupported, "%s at %s", operation, provider)
			e := requireError(t, err)
			require.Equal(t, unavez.Refused, e.Disposition)
			require.Equal(t, unavez.NotSent, e.Effect)
		}
	}
}
