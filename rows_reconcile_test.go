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

// The table "Reconcile", at the provider that has a lookup by key.

const otherRow = `{"id":"inv_9","idempotencyKey":"mi-erp:test:factura:1","status":"stamped","uuid":"11111111-1111-4111-8111-111111111111"}`

// reconciling asks for the key of the tests through the invoices.
func reconciling(ctx context.Context, b *mockBundle, options ...unavez.CallOption) (*result, error) {
	return reconcileInvoice(ctx, b.client, testKey, options...)
}

// listedTwice is the answer to more than one row of ours: nothing is adopted, and a person is shown what there is.
func listedTwice(effect unavez.Effect, uuids ...string) want {
	return review(effect, unavez.ReasonDuplicate, unavez.NextReview).http(200, "").with(func(t *testing.T, e *unavez.Error) {
		t.Helper()
		require.Equal(t, uuids, e.UUIDs)
	})
}

// findings is the table: what a lookup finds and what Reconcile answers.
func findings() map[string]row {
	nothing := unknownOutcome(unavez.NextReconcile, 1)
	odd := func(reason unavez.Reason) want {
		return review(unavez.Unknown, reason, unavez.NextReview).http(200, "")
	}
	rows := map[string]row{
		"stamped and ours":             {answers: then(stamped()), want: aDocument()},
		"ours last":                    {answers: then(list(otherRow + "," + found("stamped"))), want: aDocument()},
		"ours first":                   {answers: then(list(found("stamped") + "," + otherRow)), want: aDocument()},
		"pending":                      {answers: then(pending()), want: retryLater(unavez.Unknown, unavez.NextReconcile, 1).http(200, "")},
		"pending with Retry-After":     {answers: then(pendingFor("7")), want: retryLater(unavez.Unknown, unavez.NextReconcile, 7).http(200, "")},
		"failed":                       {answers: then(failed()), want: review(unavez.NotExecuted, unavez.ReasonFailed, unavez.NextFixSameKey).http(200, "")},
		"empty list":                   {answers: then(emptyList()), want: review(unavez.Unknown, unavez.ReasonNeverArrived, unavez.NextResend).http(200, "")},
		"rows and none ours":           {answers: then(list(otherRow + "," + otherRow)), want: odd(unavez.ReasonKeyMismatch)},
		"more than one row of ours":    {answers: then(list(found("stamped") + "," + found("stamped"))), want: listedTwice(unavez.Executed, testUUID, testUUID)},
		"stamped and failed of ours":   {answers: then(list(found("failed") + "," + found("stamped"))), want: listedTwice(unavez.Executed, testUUID)},
		"two pending rows of ours":     {answers: then(list(found("pending") + "," + found("pending"))), want: listedTwice(unavez.Unknown)},
		"the lookup answers 500":       {answers: then(answer(500, "")), want: nothing.http(500, "")},
		"the lookup answers HTML":      {answers: then(answer(200, "<html/>")), want: nothing.http(200, "")},
		"the lookup is cut":            {answers: then(cutAnswer(200, `{"invoices":[`)), want: nothing.http(200, "")},
		"the lookup finds no host":     {answers: then(noConnection()), want: nothing},
		"the lookup is closed":         {answers: then(lostAnswer()), want: nothing},
		"the lookup is redirected":     {answers: then(answer(302, "", "Location: https://evil.example/")), want: nothing.http(302, "")},
		"the lookup is 401":            {answers: then(answer(401, "")), want: nothing.http(401, "").marked(unavez.ErrUnauthorized)},
		"the lookup is 404":            {answers: then(answer(404, "")), want: nothing.http(404, "")},
		"the lookup is 429":            {answers: then(slow("Retry-After: 45")), want: unknownOutcome(unavez.NextReconcile, 45).http(429, "")},
		"the lookup is 204":            {answers: then(answer(204, "")), want: nothing.http(204, "")},
		"failed row with a uuid":       {answers: then(list(`{"idempotencyKey":"` + testKey + `","status":"failed","uuid":"` + testUUID + `"}`)), want: odd(unavez.ReasonContradiction)},
		"stamped row without its uuid": {answers: then(list(`{"idempotencyKey":"` + testKey + `","status":"stamped","uuid":null}`)), want: nothing.http(200, "")},
	}
	for _, word := range []string{`"cancelled"`, `"valid"`, `"STAMPED"`, `"Stamped "`, `""`, `null`, `7`, `["stamped"]`, `{"a":1}`, `true`} {
		rows["status word "+word] = row{
			answers: then(list(`{"idempotencyKey":"` + testKey + `","status":` + word + `,"uuid":"` + testUUID + `"}`)), want: odd(unavez.ReasonUnknownStatus),
		}
	}
	rows["row without a status"] = row{answers: then(list(`{"idempotencyKey":"` + testKey + `","uuid":"` + testUUID + `"}`)), want: odd(unavez.ReasonUnknownStatus)}
	for _, echo := range []string{`null`, `""`, `"mi-erp:test:factura:44711"`, `"MI-ERP:test:factura:4471"`, `" mi-erp:test:factura:4471"`, `["` + testKey + `"]`} {
		rows["echo "+echo] = row{
			answers: then(list(`{"idempotencyKey":` + echo + `,"status":"stamped","uuid":"` + testUUID + `"}`)), want: odd(unavez.ReasonKeyMismatch),
		}
	}
	for _, body := range []string{
		`{}`, `{"invoices":null}`, `{"data":[{"a":1}]}`, `{"invoices":[],"next":"p2"}`, `[]`, `{"invoices":{"a":1}}`, `{"invoices":"x"}`, `{"Invoices":[]}`,
		`{"invoices":[],"hasMore":true}`, `{"invoices":[null]}`, `{"invoices":["x"]}`, `{"invoices":[[]]}`, `null`, `7`, `{"invoices":[],"invoices":[]}`,
		`{"invoices":[],"total":3}`, `{"invoices":[],"nextCursor":"a"}`, `{"error":"x"}`, found("stamped"),
	} {
		rows["shape "+body] = row{answers: then(answer(200, body)), want: nothing.http(200, "")}
	}
	return rows
}

func TestRowsReconcileWithoutARecord(t *testing.T) {
	t.Parallel()
	var rows []row
	for name, r := range findings() {
		r.fact, r.act, r.looks = name, reconciling, []float64{0}
		rows = append(rows, r)
	}
	runRows(t, atFacty, rows)
}

func TestRowsReconcileOfAnOperationWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	var rows []row
	for name, r := range findings() {
		r.fact, r.act, r.looks, r.before = name, reconciling, []float64{0}, losingAtFacty
		rows = append(rows, r)
	}
	runRows(t, atFacty, rows)
}

// losingAtFacty is an earlier call whose answer was lost, and whose lookup taught nothing.
func losingAtFacty(t *testing.T, b *mockBundle) {
	t.Helper()
	b.play(lostAnswer(), answer(403, ""))
	_, err := mainCase(t, atFacty).do(t.Context(), b.client, testKey)
	require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
}

func TestRowsReconcileDoesNotLetAnEmptyListClearWhatWasSeen(t *testing.T) {
	t.Parallel()
	var rows []row
	for name, shown := range map[string]reply{
		"failed": failed(), "a word that is not listed": list(found("cancelled")), "somebody else's row": list(otherRow), "two rows": list(found("stamped") + "," + found("stamped")),
	} {
		rows = append(rows, row{
			fact: name, before: endedWith(mainCase(t, atFacty), unavez.ErrNeedsManualReview, answer(500, ""), shown), act: reconciling, answers: then(emptyList()),
			looks: []float64{0}, want: review(unavez.Unknown, unavez.ReasonContradiction, unavez.NextReview).http(200, ""),
		})
	}
	runRows(t, atFacty, rows)
}

func TestRowsReconcileAsksOnceUnderTheEscapedKey(t *testing.T) {
	t.Parallel()
	const key = "mi-erp:test:a%2Fb/c~d&e"
	b := newMock(t, atFacty).play(list(`{"id":"inv_1","idempotencyKey":"` + key + `","status":"stamped","uuid":"` + testUUID + `"}`))
	got, err := b.client.Invoices.Reconcile(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, testUUID, got.UUID)
	look := b.lookups()[0]
	require.Equal(t, "/authenticated/acme/invoices?idempotencyKey=mi-erp%3Atest%3Aa%252Fb%2Fc~d%26e", look.Path)
	require.Equal(t, []string{testAPIKey}, look.Header["X-Api-Key"])
	require.Empty(t, look.Body)
}

func TestRowsReconcileOfAnyKindSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for _, c := range writeCases(t, atFacty)[:4] {
		synctest.Test(t, func(t *testing.T) {
			b := newMock(t, atFacty).play(lostAnswer(), answer(403, ""), stamped())
			_, err := c.do(t.Context(), b.client, testKey)
			require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)
			outcome, err := b.client.Reconcile(t.Context(), testKey)
			require.NoError(t, err)
			require.Equal(t, string(c.operation), outcome.Operation)
			require.Equal(t, found("stamped"), string(outcome.Raw))
			require.Equal(t, c.operation == unavez.InvoiceCreate, outcome.Invoice != nil)
			require.Equal(t, c.operation == unavez.PaymentCreate || c.operation == unavez.PaymentStamp, outcome.Payment != nil)
			require.Equal(t, c.operation == unavez.RetentionCreate, outcome.Retention != nil)
			require.Nil(t, outcome.Payout)
			require.Nil(t, outcome.Cancellation)
		})
	}
}

func TestRowsReconcileOfAKeyOfWhichNothingIsKnown(t *testing.T) {
	t.Parallel()
	asking := func(ctx context.Context, b *mockBundle, options ...unavez.CallOption) (*result, error) {
		outcome, err := b.client.Reconcile(ctx, testKey, options...)
		if err != nil {
			return nil, err
		}
		return invoiceResult(outcome.Invoice), nil
	}
	once := []float64{0}
	runRows(t, atFacty, []row{
		{fact: "stamped", act: asking, answers: then(stamped()), looks: once, want: aDocument()},
		{fact: "pending", act: asking, answers: then(pending()), looks: once, want: retryLater(unavez.Unknown, unavez.NextReconcile, 1).http(200, "")},
		{
			fact: "failed: the same key is offered for invoices alone, and it may be none", act: asking, answers: then(failed()), looks: once,
			want: review(unavez.NotExecuted, unavez.ReasonFailed, unavez.NextReview).http(200, ""),
		},
		{
			fact: "an empty list proves nothing, as it may be no invoice", act: asking, answers: then(emptyList()), looks: once,
			want: unknownOutcome(unavez.NextReconcile, 1).http(200, "").saying("does not document as proof"),
		},
		{
			fact: "the caller leaves", act: asking, answers: then(silence()), looks: once, deadline: 2 * time.Second, ends: 2,
			want: retryLater(unavez.Unknown, unavez.NextReconcile, 1).marked(unavez.ErrOutcomeUnknown).causedBy(context.DeadlineExceeded).saying("the caller's context ended"),
		},
	})
}

func TestRowsCauseOfACallerWhoLeavesALookupIsKept(t *testing.T) {
	t.Parallel()
	closing := errors.New("the shop closes")
	for name, before := range map[string]func(*testing.T, *mockBundle){"without a record": nil, "with a record": losingAtFacty} {
		synctest.Test(t, func(t *testing.T) {
			b := newMock(t, atFacty)
			if before != nil {
				before(t, b)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(closing) })
			_, err := b.play(silence()).client.Invoices.Reconcile(ctx, testKey)
			require.ErrorIs(t, err, closing, name)
			require.ErrorIs(t, err, unavez.ErrRetryLater, name)
		})
	}
}

func TestRowsTransportErrorOfALookupIsKept(t *testing.T) {
	t.Parallel()
	for _, sent := range []reply{noConnection(), lostAnswer()} {
		b := newMock(t, atFacty).play(sent)
		_, err := b.client.Invoices.Reconcile(t.Context(), testKey)
		require.ErrorIs(t, err, sent.err)
	}
}

func TestRowsReconcileOfAWriteThatNothingDocumentsSendsNothing(t *testing.T) {
	t.Parallel()
	c := caseOf(t, atFacty, unavez.PaymentCancel)
	runRows(t, atFacty, []row{{
		fact: "a cancellation of a payment", on: unavez.PaymentCancel, before: endedWith(c, unavez.ErrOutcomeUnknown, lostAnswer()),
		act: func(ctx context.Context, b *mockBundle, options ...unavez.CallOption) (*result, error) {
			_, err := b.client.Reconcile(ctx, testKey, options...)
			return nil, err
		},
		want: review(unavez.Unknown, unavez.ReasonOutcomeUnknown, unavez.NextReview).marked(unavez.ErrOutcomeUnknown).with(explains("sat-status")),
	}})
}

func TestRowsReconcileOfAnotherKindSendsNothing(t *testing.T) {
	t.Parallel()
	runRows(t, atFacty, []row{{
		fact: "the key of an invoice asked for as a payment", before: losingAtFacty,
		act: func(ctx context.Context, b *mockBundle, options ...unavez.CallOption) (*result, error) {
			return reconcilePayment(ctx, b.client, testKey, options...)
		},
		want: review(unavez.Unknown, unavez.ReasonKeyReused, unavez.NextReconcile).marked(unavez.ErrKeyReused).saying(`"invoices.create", of which Client.Reconcile tells`),
	}})
}

func TestRowsReconcileOfADoneOperationIsAnsweredFromTheJournal(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		c := mainCase(t, provider)
		runRows(t, provider, []row{{
			fact: "without I/O",
			before: func(t *testing.T, b *mockBundle) {
				t.Helper()
				b.play(answer(201, c.success))
				_, err := c.do(t.Context(), b.client, testKey)
				require.NoError(t, err)
			},
			act: func(ctx context.Context, b *mockBundle, options ...unavez.CallOption) (*result, error) {
				return c.reconcile(ctx, b.client, testKey, options...)
			},
			want: aDocumentWith(func(t *testing.T, got *result) { t.Helper(); require.Equal(t, c.success, string(got.Raw)) }),
		}})
	}
}

func TestRowsReconcileBySendingTheRecordedBytes(t *testing.T) {
	t.Parallel()
	for _, provider := range resenders() {
		c := mainCase(t, provider)
		reconcile := func(ctx context.Context, b *mockBundle, options ...unavez.CallOption) (*result, error) {
			return c.reconcile(ctx, b.newClient(), testKey, options...)
		}
		unknown := unknownOutcome(unavez.NextResend, afterLoss(provider, 8))
		runRows(t, provider, []row{
			{fact: "the document", before: losing(c), act: reconcile, answers: then(answer(201, c.success)), sends: []float64{0}, want: aDocument()},
			{fact: "waits as Create does", before: losing(c), act: reconcile, answers: then(inFlightAnswers()[provider], answer(201, c.success)), sends: []float64{0, 1}, want: aDocument()},
			{fact: "lost again and again", before: losing(c), act: reconcile, answers: repeated(5, lostAnswer()), sends: []float64{0, 1, 3, 7, 15}, want: unknown},
			{
				fact: "WithLookupOnly sends nothing", before: losing(c), act: reconcile, options: []unavez.CallOption{unavez.WithLookupOnly()},
				want: unknownOutcome(unavez.NextReconcile, afterLoss(provider, 1)),
			},
			{
				fact: "an operation that waits for a person is not sent", before: inReview(c), act: reconcile,
				want: review(unavez.Unknown, unavez.ReasonConflict, unavez.NextReview).http(409, "X"),
			},
			{
				fact: "WithLookupOnly of an operation that waits for a person", before: inReview(c), act: reconcile, options: []unavez.CallOption{unavez.WithLookupOnly()},
				want: review(unavez.Unknown, unavez.ReasonConflict, unavez.NextReview).http(409, "X"),
			},
			{
				fact: "a key that the journal does not know is not sent", act: reconcile,
				want: review(unavez.Unknown, unavez.ReasonNoRecord, unavez.NextReview),
			},
			{
				fact: "an operation that was refused is told again", act: reconcile,
				before: func(t *testing.T, b *mockBundle) {
					t.Helper()
					b.play(answer(402, errorBody(provider, "EMPTY")))
					_, err := c.do(t.Context(), b.client, testKey)
					require.ErrorIs(t, err, unavez.ErrRefused)
				},
				want: refused(unavez.NotExecuted, unavez.NextResend).http(402, "EMPTY").marked(unavez.ErrInsufficientBalance),
			},
		})
	}
}

// inReview is an earlier call that ended with a conflict without a rule.
func inReview(c writeCase) func(t *testing.T, b *mockBundle) {
	return func(t *testing.T, b *mockBundle) {
		t.Helper()
		b.play(answer(409, errorBody(c.provider, "X")))
		_, err := c.do(t.Context(), b.client, testKey)
		require.ErrorIs(t, err, unavez.ErrNeedsManualReview)
	}
}

func TestRowsReconcileSendsTheBytesThatWereRecorded(t *testing.T) {
	t.Parallel()
	for _, provider := range resenders() {
		c := mainCase(t, provider)
		synctest.Test(t, func(t *testing.T) {
			b := newMock(t, provider)
			losing(c)(t, b)
			_, err := c.reconcile(t.Context(), b.play(answer(201, c.success)).newClient(), testKey)
			require.NoError(t, err)
			require.Len(t, b.writes(), 2)
			requireSameBytes(t, b.writes())
			require.Equal(t, testKey, b.writes()[1].Header.Get("Idempotency-Key"))
		})
	}
}

func TestRowsAwaitAsksUntilTheOutcomeIsKnown(t *testing.T) {
	t.Parallel()
	awaiting := func(ctx context.Context, b *mockBundle, options ...unavez.CallOption) (*result, error) {
		i, err := b.client.Invoices.Await(ctx, testKey, options...)
		return invoiceResult(i), err
	}
	runRows(t, atFacty, []row{
		{fact: "pending twice, then stamped", act: awaiting, answers: then(pending(), pending(), stamped()), looks: []float64{0, 1, 3}, want: aDocument()},
		{
			fact: "longer than the budget of a write", act: awaiting, answers: then(repeated(8, pending()), stamped()),
			looks: []float64{0, 1, 3, 7, 15, 23, 31, 39, 47}, want: aDocument(),
		},
		{fact: "Retry-After of an answer", act: awaiting, answers: then(pendingFor("20"), stamped()), looks: []float64{0, 20}, want: aDocument()},
		{fact: "a lookup that failed is repeated", act: awaiting, answers: then(answer(500, ""), lostAnswer(), stamped()), looks: []float64{0, 1, 3}, want: aDocument()},
		{
			fact: "failed ends it", act: awaiting, answers: then(pending(), failed()), looks: []float64{0, 1},
			want: review(unavez.NotExecuted, unavez.ReasonFailed, unavez.NextFixSameKey).http(200, ""),
		},
		{
			fact: "a wait above the cap ends it with the time", act: awaiting, answers: then(pendingFor("40")), looks: []float64{0},
			want: retryLater(unavez.Unknown, unavez.NextReconcile, 40).http(200, ""),
		},
		{
			fact: "a wait of just the cap is slept", act: awaiting, options: []unavez.CallOption{unavez.WithMaxWait(2 * time.Second)},
			answers: repeated(3, pending()), looks: []float64{0, 1, 3}, want: retryLater(unavez.Unknown, unavez.NextReconcile, 4).http(200, ""),
		},
		{
			fact: "a deadline before the next look ends it at once", act: awaiting, deadline: 10 * time.Second, answers: repeated(4, pending()), looks: []float64{0, 1, 3, 7},
			want: retryLater(unavez.Unknown, unavez.NextReconcile, 8).http(200, ""),
		},
	})
}
