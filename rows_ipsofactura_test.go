package unavez_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// The tables of Ipsofactura's page, row by row. Rows that hold for every provider are in rows_common_test.go.

func TestRowsIpsofacturaAnswers(t *testing.T) {
	t.Parallel()
	const provider = atIpsofactura
	ladder := []float64{0, 1, 3, 7, 15}
	newKey := func(status int, code string) want {
		return refused(unavez.NotExecuted, unavez.NextFixNewKey).http(status, code)
	}
	sameKey := func(status int, code string) want {
		return refused(unavez.NotExecuted, unavez.NextResend).http(status, code)
	}
	success := mainCase(t, provider).success
	runRows(t, provider, []row{
		{
			fact: "201 with folio_fiscal is the document", answers: then(answer(201, success)), sends: []float64{0},
			want: aDocumentWith(func(t *testing.T, got *result) {
				t.Helper()
				require.Equal(t, &result{ID: "cfdi_1", UUID: testUUID, Key: testKey, Raw: []byte(success)}, got)
			}),
		},
		{
			fact: "replayed answer is marked by the header", answers: then(answer(201, success, "Idempotency-Replayed: true")), sends: []float64{0},
			want: aDocumentWith(func(t *testing.T, got *result) { t.Helper(); require.True(t, got.Replayed) }),
		},
		{
			fact: "Fiscalisto's replay header means nothing here", answers: then(answer(201, success, "idempotent-replayed: true")), sends: []float64{0},
			want: aDocumentWith(func(t *testing.T, got *result) { t.Helper(); require.False(t, got.Replayed) }),
		},
		{
			fact: "uuid counts where folio_fiscal is not there", answers: then(answer(200, `{"uuid":"`+testUUID+`"}`)), sends: []float64{0},
			want: aDocumentWith(func(t *testing.T, got *result) { t.Helper(); require.Equal(t, testUUID, got.UUID) }),
		},
		{
			fact: "echo of the key in the answer", answers: then(answer(201, `{"folio_fiscal":"`+testUUID+`","idempotency_key":"`+testKey+`"}`)), sends: []float64{0},
			want: aDocument(),
		},
		{
			fact: "echo of another key is not adopted", answers: then(answer(201, `{"folio_fiscal":"`+testUUID+`","idempotency_key":"mi-erp:test:factura:1"}`)),
			sends: []float64{0}, want: review(unavez.Unknown, unavez.ReasonKeyMismatch, unavez.NextReview).http(201, ""),
		},
		{fact: "400 VALIDATION_ERROR takes a new key", answers: then(answer(400, errorBody(provider, "VALIDATION_ERROR"))), sends: []float64{0}, want: newKey(400, "VALIDATION_ERROR")},
		{fact: "400 takes a new key", answers: then(answer(400, "")), sends: []float64{0}, want: newKey(400, "")},
		{fact: "404 takes a new key", answers: then(answer(404, "")), sends: []float64{0}, want: newKey(404, "")},
		{fact: "other 422 takes a new key", answers: then(answer(422, errorBody(provider, "CFDI40147"))), sends: []float64{0}, want: newKey(422, "CFDI40147")},
		{fact: "401 takes the same key", answers: then(answer(401, "")), sends: []float64{0}, want: sameKey(401, "").marked(unavez.ErrUnauthorized)},
		{fact: "403 takes the same key", answers: then(answer(403, "")), sends: []float64{0}, want: sameKey(403, "").marked(unavez.ErrUnauthorized)},
		{fact: "402 takes the same key", answers: then(answer(402, "")), sends: []float64{0}, want: sameKey(402, "").marked(unavez.ErrInsufficientBalance)},
		{
			fact: "422 IDEMPOTENCY_KEY_REUSED is never sent again", answers: then(reusedAnswers()[provider]), sends: []float64{0},
			want: refused(unavez.NotExecuted, unavez.NextReconcile).http(422, "IDEMPOTENCY_KEY_REUSED").marked(unavez.ErrKeyReused),
		},
		{fact: "429 is freed and sent again", answers: then(slow(), answer(201, success)), sends: []float64{0, 1}, want: aDocument()},
		{
			fact: "503 STAMPING_OUTCOME_UNKNOWN comes back at once with its minute", answers: then(outcomeUnknown("", "60")), sends: []float64{0},
			want: unknownOutcome(unavez.NextResend, 60).http(503, "STAMPING_OUTCOME_UNKNOWN"),
		},
		{
			fact: "503 STAMPING_OUTCOME_UNKNOWN with the wait in the header", answers: then(outcomeUnknown("60", "null")), sends: []float64{0},
			want: unknownOutcome(unavez.NextResend, 60).http(503, "STAMPING_OUTCOME_UNKNOWN"),
		},
		{
			fact: "503 STAMPING_OUTCOME_UNKNOWN with two waits: the header counts", answers: then(outcomeUnknown("2", "7"), answer(201, success)), sends: []float64{0, 2},
			want: aDocument(),
		},
		{
			fact: "503 STAMPING_OUTCOME_UNKNOWN is waited for where the cap allows it", options: []unavez.CallOption{unavez.WithMaxWait(at(60)[0])},
			answers: then(outcomeUnknown("60", "60"), inFlightAnswers()[provider], answer(201, success, "Idempotency-Replayed: true")),
			sends:   []float64{0, 60, 62}, want: aDocument(),
		},
		{
			fact: "503 STAMPING_OUTCOME_UNKNOWN without a wait takes the ladder", answers: repeated(5, outcomeUnknown("", "null")), sends: ladder,
			want: unknownOutcome(unavez.NextResend, 8).http(503, "STAMPING_OUTCOME_UNKNOWN"),
		},
		{fact: "other 503 takes the ladder", answers: then(answer(503, errorBody(provider, "BUSY")), answer(201, success)), sends: []float64{0, 1}, want: aDocument()},
	})
}

// outcomeUnknown is the answer that says that the document may exist at SAT.
func outcomeUnknown(inHeader, inBody string) reply {
	body := `{"code":"STAMPING_OUTCOME_UNKNOWN","message":"el PAC no respondio","retry_after":` + inBody + `,"idempotency_key":"` + testKey + `"}`
	if inHeader == "" {
		return answer(503, body)
	}
	return answer(503, body, "Retry-After: "+inHeader)
}

// The page says that everything that stamps behaves alike.
func TestRowsIpsofacturaEveryWriteResendsItsBytes(t *testing.T) {
	t.Parallel()
	for _, c := range writeCases(t, atIpsofactura) {
		t.Run(c.path, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newMock(t, atIpsofactura).play(lostAnswer(), answer(503, ""), slow(), inFlightAnswers()[atIpsofactura], answer(201, c.success))
				got, err := c.do(t.Context(), b.client, testKey)
				require.NoError(t, err)
				require.Equal(t, testKey, got.Key)
				require.Equal(t, at(0, 1, 3, 7, 15), times(b.writes()))
				requireSameBytes(t, b.writes())
				for _, write := range b.writes() {
					require.Equal(t, c.path, write.Path)
					require.Equal(t, []string{testKey}, write.Header["Idempotency-Key"], "the key travels in the header")
					require.NotContains(t, write.Body, testKey, "and nowhere else")
				}
			})
		})
	}
}

func TestRowsIpsofacturaExactBytes(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{
		"/cfdi/timbrar": `{"rfc_emisor":"EKU9003173C9","serie":"B","folio":"77","tipo_comprobante":"I","moneda":"MXN","forma_pago":"03","metodo_pago":"PUE",` +
			`"receptor":{"rfc":"URE180429TM6","nombre":"UNIVERSIDAD ROBOTICA ESPANOLA","domicilio_fiscal":"65000","regimen_fiscal":"601","uso_cfdi":"G03"},` +
			`"conceptos":[{"clave_prod_serv":"86121700","cantidad":2,"clave_unidad":"E48","descripcion":"Servicio","valor_unitario":150.50}]}`,
		"/cfdi/timbrar-xml":     `{"xml_base64":"PGMvPg=="}`,
		"/cfdi/timbrar-sellado": `{"xml_base64":"PGMvPg=="}`,
		"/cfdi/complemento-pago": `{"rfc_emisor":"EKU9003173C9","receptor":{"rfc":"URE180429TM6","nombre":"UNIVERSIDAD ROBOTICA ESPANOLA","domicilio_fiscal":"65000",` +
			`"regimen_fiscal":"601"},"pagos":[{"fecha_pago":"2026-08-11T10:20:30","forma_de_pago":"03","moneda":"MXN","monto":116.00,"documentos_relacionados":[` +
			`{"id_documento":"` + testUUID + `","num_parcialidad":1,"imp_saldo_ant":116.00,"imp_pagado":116.00,"imp_saldo_insoluto":0.00}]}]}`,
		"/cfdi/cancelar": `{"id":"inv_1","motivo":"02"}`,
	}
	for _, c := range writeCases(t, atIpsofactura) {
		b := newMock(t, atIpsofactura).play(answer(201, c.success))
		_, err := c.do(t.Context(), b.client, testKey)
		require.NoError(t, err)
		require.Equal(t, bodies[c.path], b.writes()[0].Body, c.path)
		require.Equal(t, []string{testAPIKey}, b.writes()[0].Header["X-Api"], "the credential of %s", c.path)
		require.Equal(t, []string{"application/json"}, b.writes()[0].Header["Content-Type"])
	}
}

func TestRowsIpsofacturaCancellationIsAnyObject(t *testing.T) {
	t.Parallel()
	const body = `{"estatus":"en_proceso","acuse":null}`
	runRows(t, atIpsofactura, []row{
		{
			fact: "any JSON object is the answer, kept in Raw", on: unavez.InvoiceCancel, answers: then(answer(200, body)), sends: []float64{0},
			want: aDocumentWith(func(t *testing.T, got *result) {
				t.Helper()
				require.Equal(t, body, string(got.Raw))
				require.Equal(t, "en_proceso", got.Status)
			}),
		},
		{
			fact: "something else is unknown and sent again", on: unavez.InvoiceCancel, answers: then(answer(200, "OK"), answer(200, body)),
			sends: []float64{0, 1}, want: aDocument(),
		},
	})
}

func TestRowsIpsofacturaXMLWithoutAUUIDProvesNothing(t *testing.T) {
	t.Parallel()
	const provider = atIpsofactura
	for _, operation := range []unavez.OperationName{unavez.InvoiceStampXML, unavez.PaymentCreate} {
		runRows(t, provider, []row{
			{fact: string(operation) + " takes uuid", on: operation, answers: then(answer(201, `{"uuid":"`+testUUID+`"}`)), sends: []float64{0}, want: aDocument()},
			{
				fact: string(operation) + " without both is unknown", on: operation, answers: repeated(5, answer(201, `{"id":"cfdi_1"}`)), sends: []float64{0, 1, 3, 7, 15},
				want: unknownOutcome(unavez.NextResend, 8).http(201, ""),
			},
		})
	}
}
