package unavez_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// What a second call under one key meets.

// corrected performs the main write with other bytes.
func corrected(provider string) func(context.Context, *mockBundle, ...unavez.CallOption) (*result, error) {
	return func(ctx context.Context, b *mockBundle, options ...unavez.CallOption) (*result, error) {
		options = append(options, unavez.WithIdempotencyKey(testKey))
		if provider == atPayouts {
			params := payoutParams()
			params.Method = "transferencia"
			p, err := b.client.Payouts.Create(ctx, params, options...)
			return payoutResult(p), err
		}
		params := invoiceParams(provider)
		params.PaymentForm = "01"
		i, err := b.client.Invoices.Create(ctx, params, options...)
		return invoiceResult(i), err
	}
}

// endedWith is an earlier call that ended with a disposition after the answers.
func endedWith(c writeCase, sentinel error, answers ...reply) func(t *testing.T, b *mockBundle) {
	return func(t *testing.T, b *mockBundle) {
		t.Helper()
		b.play(answers...)
		_, err := c.do(t.Context(), b.client, testKey)
		if sentinel == nil {
			require.NoError(t, err)
			return
		}
		require.ErrorIs(t, err, sentinel)
	}
}

// unresolved is an earlier call whose outcome is unknown.
func unresolved(c writeCase) func(t *testing.T, b *mockBundle) {
	if c.provider == atFacty {
		return losingAtFacty
	}
	return losing(c)
}

func TestRowsCreateAgainWhenItIsDone(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		c := mainCase(t, provider)
		same := aDocumentWith(func(t *testing.T, got *result) { t.Helper(); require.Equal(t, c.success, string(got.Raw)) })
		done := endedWith(c, nil, answer(201, c.success))
		reused := refused(unavez.NotSent, unavez.NextReconcile).marked(unavez.ErrKeyReused)
		runRows(t, provider, []row{
			{fact: "the recorded document, without I/O", before: done, want: same},
			{fact: "the recorded document after a restart, without I/O", before: done, act: afterRestart(c), want: same},
			{fact: "other bytes are Refused, without I/O", before: done, act: corrected(provider), want: reused},
		})
	}
}

func TestRowsCreateAgainWhileTheOutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	for _, provider := range resenders() {
		c := mainCase(t, provider)
		runRows(t, provider, []row{{
			fact: "the same bytes are sent", before: losing(c), answers: then(answer(201, c.success)), sends: []float64{0}, want: aDocument(),
		}})
	}
	runRows(t, atFacty, []row{
		{fact: "stamped: nothing is sent", before: losingAtFacty, answers: then(stamped()), looks: []float64{0}, want: aDocument()},
		{
			fact: "empty twice: the same bytes are sent", before: losingAtFacty, answers: then(repeated(2, emptyList()), answer(201, mainCase(t, atFacty).success)),
			looks: []float64{0, 1}, sends: []float64{1}, want: aDocument(),
		},
	})
	for _, provider := range allProviders() {
		runRows(t, provider, []row{{
			fact: "other bytes are for a person, without I/O", before: unresolved(mainCase(t, provider)), act: corrected(provider),
			want: review(unavez.Unknown, unavez.ReasonKeyReused, unavez.NextReconcile).marked(unavez.ErrKeyReused),
		}})
	}
}

func TestRowsCreateAgainAfterARefusal(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		c := mainCase(t, provider)
		reused := refused(unavez.NotSent, unavez.NextReconcile).marked(unavez.ErrKeyReused)
		unpaid := endedWith(c, unavez.ErrInsufficientBalance, answer(402, ""))
		rows := []row{
			{fact: "topped up: the same request is sent", before: unpaid, answers: then(answer(201, c.success)), sends: []float64{0}, want: aDocument()},
			{fact: "402 does not take other bytes under its key", before: unpaid, act: corrected(provider), want: reused},
			{
				fact: "credentials mended: the same request is sent", before: endedWith(c, unavez.ErrUnauthorized, answer(401, "")), answers: then(answer(201, c.success)),
				sends: []float64{0}, want: aDocument(),
			},
		}
		runRows(t, provider, rows)
	}
	for provider, verdict := range map[string]reply{
		atIpsofactura: answer(400, ""), atPayouts: answer(422, errorBody(atPayouts, "x")), atFiscalisto: answer(422, errorBody(atFiscalisto, "invoice_rejected")),
	} {
		runRows(t, provider, []row{{
			fact: "NextFixNewKey does not take other bytes under its key", before: endedWith(mainCase(t, provider), unavez.ErrRefused, verdict), act: corrected(provider),
			want: refused(unavez.NotSent, unavez.NextReconcile).marked(unavez.ErrKeyReused),
		}})
	}
	invalid := map[string]reply{
		atFiscalisto: answer(422, errorBody(atFiscalisto, "invoice_invalid")), atFacty: answer(422, `{"fieldErrors":{"formaPago":"x"}}`),
	}
	for provider, verdict := range invalid {
		c := mainCase(t, provider)
		runRows(t, provider, []row{{
			fact: "NextFixSameKey takes corrected bytes under its key", before: endedWith(c, unavez.ErrRefused, verdict), act: corrected(provider),
			answers: then(answer(201, c.success)), sends: []float64{0}, want: aDocument(),
		}})
	}
}

func TestRowsCorrectedBytesAreKeptBesideTheFirstOnesInTheHistory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := mainCase(t, atFiscalisto)
		b := newMock(t, atFiscalisto)
		endedWith(c, unavez.ErrRefused, answer(422, errorBody(atFiscalisto, "invoice_invalid")))(t, b)
		first, err := b.journal.Load(t.Context(), b.client.RecordID(testKey))
		require.NoError(t, err)
		_, err = corrected(atFiscalisto)(t.Context(), b.play(answer(201, c.success)))
		require.NoError(t, err)
		second, err := b.journal.Load(t.Context(), b.client.RecordID(testKey))
		require.NoError(t, err)
		require.NotEqual(t, first.Fingerprint, second.Fingerprint)
		require.NotEmpty(t, second.History)
		require.Equal(t, first.Fingerprint, second.History[0].Fingerprint)
		require.Equal(t, unavez.StateDone, second.State)
	})
}

func TestRowsCreateAgainInReviewSendsNothing(t *testing.T) {
	t.Parallel()
	for _, provider := range resenders() {
		c := mainCase(t, provider)
		conflict := review(unavez.Unknown, unavez.ReasonConflict, unavez.NextReview).http(409, "X")
		lostThenReused := endedWith(c, unavez.ErrKeyReused, lostAnswer(), reusedAnswers()[provider])
		runRows(t, provider, []row{
			{fact: "after a conflict", before: inReview(c), want: conflict},
			{fact: "after a conflict and a restart", before: inReview(c), act: afterRestart(c), want: conflict},
			{
				fact: "after a conflict with other bytes", before: inReview(c), act: corrected(provider),
				want: review(unavez.Unknown, unavez.ReasonKeyReused, unavez.NextReconcile).marked(unavez.ErrKeyReused),
			},
			{
				fact: "after a reused key", before: lostThenReused,
				want: review(unavez.Unknown, unavez.ReasonKeyReused, unavez.NextReview).http(reusedAnswers()[provider].status, codeIn(provider, reusedAnswers()[provider])).marked(unavez.ErrKeyReused),
			},
		})
	}
	runRows(t, atPayouts, []row{{
		fact: "after a payout whose status is unknown", before: endedWith(mainCase(t, atPayouts), unavez.ErrOutcomeUnknown, answer(200, `{"id":"po_1","status":"unknown"}`)),
		want: review(unavez.Unknown, unavez.ReasonOutcomeUnknown, unavez.NextReview).http(200, "").marked(unavez.ErrOutcomeUnknown),
	}})
	factyReviews := map[unavez.Reason]reply{
		unavez.ReasonUnknownStatus: list(found("cancelled")), unavez.ReasonKeyMismatch: list(otherRow),
	}
	for reason, shown := range factyReviews {
		effect := unavez.Unknown
		if reason == unavez.ReasonDuplicate {
			effect = unavez.Executed
		}
		runRows(t, atFacty, []row{{
			fact: "after " + string(reason), before: endedWith(mainCase(t, atFacty), unavez.ErrNeedsManualReview, answer(500, ""), shown),
			want: review(effect, reason, unavez.NextReview).http(200, ""),
		}})
	}
	runRows(t, atFacty, []row{{
		fact: "after two rows", want: review(unavez.Executed, unavez.ReasonDuplicate, unavez.NextReview).http(200, ""),
		before: endedWith(mainCase(t, atFacty), unavez.ErrNeedsManualReview, answer(500, ""), list(found("stamped")+","+found("stamped"))),
	}, {
		fact: "after a contradiction", before: endedWith(mainCase(t, atFacty), unavez.ErrNeedsManualReview, answer(409, ""), emptyList(), emptyList()),
		want: review(unavez.Unknown, unavez.ReasonContradiction, unavez.NextReconcile).http(200, ""),
	}})
}

func TestRowsCreateAfterNeverArrivedSendsTheSameBytes(t *testing.T) {
	t.Parallel()
	neverArrived := func(t *testing.T, b *mockBundle) {
		t.Helper()
		losingAtFacty(t, b)
		_, err := b.play(emptyList()).client.Invoices.Reconcile(t.Context(), testKey)
		require.ErrorIs(t, err, unavez.ErrNeedsManualReview)
	}
	success := mainCase(t, atFacty).success
	runRows(t, atFacty, []row{
		{fact: "the same bytes", before: neverArrived, answers: then(answer(201, success)), sends: []float64{0}, want: aDocument()},
		{
			fact: "other bytes are not sent", before: neverArrived, act: corrected(atFacty),
			want: review(unavez.Unknown, unavez.ReasonKeyReused, unavez.NextReconcile).marked(unavez.ErrKeyReused),
		},
	})
}

func TestRowsCreateAgainAfterNotSentSendsWithoutALookup(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		c := mainCase(t, provider)
		runRows(t, provider, []row{{
			fact: "five refused dials, then Create", before: endedWith(c, unavez.ErrRetryLater, repeated(5, noConnection())...), answers: then(answer(201, c.success)),
			sends: []float64{0}, want: aDocument(),
		}})
	}
}

func TestRowsNoConnectionAfterAnEarlierAnswerIsNotExecutedAndNotNotSent(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		c := mainCase(t, provider)
		once := []unavez.CallOption{unavez.WithMaxAttempts(1)}
		runRows(t, provider, []row{
			{
				fact: "429 in an earlier call", before: endedWith(c, unavez.ErrRetryLater, repeated(5, slow())...), options: once, answers: then(noConnection()),
				sends: []float64{0}, want: retryLater(unavez.NotExecuted, unavez.NextResend, 1),
			},
			{
				fact: "no connection in an earlier call", before: endedWith(c, unavez.ErrRetryLater, repeated(5, noConnection())...), options: once,
				answers: then(noConnection()), sends: []float64{0}, want: retryLater(unavez.NotSent, unavez.NextResend, 1),
			},
		})
	}
}

func TestRowsAKeyHeldByAnotherClientIsRetryLater(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := mainCase(t, provider)
				b := newMock(t, provider).play(answer(201, c.success).late(10 * time.Second))
				first := make(chan error, 1)
				go func() {
					_, err := c.do(t.Context(), b.client, testKey)
					first <- err
				}()
				time.Sleep(time.Second)
				_, err := c.do(t.Context(), b.newClient(), testKey)
				e := requireError(t, err)
				require.Equal(t, unavez.RetryLater, e.Disposition)
				require.Empty(t, e.Attempts)
				require.NoError(t, <-first)
				require.Len(t, b.writes(), 1)
				got, err := c.do(t.Context(), b.newClient(), testKey)
				require.NoError(t, err)
				require.Equal(t, c.success, string(got.Raw))
			})
		})
	}
}

func TestRowsTwoCallersOfOneClientAreOneRequest(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := mainCase(t, provider)
				b := newMock(t, provider).play(answer(201, c.success).late(10 * time.Second))
				gone := errors.New("went home")
				answers := make(chan error, 8)
				for range cap(answers) {
					go func() {
						_, err := c.do(t.Context(), b.client, testKey)
						answers <- err
					}()
				}
				// One caller's cancellation does not end it for the others.
				_, err := cancelledAfter(c, time.Second, gone)(t.Context(), b)
				require.ErrorIs(t, err, gone)
				require.ErrorIs(t, err, unavez.ErrRetryLater)
				for range cap(answers) {
					require.NoError(t, <-answers)
				}
				require.Len(t, b.writes(), 1)
			})
		})
	}
}

func TestRowsUnresolvedAtAnotherProviderIsForAPerson(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		domain := unavez.WithDomainID("factura", "4471")
		first, second := newMock(t, atFiscalisto), newMock(t, atIpsofactura)
		elsewhere := newClient(t, atIpsofactura, testHost, second.transport, unavez.WithJournal(first.journal))
		_, err := first.play(lostAnswer()).client.Invoices.Create(t.Context(), invoiceParams(atFiscalisto), domain, unavez.WithMaxAttempts(1))
		require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)

		_, err = elsewhere.Invoices.Create(t.Context(), invoiceParams(atIpsofactura), domain)
		review(unavez.Unknown, unavez.ReasonOtherProvider, unavez.NextReview).require(t, nil, err)
		require.Empty(t, second.all(), "nothing is sent to the other provider")

		_, err = first.play(answer(422, errorBody(atFiscalisto, "invoice_rejected"))).client.Invoices.Create(t.Context(), invoiceParams(atFiscalisto), domain)
		require.ErrorIs(t, err, unavez.ErrRefused)
		second.play(answer(201, mainCase(t, atIpsofactura).success))
		_, err = elsewhere.Invoices.Create(t.Context(), invoiceParams(atIpsofactura), domain)
		require.NoError(t, err, "resolved there, it may go elsewhere")
	})
}
