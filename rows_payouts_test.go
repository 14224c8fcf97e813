package unavez_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// The tables of the payouts API's page, row by row. Rows that hold for every provider are in rows_common_test.go.

func TestRowsPayoutsAnswers(t *testing.T) {
	t.Parallel()
	const provider = atPayouts
	ladder := []float64{0, 1, 3, 7, 15}
	success := mainCase(t, provider).success
	once := func(status int, code string) []reply { return then(answer(status, errorBody(provider, code))) }
	no := func(next unavez.Next, status int, code string) want {
		return refused(unavez.NotExecuted, next).http(status, code)
	}
	runRows(t, provider, []row{
		{
			fact: "200 with id and word is the payout", answers: then(answer(200, success)), sends: []float64{0},
			want: aDocumentWith(func(t *testing.T, got *result) {
				t.Helper()
				require.Equal(t, &result{ID: "po_1", Status: "processing", Key: testKey, Raw: []byte(success)}, got)
			}),
		},
		{
			fact: "replay headers mean nothing here", answers: then(answer(200, success, "Idempotency-Replayed: true", "idempotent-replayed: true")), sends: []float64{0},
			want: aDocumentWith(func(t *testing.T, got *result) { t.Helper(); require.False(t, got.Replayed) }),
		},
		{
			fact: "failed is Refused with another quote and a new key", answers: then(answer(200, `{"id":"po_1","status":"failed"}`)), sends: []float64{0},
			want: no(unavez.NextFixNewKey, 200, ""),
		},
		{
			fact: "failed without an id is Refused as well", answers: then(answer(200, `{"status":"failed"}`)), sends: []float64{0},
			want: no(unavez.NextFixNewKey, 200, ""),
		},
		{
			fact: "unknown is never sent again", answers: then(answer(200, `{"id":"po_1","status":"unknown"}`)), sends: []float64{0},
			want: review(unavez.Unknown, unavez.ReasonOutcomeUnknown, unavez.NextReview).http(200, "").marked(unavez.ErrOutcomeUnknown),
		},
		{
			fact: "unknown after a lost answer is never sent again", answers: then(lostAnswer(), answer(200, `{"id":"po_1","status":"unknown"}`)), sends: []float64{0, 1},
			want: review(unavez.Unknown, unavez.ReasonOutcomeUnknown, unavez.NextReview).http(200, "").marked(unavez.ErrOutcomeUnknown),
		},
		{
			fact: "no status proves nothing", answers: repeated(5, answer(200, `{"id":"po_1"}`)), sends: ladder,
			want: unknownOutcome(unavez.NextResend, 60).http(200, ""),
		},
		{fact: "400 takes a new key", answers: once(400, "x"), sends: []float64{0}, want: no(unavez.NextFixNewKey, 400, "x")},
		{fact: "404 takes a new key", answers: once(404, "x"), sends: []float64{0}, want: no(unavez.NextFixNewKey, 404, "x")},
		{fact: "422 takes a new key", answers: once(422, "x"), sends: []float64{0}, want: no(unavez.NextFixNewKey, 422, "x")},
		{fact: "other 4xx takes a new key", answers: once(410, "x"), sends: []float64{0}, want: no(unavez.NextFixNewKey, 410, "x")},
		{fact: "401", answers: once(401, ""), sends: []float64{0}, want: no(unavez.NextResend, 401, "").marked(unavez.ErrUnauthorized)},
		{fact: "403", answers: once(403, ""), sends: []float64{0}, want: no(unavez.NextResend, 403, "").marked(unavez.ErrUnauthorized)},
		{
			fact: "409 idempotency_key_reused", answers: once(409, "idempotency_key_reused"), sends: []float64{0},
			want: no(unavez.NextReconcile, 409, "idempotency_key_reused").marked(unavez.ErrKeyReused),
		},
		{
			fact: "409 quote_already_consumed stops for a person", answers: once(409, "quote_already_consumed"), sends: []float64{0},
			want: review(unavez.Unknown, unavez.ReasonConflict, unavez.NextReview).http(409, "quote_already_consumed"),
		},
		{
			fact: "409 quote_already_consumed after a lost answer stops for a person", sends: []float64{0, 1},
			answers: then(lostAnswer(), answer(409, errorBody(provider, "quote_already_consumed"))),
			want:    review(unavez.Unknown, unavez.ReasonConflict, unavez.NextReview).http(409, "quote_already_consumed"),
		},
		{
			fact: "429 rate_limited", answers: repeated(5, answer(429, errorBody(provider, "rate_limited"))), sends: ladder,
			want: retryLater(unavez.NotExecuted, unavez.NextResend, 8).http(429, "rate_limited"),
		},
		{
			fact: "502 provider_error is unknown", answers: repeated(5, answer(502, errorBody(provider, "provider_error"))), sends: ladder,
			want: unknownOutcome(unavez.NextResend, 60).http(502, "provider_error"),
		},
		{
			fact: "503 no_provider_available is NotExecuted", answers: repeated(5, answer(503, errorBody(provider, "no_provider_available"))), sends: ladder,
			want: retryLater(unavez.NotExecuted, unavez.NextResend, 8).http(503, "no_provider_available"),
		},
		{
			fact: "503 no_provider_available after a lost answer stays unknown", sends: ladder,
			answers: then(lostAnswer(), repeated(4, answer(503, errorBody(provider, "no_provider_available")))),
			want:    unknownOutcome(unavez.NextResend, 60).http(503, "no_provider_available"),
		},
		{fact: "503 with another code is unknown", answers: then(answer(503, errorBody(provider, "x")), answer(200, success)), sends: []float64{0, 1}, want: aDocument()},
		{fact: "502 with Retry-After", answers: then(answer(502, errorBody(provider, "provider_error"), "Retry-After: 5"), answer(200, success)), sends: []float64{0, 5}, want: aDocument()},
		{fact: "402 by status alone", answers: once(402, "x"), sends: []float64{0}, want: no(unavez.NextResend, 402, "x").marked(unavez.ErrInsufficientBalance)},
	})
}

func TestRowsPayoutsExactBytes(t *testing.T) {
	t.Parallel()
	b := newMock(t, atPayouts).play(answer(200, mainCase(t, atPayouts).success))
	_, err := mainCase(t, atPayouts).do(t.Context(), b.client, testKey)
	require.NoError(t, err)
	write := b.writes()[0]
	require.Equal(t, `{"quoteId":"11111111-2222-4333-8444-555555555555","method":"pago_movil","beneficiaryId":"66666666-7777-4888-9999-000000000000"}`, write.Body)
	require.Equal(t, "/v1/payouts", write.Path)
	require.Equal(t, []string{testAPIKey}, write.Header["X-Api-Key"])
	require.Equal(t, []string{testKey}, write.Header["Idempotency-Key"])
}
