package unavez_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/sandbox"
)

// What only one provider does, against the sandbox.

func TestRowsLedgerIpsofactura(t *testing.T) {
	t.Parallel()
	unknown := unknownOutcome(unavez.NextResend, 60).http(503, "STAMPING_OUTCOME_UNKNOWN")
	faults := func(faults ...sandbox.Fault) []sandbox.Fault { return faults }
	runLedgerRows(t, atIpsofactura, []ledgerRow{
		{fact: "CloseBefore", faults: faults(sandbox.CloseBefore()), sends: []float64{0, 1}, want: aDocument(), effects: 1},
		{fact: "ResetBefore", faults: faults(sandbox.ResetBefore()), sends: []float64{0, 1}, want: aDocument(), effects: 1},
		{fact: "HangBefore", faults: faults(sandbox.HangBefore()), sends: []float64{0, 31}, want: aDocument(), effects: 1},
		{fact: "closed before the body was read", faults: faults(sandbox.Refuse()), sends: []float64{0, 1}, want: aDocument(), effects: 1},
		{fact: "outcome unknown for a while", faults: faults(sandbox.StayPending(time.Minute)), sends: []float64{0}, want: unknown, effects: 1},
		{fact: "outcome unknown for ever", faults: faults(sandbox.OutcomeUnknown()), sends: []float64{0}, want: unknown},
		{fact: "rejected by SAT", faults: faults(sandbox.Reject("CFDI40147")), sends: []float64{0}, want: refused(unavez.NotExecuted, unavez.NextFixNewKey).http(422, "CFDI40147")},
		{
			fact: "400", faults: faults(sandbox.Status(400, "VALIDATION_ERROR")), sends: []float64{0},
			want: refused(unavez.NotExecuted, unavez.NextFixNewKey).http(400, "VALIDATION_ERROR"),
		},
	})
	for _, on := range []unavez.OperationName{unavez.InvoiceStampXML, unavez.PaymentCreate} {
		runLedgerRows(t, atIpsofactura, []ledgerRow{
			{fact: string(on) + " whose answer is lost", on: on, faults: faults(sandbox.CloseAfter()), sends: []float64{0, 1}, want: aDocument(), effects: 1},
			{fact: string(on) + " whose outcome is unknown", on: on, faults: faults(sandbox.StayPending(time.Minute)), sends: []float64{0}, want: unknown, effects: 1},
		})
	}
}

func TestRowsLedgerIpsofacturaUnknownOutcomeIsFoundOutLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, c := newSandbox(t), mainCase(t, atIpsofactura)
		client := b.client(atIpsofactura)
		b.server.Script(sandbox.StayPending(70 * time.Hour))
		_, err := c.do(t.Context(), client, testKey)
		require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
		for range 3 {
			time.Sleep(time.Hour)
			_, err = c.do(t.Context(), client, testKey)
			e := requireError(t, err)
			require.Equal(t, unavez.RetryLater, e.Disposition, "while it is being found out")
			require.Equal(t, "DUPLICATE_IN_PROGRESS", e.Code)
		}
		time.Sleep(70 * time.Hour)
		got, err := c.reconcile(t.Context(), client, testKey)
		require.NoError(t, err)
		require.Equal(t, b.server.Ledger()[0].UUID, got.UUID)
		require.Equal(t, 1, b.server.Effects(testKey))
	})
}

func TestRowsLedgerIpsofacturaUnknownOutcomeThatIsNeverFoundOutIsForAPerson(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, c := newSandbox(t), mainCase(t, atIpsofactura)
		client := b.client(atIpsofactura)
		b.server.Script(sandbox.OutcomeUnknown())
		_, err := c.do(t.Context(), client, testKey)
		require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
		time.Sleep(97 * time.Hour)
		_, err = c.do(t.Context(), client, testKey)
		keyExpired().require(t, nil, err)
		require.Equal(t, 1, b.writes(), "past 96 h the free key would stamp a second document")
		require.Empty(t, b.server.Ledger())
	})
}

func TestRowsLedgerIpsofacturaReconcileByIdentity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, c := newSandbox(t), mainCase(t, atIpsofactura)
		client := b.client(atIpsofactura)
		b.server.Script(sandbox.CloseAfter())
		_, err := c.do(t.Context(), client, testKey, unavez.WithMaxAttempts(1))
		require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
		reference := unavez.WithReference(unavez.InvoiceRef{Issuer: "EKU9003173C9", Series: "B", Folio: "77"})
		got, err := c.reconcile(t.Context(), client, testKey, reference, unavez.WithLookupOnly())
		require.NoError(t, err)
		require.Equal(t, b.server.Ledger()[0].UUID, got.UUID)
		require.Equal(t, 1, b.writes())
		require.Equal(t, 1, b.lookups())
	})
}

func TestRowsLedgerFiscalisto(t *testing.T) {
	t.Parallel()
	faults := func(faults ...sandbox.Fault) []sandbox.Fault { return faults }
	no := func(next unavez.Next, status int, code string) want {
		return refused(unavez.NotExecuted, next).http(status, code)
	}
	runLedgerRows(t, atFiscalisto, []ledgerRow{
		{fact: "CloseBefore", faults: faults(sandbox.CloseBefore()), sends: []float64{0, 1}, want: aDocument(), effects: 1},
		{fact: "HangBefore", faults: faults(sandbox.HangBefore()), sends: []float64{0, 31}, want: aDocument(), effects: 1},
		{fact: "closed before the body was read", faults: faults(sandbox.Refuse()), sends: []float64{0, 1}, want: aDocument(), effects: 1},
		{fact: "202, in progress, 201", faults: faults(sandbox.StayPending(5 * time.Second)), sends: []float64{0, 1, 4, 7}, want: aDocument(), effects: 1},
		{
			fact: "202, then rejected", faults: faults(sandbox.PendingThenFail(2 * time.Second)), sends: []float64{0, 1, 4},
			want: no(unavez.NextFixNewKey, 422, "invoice_rejected"),
		},
		{
			fact: "202 for ever", faults: faults(sandbox.OutcomeUnknown()), sends: []float64{0, 1, 4, 7, 10},
			want: unknownOutcome(unavez.NextResend, 3).http(409, "request_in_progress"),
		},
		{fact: "work that outlives the attempt", faults: faults(sandbox.Slow(33 * time.Second)), sends: []float64{0, 31, 34}, want: aDocument(), effects: 1},
		{fact: "invalid", faults: faults(sandbox.Reject("invoice_invalid")), sends: []float64{0}, want: no(unavez.NextFixSameKey, 422, "invoice_invalid")},
		{fact: "rejected", faults: faults(sandbox.Reject("invoice_rejected")), sends: []float64{0}, want: no(unavez.NextFixNewKey, 422, "invoice_rejected")},
	})
}

func TestRowsLedgerFiscalistoCorrectionsAndTopUps(t *testing.T) {
	t.Parallel()
	for _, step := range []struct {
		fact    string
		fault   sandbox.Fault
		correct bool
	}{
		{"invalid, then corrected under the same key", sandbox.Reject("invoice_invalid"), true},
		{"no stamps left, then the same request under the same key", sandbox.Status(402, ""), false},
		{"forbidden, then the same request under the same key", sandbox.Status(403, ""), false},
	} {
		t.Run(step.fact, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, params := newSandbox(t), invoiceParams(atFiscalisto)
				client := b.client(atFiscalisto)
				b.server.Script(step.fault)
				_, err := client.Invoices.Create(t.Context(), params, unavez.WithIdempotencyKey(testKey))
				require.ErrorIs(t, err, unavez.ErrRefused)
				if step.correct {
					params.PaymentForm = "01"
				}
				_, err = client.Invoices.Create(t.Context(), params, unavez.WithIdempotencyKey(testKey))
				require.NoError(t, err)
				require.Equal(t, 1, b.server.Effects(testKey))
			})
		})
	}
}

func TestRowsLedgerPayouts(t *testing.T) {
	t.Parallel()
	faults := func(faults ...sandbox.Fault) []sandbox.Fault { return faults }
	inFlight := unknownOutcome(unavez.NextResend, 60).http(409, "idempotency_request_in_flight")
	ladder := []float64{0, 1, 3, 7, 15}
	runLedgerRows(t, atPayouts, []ledgerRow{
		{fact: "CloseBefore stays in flight for a minute", faults: faults(sandbox.CloseBefore()), sends: ladder, want: inFlight},
		{fact: "ResetBefore stays in flight for a minute", faults: faults(sandbox.ResetBefore()), sends: ladder, want: inFlight},
		{fact: "HangBefore stays in flight for a minute", faults: faults(sandbox.HangBefore()), sends: []float64{0, 31, 33, 37, 45}, want: inFlight},
		{fact: "Interrupt stays in flight for a minute", faults: faults(sandbox.Interrupt()), sends: ladder, want: inFlight, effects: 1},
		{fact: "in flight, then the first answer", faults: faults(sandbox.StayPending(10 * time.Second)), sends: ladder, want: aDocument(), effects: 1},
		{fact: "work that outlives the attempt", faults: faults(sandbox.Slow(32 * time.Second)), sends: []float64{0, 31, 33}, want: aDocument(), effects: 1},
		{fact: "failed", faults: faults(sandbox.Reject("")), sends: []float64{0}, want: refused(unavez.NotExecuted, unavez.NextFixNewKey).http(200, "")},
		{
			fact: "unknown", faults: faults(sandbox.OutcomeUnknown()), sends: []float64{0}, effects: 1,
			want: review(unavez.Unknown, unavez.ReasonOutcomeUnknown, unavez.NextReview).http(200, "").marked(unavez.ErrOutcomeUnknown),
		},
		{fact: "502 provider_error", faults: faults(sandbox.Status(502, "provider_error")), sends: []float64{0, 1}, want: aDocument(), effects: 1},
		{fact: "503 no_provider_available", faults: faults(sandbox.Status(503, "no_provider_available")), sends: []float64{0, 1}, want: aDocument(), effects: 1},
	})
}

func TestRowsLedgerPayoutThatWasCutIsPaidOnceAfterAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, c := newSandbox(t), mainCase(t, atPayouts)
		client := b.client(atPayouts)
		b.server.Script(sandbox.CloseBefore())
		_, err := c.do(t.Context(), client, testKey)
		e := requireError(t, err)
		time.Sleep(e.RetryAfter)
		got, err := c.reconcile(t.Context(), client, testKey)
		require.NoError(t, err)
		require.Equal(t, b.server.Ledger()[0].ID, got.ID)
		require.Equal(t, 1, b.server.Effects(testKey))
	})
}

func TestRowsLedgerPayoutWhoseQuoteIsConsumedIsNeverPaidWithAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, c := newSandbox(t), mainCase(t, atPayouts)
		client := b.client(atPayouts)
		b.server.Script(sandbox.Interrupt())
		_, err := c.do(t.Context(), client, testKey)
		time.Sleep(requireError(t, err).RetryAfter)
		consumed := review(unavez.Unknown, unavez.ReasonConflict, unavez.NextReview).http(409, "quote_already_consumed")
		_, err = c.do(t.Context(), client, testKey)
		consumed.require(t, nil, err)
		sent := b.writes()
		_, err = c.do(t.Context(), client, testKey)
		consumed.require(t, nil, err)
		_, err = c.reconcile(t.Context(), client, testKey)
		consumed.require(t, nil, err)
		require.Equal(t, sent, b.writes(), "nothing is sent for an operation that waits for a person")
		require.Len(t, b.server.Ledger(), 1)
	})
}

func TestRowsLedgerPayoutWhoseStatusIsUnknownIsNeverSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, c := newSandbox(t), mainCase(t, atPayouts)
		client := b.client(atPayouts)
		b.server.Script(sandbox.OutcomeUnknown())
		for range 3 {
			_, err := c.do(t.Context(), client, testKey)
			require.ErrorIs(t, err, unavez.ErrNeedsManualReview)
			_, err = c.reconcile(t.Context(), client, testKey)
			require.ErrorIs(t, err, unavez.ErrNeedsManualReview)
			time.Sleep(time.Hour)
		}
		require.Equal(t, 1, b.writes())
		require.Equal(t, 1, b.server.Effects(testKey))
	})
}

func TestRowsLedgerFactyRejectedIsTriedAgainOnlyWithTheFlag(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, params := newSandbox(t), invoiceParams(atFacty)
		client := b.client(atFacty)
		key := unavez.WithIdempotencyKey(testKey)
		b.server.Script(sandbox.Reject("CFDI40147"))
		_, err := client.Invoices.Create(t.Context(), params, key)
		require.Equal(t, unavez.NextFixSameKey, requireError(t, err).Next)
		require.ErrorIs(t, err, unavez.ErrRefused)

		params.CFDIUse = "G01"
		_, err = client.Invoices.Create(t.Context(), params, key)
		e := requireError(t, err)
		require.Equal(t, unavez.ReasonFailed, e.Reason, "without the flag the key answers 409 and its row failed")
		require.Equal(t, unavez.NextFixSameKey, e.Next)
		require.Empty(t, b.server.Ledger(), "never re-stamped on the SDK's own initiative")

		params.AllowRetryOnFailed = true
		got, err := client.Invoices.Create(t.Context(), params, key)
		require.NoError(t, err)
		require.Equal(t, b.server.Ledger()[0].UUID, got.UUID)
		require.Equal(t, 1, b.server.Effects(testKey))
	})
}

func TestRowsLedgerFactyPaymentIsRecordedAndStampedUnderTwoKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, params := newSandbox(t), paymentParams(atFacty)
		client := b.client(atFacty)
		params.StampNow = false
		recorded, err := client.Payments.Create(t.Context(), params, unavez.WithIdempotencyKey("mi-erp:test:pago:1"))
		require.NoError(t, err)
		require.Empty(t, recorded.UUID)
		b.server.Script(sandbox.CloseAfter())
		stamp, err := client.Payments.Stamp(t.Context(), recorded.PaymentID, unavez.WithIdempotencyKey("mi-erp:test:pago-timbre:1"))
		require.NoError(t, err)
		require.NotEmpty(t, stamp.UUID)
		require.Equal(t, 1, b.server.Effects("mi-erp:test:pago:1"))
		require.Equal(t, 1, b.server.Effects("mi-erp:test:pago-timbre:1"))
		require.Equal(t, 1, b.server.Stamps())
		require.Equal(t, 2, b.writes())
	})
}

func TestRowsLedgerFactyCancelIsSentOnceAndReadFromSATStatus(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newSandbox(t)
		client := b.client(atFacty)
		invoice, err := client.Invoices.Create(t.Context(), invoiceParams(atFacty), unavez.WithIdempotencyKey(testKey))
		require.NoError(t, err)
		b.server.Script(sandbox.CloseAfter())
		_, err = client.Invoices.Cancel(t.Context(), &unavez.CancelParams{ID: invoice.ID, Motive: "02"}, unavez.WithIdempotencyKey("mi-erp:test:cancelacion:1"))
		require.NoError(t, err)
		require.Equal(t, 2, b.writes(), "one invoice, one cancellation")
		require.Len(t, b.server.Ledger(), 2)
		b.server.Script(sandbox.CloseBefore())
		other, err := client.Invoices.Create(t.Context(), invoiceParams(atFacty), unavez.WithIdempotencyKey("mi-erp:test:factura:2"))
		require.NoError(t, err)
		b.server.Script(sandbox.CloseBefore())
		_, err = client.Invoices.Cancel(t.Context(), &unavez.CancelParams{ID: other.ID, Motive: "02"}, unavez.WithIdempotencyKey("mi-erp:test:cancelacion:2"))
		unknown := requireError(t, err)
		require.Equal(t, unavez.RetryLater, unknown.Disposition)
		require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
		require.Len(t, b.server.Ledger(), 3, "the second cancellation never arrived and was not sent again")
	})
}

func TestRowsLedgerTwoReplicasWithSeparateJournals(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, c := newSandbox(t), mainCase(t, provider)
				b.server.Script(sandbox.Slow(2 * time.Second))
				type answered struct {
					got *result
					err error
				}
				answers := make(chan answered, 2)
				for range cap(answers) {
					go func() {
						got, err := c.do(t.Context(), b.client(provider), testKey)
						answers <- answered{got, err}
					}()
				}
				first, second := <-answers, <-answers
				require.NoError(t, first.err)
				require.NoError(t, second.err)
				require.Equal(t, first.got.ID, second.got.ID, "whoever gets a document gets the same one")
				require.Equal(t, first.got.UUID, second.got.UUID)
				require.Equal(t, 1, b.server.Effects(testKey))
			})
		})
	}
}

func TestRowsLedgerAReplicaWithOtherBytesIsToldSo(t *testing.T) {
	t.Parallel()
	for _, provider := range resenders() {
		synctest.Test(t, func(t *testing.T) {
			b, c := newSandbox(t), mainCase(t, provider)
			_, err := c.do(t.Context(), b.client(provider), testKey)
			require.NoError(t, err)
			other := &mockBundle{tb: t, provider: provider, client: b.client(provider)}
			_, err = corrected(provider)(t.Context(), other)
			e := requireError(t, err)
			require.Equal(t, unavez.Refused, e.Disposition)
			require.Equal(t, unavez.NextReconcile, e.Next)
			require.ErrorIs(t, err, unavez.ErrKeyReused)
			require.Equal(t, 2, b.writes())
			require.Equal(t, 1, b.server.Effects(testKey))
		})
	}
}
