package unavez_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// The tables of Fiscalisto's page, row by row. Rows that hold for every provider are in rows_common_test.go.

func TestRowsFiscalistoAnswers(t *testing.T) {
	t.Parallel()
	const provider = atFiscalisto
	ladder := []float64{0, 1, 3, 7, 15}
	success := mainCase(t, provider).success
	once := func(status int, code string) []reply { return then(answer(status, errorBody(provider, code))) }
	no := func(next unavez.Next, status int, code string) want {
		return refused(unavez.NotExecuted, next).http(status, code)
	}
	runRows(t, provider, []row{
		{
			fact: "201 with uuid is the document", answers: then(answer(201, success, "X-Request-Id: r_1")), sends: []float64{0},
			want: aDocumentWith(func(t *testing.T, got *result) {
				t.Helper()
				require.Equal(t, &result{ID: "inv_1", UUID: testUUID, Key: testKey, RequestID: "r_1", Raw: []byte(success)}, got)
			}),
		},
		{
			fact: "replayed answer is marked by the header", answers: then(answer(201, success, "idempotent-replayed: true")), sends: []float64{0},
			want: aDocumentWith(func(t *testing.T, got *result) { t.Helper(); require.True(t, got.Replayed) }),
		},
		{fact: "202 is waited for, then 201", answers: then(answer(202, ""), answer(201, success)), sends: []float64{0, 1}, want: aDocument()},
		{
			fact: "202, then in progress, then 201", answers: then(answer(202, `{"id":"inv_1","uuid":null,"status":"pending"}`), inFlightAnswers()[provider], answer(201, success)),
			sends: []float64{0, 1, 3}, want: aDocument(),
		},
		{
			fact: "202 for ever ends as unknown", answers: repeated(5, answer(202, `{"id":"inv_1","status":"pending"}`)), sends: ladder,
			want: unknownOutcome(unavez.NextResend, 8).http(202, ""),
		},
		{
			fact: "body of a 202 is not read, a word without a rule included", answers: then(answer(202, `{"status":"valid"}`), answer(201, success)),
			sends: []float64{0, 1}, want: aDocument(),
		},
		{
			fact: "body of a 202 is not read, a uuid included", answers: then(answer(202, success), answer(201, success)), sends: []float64{0, 1}, want: aDocument(),
		},
		{fact: "202 with Retry-After", answers: then(answer(202, "", "Retry-After: 9"), answer(201, success)), sends: []float64{0, 9}, want: aDocument()},
		{
			fact: "202, then rejected: the verdict is trusted", answers: then(answer(202, ""), answer(422, errorBody(provider, "invoice_rejected"))), sends: []float64{0, 1},
			want: no(unavez.NextFixNewKey, 422, "invoice_rejected"),
		},
		{
			fact: "400 idempotency_key_invalid", answers: once(400, "idempotency_key_invalid"), sends: []float64{0},
			want: no(unavez.NextFixNewKey, 400, "idempotency_key_invalid").marked(unavez.ErrKeyInvalid),
		},
		{
			fact: "400 idempotency_key_missing", answers: once(400, "idempotency_key_missing"), sends: []float64{0},
			want: no(unavez.NextResend, 400, "idempotency_key_missing").marked(unavez.ErrNoIdempotencyKey),
		},
		{
			fact: "422 idempotency_key_missing, as its status is not given", answers: once(422, "idempotency_key_missing"), sends: []float64{0},
			want: no(unavez.NextResend, 422, "idempotency_key_missing").marked(unavez.ErrNoIdempotencyKey),
		},
		{fact: "400 takes the same key", answers: once(400, ""), sends: []float64{0}, want: no(unavez.NextFixSameKey, 400, "")},
		{fact: "404 takes the same key", answers: once(404, ""), sends: []float64{0}, want: no(unavez.NextFixSameKey, 404, "")},
		{fact: "other 422 takes the same key", answers: once(422, "x"), sends: []float64{0}, want: no(unavez.NextFixSameKey, 422, "x")},
		{fact: "422 invoice_invalid takes the same key", answers: once(422, "invoice_invalid"), sends: []float64{0}, want: no(unavez.NextFixSameKey, 422, "invoice_invalid")},
		{fact: "422 invoice_rejected takes a new key", answers: once(422, "invoice_rejected"), sends: []float64{0}, want: no(unavez.NextFixNewKey, 422, "invoice_rejected")},
		{fact: "401", answers: once(401, ""), sends: []float64{0}, want: no(unavez.NextResend, 401, "").marked(unavez.ErrUnauthorized)},
		{fact: "403", answers: once(403, ""), sends: []float64{0}, want: no(unavez.NextResend, 403, "").marked(unavez.ErrUnauthorized)},
		{fact: "402 takes the same key and body", answers: once(402, ""), sends: []float64{0}, want: no(unavez.NextResend, 402, "").marked(unavez.ErrInsufficientBalance)},
		{
			fact: "409 idempotency_key_reused", answers: once(409, "idempotency_key_reused"), sends: []float64{0},
			want: no(unavez.NextReconcile, 409, "idempotency_key_reused").marked(unavez.ErrKeyReused),
		},
		{
			fact: "409 request_in_progress with its 3 s", answers: then(answer(409, `{"error":{"code":"request_in_progress"}}`, "Retry-After: 3"), answer(201, success)),
			sends: []float64{0, 3}, want: aDocument(),
		},
		{fact: "429", answers: then(slow(), answer(201, success)), sends: []float64{0, 1}, want: aDocument()},
		{fact: "500", answers: then(answer(500, ""), answer(201, success)), sends: []float64{0, 1}, want: aDocument()},
	})
}

func TestRowsFiscalistoExactBytes(t *testing.T) {
	t.Parallel()
	b := newMock(t, atFiscalisto).play(answer(201, mainCase(t, atFiscalisto).success))
	_, err := mainCase(t, atFiscalisto).do(t.Context(), b.client, testKey)
	require.NoError(t, err)
	write := b.writes()[0]
	require.Equal(t, `{"customer":{"tax_id":"URE180429TM6","legal_name":"UNIVERSIDAD ROBOTICA ESPANOLA","tax_system":"601","zip":"65000"},"payment_form":"03",`+
		`"items":[{"description":"Servicio","product_key":"86121700","quantity":2,"unit_price":150.50}]}`, write.Body)
	require.Equal(t, "/v1/invoices", write.Path)
	require.Equal(t, []string{"Bearer " + testAPIKey}, write.Header["Authorization"])
	require.Equal(t, []string{testKey}, write.Header["Idempotency-Key"])
}

func TestRowsFiscalistoStoredCustomerAndProductGoByTheirIDs(t *testing.T) {
	t.Parallel()
	b := newMock(t, atFiscalisto).play(answer(201, mainCase(t, atFiscalisto).success))
	_, err := b.client.Invoices.Create(t.Context(), &unavez.InvoiceParams{
		Customer: unavez.Customer{ID: "cus_1"}, PaymentForm: "03", Items: []unavez.Item{{ProductID: "prd_1"}},
	}, unavez.WithIdempotencyKey(testKey))
	require.NoError(t, err)
	require.Equal(t, `{"customer":"cus_1","payment_form":"03","items":[{"product":"prd_1"}]}`, b.writes()[0].Body)
}
