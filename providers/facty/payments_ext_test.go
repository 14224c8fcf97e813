package facty_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/internal/providertest"
)

func newPayment() *unavez.PaymentParams {
	mexico := time.FixedZone("CST", -6*60*60)
	return &unavez.PaymentParams{
		AccountID: "acc_1", PaymentForm: "03", PaidAt: time.Date(2026, 8, 11, 23, 20, 30, 999, mexico), Amount: "116.00", StampNow: true,
		Documents: []unavez.PaidDocument{{
			InvoiceID: "inv_1", Installment: 1, PreviousBalance: "116.00", Paid: "100.00", RemainingBalance: "16.00",
		}},
	}
}

func encodePayment(params *unavez.PaymentParams) ([]byte, error) {
	request, err := newProvider().Encode(&unavez.Operation{Name: unavez.PaymentCreate, Key: key, Payment: params})
	return request.Body, err
}

func TestEncodePayment(t *testing.T) {
	t.Parallel()
	const (
		head = `{"accountId":"acc_1","fechaPago":"2026-08-11T23:20:30","formaPago":"03","monto":116.00,"idempotencyKey":"mi-erp:prod:factura:4471",`
		tail = `"documents":[{"invoiceId":"inv_1","numParcialidad":1,"importeSaldoAnterior":116.00,"importePagado":100.00,"importeSaldoInsoluto":16.00}]`
	)
	for name, row := range map[string]struct {
		change func(*unavez.PaymentParams)
		body   string
		proof  unavez.Proof
	}{
		"stamped":  {func(*unavez.PaymentParams) {}, head + `"stamp":true,` + tail + `}`, unavez.ProofUUID},
		"recorded": {func(p *unavez.PaymentParams) { p.StampNow = false }, head + `"stamp":false,` + tail + `}`, unavez.ProofPaymentID},
		"everything": {
			func(p *unavez.PaymentParams) { p.Reference, p.Currency, p.ExchangeRate = "0001", "USD", "17.2500" },
			head + `"stamp":true,"numOperacion":"0001","moneda":"USD","tipoCambio":17.2500,` + tail + `}`, unavez.ProofUUID,
		},
		"extra decides": {
			func(p *unavez.PaymentParams) { p.StampNow, p.Extra = false, map[string]any{"stamp": true} },
			head + tail + `,"stamp":true}`, unavez.ProofUUID,
		},
		"extra records": {
			func(p *unavez.PaymentParams) { p.StampNow, p.Extra = false, map[string]any{"stamp": false} },
			head + tail + `,"stamp":false}`, unavez.ProofPaymentID,
		},
		"raw records": {
			func(p *unavez.PaymentParams) { *p = unavez.PaymentParams{Raw: json.RawMessage(`{"stamp": false}`)} },
			`{"idempotencyKey":"mi-erp:prod:factura:4471","stamp": false}`, unavez.ProofPaymentID,
		},
		"raw stamps": {
			func(p *unavez.PaymentParams) { *p = unavez.PaymentParams{Raw: json.RawMessage(`{"monto": 1}`)} },
			`{"idempotencyKey":"mi-erp:prod:factura:4471","monto": 1}`, unavez.ProofUUID,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			params := newPayment()
			row.change(params)
			request, err := newProvider().Encode(&unavez.Operation{Name: unavez.PaymentCreate, Key: key, Payment: params})
			require.NoError(t, err)
			require.Equal(t, row.body, string(request.Body))
			require.Equal(t, "/authenticated/acme/payments", request.Path)
			require.Equal(t, row.proof, request.Proof)
		})
	}
}

func TestEncodePaymentRefuses(t *testing.T) {
	t.Parallel()
	type payment = unavez.PaymentParams
	providertest.Refusals(t, newPayment, encodePayment, []providertest.Refusal[payment]{
		{"Issuer", func(p *payment) { p.Issuer = providertest.Private }},
		{"Series", func(p *payment) { p.Series = providertest.Private }},
		{"Folio", func(p *payment) { p.Folio = providertest.Private }},
		{"Customer.ID", func(p *payment) { p.Customer.ID = providertest.Private }},
		{"Customer.RFC", func(p *payment) { p.Customer.RFC = providertest.Private }},
		{"Documents[0].UUID", func(p *payment) { p.Documents[0].UUID = providertest.Private }},
		{"AccountID", func(p *payment) { p.AccountID = "" }},
		{"PaidAt", func(p *payment) { p.PaidAt = time.Time{} }},
		{"PaymentForm", func(p *payment) { p.PaymentForm = "" }},
		{"Amount", func(p *payment) { p.Amount = "" }},
		{"Documents", func(p *payment) { p.Documents = nil }},
		{"Documents[0].InvoiceID", func(p *payment) { p.Documents[0].InvoiceID = "" }},
		{"Documents[0].Installment", func(p *payment) { p.Documents[0].Installment = 0 }},
		{"Documents[0].PreviousBalance", func(p *payment) { p.Documents[0].PreviousBalance = "" }},
		{"Documents[0].Paid", func(p *payment) { p.Documents[0].Paid = "" }},
		{"Documents[0].RemainingBalance", func(p *payment) { p.Documents[0].RemainingBalance = "" }},
		{"ExchangeRate", func(p *payment) { p.Currency = "USD" }},
		{"ExchangeRate", func(p *payment) { p.ExchangeRate = "17.2" }},
		{"StampNow", func(p *payment) { *p = payment{StampNow: true, Raw: json.RawMessage(`{}`)} }},
		{"PaidAt", func(p *payment) { *p = payment{PaidAt: p.PaidAt, Raw: json.RawMessage(`{}`)} }},
		{"Customer.RFC", func(p *payment) {
			*p = payment{Customer: unavez.Customer{RFC: providertest.Private}, Raw: json.RawMessage(`{}`)}
		}},
		{"Extra", func(p *payment) { p.Extra = map[string]any{"stamp": false} }},
	})
}

func TestEncodePaymentEveryField(t *testing.T) {
	t.Parallel()
	providertest.EveryField(t, newPayment, encodePayment)
}

func TestEncodePaymentStamp(t *testing.T) {
	t.Parallel()
	request, err := newProvider().Encode(&unavez.Operation{Name: unavez.PaymentStamp, Key: key, PaymentID: "pay/1 ñ"})
	require.NoError(t, err)
	require.Equal(t, "/authenticated/acme/payments/pay%2F1%20%C3%B1/stamp", request.Path)
	require.Equal(t, `{"idempotencyKey":"mi-erp:prod:factura:4471"}`, string(request.Body))
	require.Equal(t, unavez.ProofUUID, request.Proof)

	for _, id := range []string{"", ".", "..", "a\nb", "a\x7f"} {
		_, err := newProvider().Encode(&unavez.Operation{Name: unavez.PaymentStamp, Key: key, PaymentID: id})
		require.ErrorContains(t, err, "PaymentID")
	}
}

func TestEncodeRetention(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		params unavez.RetentionParams
		body   string
	}{
		"extra": {
			unavez.RetentionParams{Extra: map[string]any{"monto": unavez.Decimal("10.00"), "clave": "14"}},
			`{"idempotencyKey":"mi-erp:prod:factura:4471","clave":"14","monto":10.00}`,
		},
		"raw": {
			unavez.RetentionParams{Raw: json.RawMessage(`{"clave": "14"}`)}, `{"idempotencyKey":"mi-erp:prod:factura:4471","clave": "14"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request, err := newProvider().Encode(&unavez.Operation{Name: unavez.RetentionCreate, Key: key, Retention: &row.params})
			require.NoError(t, err)
			require.Equal(t, "/authenticated/acme/retenciones", request.Path)
			require.Equal(t, row.body, string(request.Body))
			require.Equal(t, unavez.ProofUUID, request.Proof)
		})
	}
	_, err := newProvider().Encode(&unavez.Operation{Name: unavez.RetentionCreate, Key: key, Retention: &unavez.RetentionParams{}})
	require.ErrorContains(t, err, "Extra")
}

func newCancel() *unavez.CancelParams { return &unavez.CancelParams{ID: "inv_1", Motive: "02"} }

func encodeCancel(params *unavez.CancelParams) ([]byte, error) {
	request, err := newProvider().Encode(&unavez.Operation{Name: unavez.InvoiceCancel, Key: key, Cancel: params})
	return []byte(request.Path + string(request.Body)), err
}

func TestEncodeCancel(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		operation unavez.OperationName
		params    unavez.CancelParams
		path      string
		body      string
	}{
		"an invoice": {unavez.InvoiceCancel, *newCancel(), "/authenticated/acme/invoices/inv_1/cancel", `{"motivo":"02"}`},
		"a payment":  {unavez.PaymentCancel, *newCancel(), "/authenticated/acme/payments/inv_1/cancel", `{"motivo":"02"}`},
		"replaced": {
			unavez.InvoiceCancel,
			unavez.CancelParams{ID: "inv_1", Motive: "01", SubstituteUUID: "u-2"},
			"/authenticated/acme/invoices/inv_1/cancel", `{"motivo":"01","folioSustitucion":"u-2"}`,
		},
		"extra": {
			unavez.InvoiceCancel,
			unavez.CancelParams{ID: "inv_1", Extra: map[string]any{"motivo": "03", "nota": "n"}},
			"/authenticated/acme/invoices/inv_1/cancel", `{"motivo":"03","nota":"n"}`,
		},
		"raw": {
			unavez.InvoiceCancel,
			unavez.CancelParams{ID: "inv_1", Raw: json.RawMessage(`{"motivo": "04"}`)},
			"/authenticated/acme/invoices/inv_1/cancel", `{"motivo": "04"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request, err := newProvider().Encode(&unavez.Operation{Name: row.operation, Key: key, Cancel: &row.params})
			require.NoError(t, err)
			require.Equal(t, row.path, request.Path)
			require.Equal(t, row.body, string(request.Body))
			require.Equal(t, unavez.ProofObject, request.Proof)
		})
	}
}

func TestEncodeCancelRefuses(t *testing.T) {
	t.Parallel()
	type cancel = unavez.CancelParams
	providertest.Refusals(t, newCancel, encodeCancel, []providertest.Refusal[cancel]{
		{"ID", func(p *cancel) { p.ID = "" }},
		{"ID", func(p *cancel) { p.ID = ".." }},
		{"UUID", func(p *cancel) { p.UUID = providertest.Private }},
		{"Motive", func(p *cancel) { p.Motive = "" }},
		{"Motive", func(p *cancel) { p.Motive = providertest.Private }},
		{"SubstituteUUID", func(p *cancel) { p.SubstituteUUID = providertest.Private }},
		{"SubstituteUUID", func(p *cancel) { p.Motive = "01" }},
		{"Motive", func(p *cancel) { p.Raw = json.RawMessage(`{}`) }},
	})
	providertest.EveryField(t, newCancel, encodeCancel)
}
