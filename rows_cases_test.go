package unavez_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// writeCase is one write of one provider with the least that it takes.
type writeCase struct {
	provider  string
	operation unavez.OperationName
	// path is where the write goes, relative to the base URL.
	path string
	// success is the body of a 2xx answer that proves success.
	success string
	call    func(ctx context.Context, client *unavez.Client, options []unavez.CallOption) (*result, error)
	// reconcile asks through the service of the operation; nil where the service has no Reconcile.
	reconcile func(ctx context.Context, client *unavez.Client, key string, options ...unavez.CallOption) (*result, error)
}

// mainCase returns the write that every provider is known for: an invoice or a payout.
func mainCase(tb testing.TB, provider string) writeCase {
	tb.Helper()
	cases := writeCases(tb, provider)
	return cases[0]
}

// caseOf returns the write of an operation.
func caseOf(tb testing.TB, provider string, operation unavez.OperationName) writeCase {
	tb.Helper()
	for _, c := range writeCases(tb, provider) {
		if c.operation == operation {
			return c
		}
	}
	require.FailNow(tb, "no such write", "%s at %s", operation, provider)
	return writeCase{}
}

// writeCases returns every write of a provider, the main one first.
func writeCases(tb testing.TB, provider string) []writeCase {
	tb.Helper()
	switch provider {
	case atFacty:
		return factyCases()
	case atIpsofactura:
		return ipsofacturaCases()
	case atFiscalisto:
		return []writeCase{invoiceCase(atFiscalisto, "/v1/invoices", `{"id":"inv_1","uuid":"`+testUUID+`","total":1044}`)}
	case atPayouts:
		return []writeCase{payoutCase()}
	}
	require.FailNow(tb, "no such provider", provider)
	return nil
}

func factyCases() []writeCase {
	const base = "/authenticated/acme"
	const payment = `{"paymentId":"pay_1","paymentInvoiceId":"inv_2","uuid":"` + testUUID + `"}`
	return []writeCase{
		invoiceCase(atFacty, base+"/invoices", `{"id":"inv_1","uuid":"`+testUUID+
			`","serie":"A","folio":90,"total":349.16,"moneda":"MXN","stampedAt":"2026-08-11T10:20:30"}`),
		paymentCase(atFacty, base+"/payments", payment),
		{
			provider: atFacty, operation: unavez.PaymentStamp, path: base + "/payments/pay_1/stamp", success: payment,
			call: func(ctx context.Context, client *unavez.Client, options []unavez.CallOption) (*result, error) {
				p, err := client.Payments.Stamp(ctx, "pay_1", options...)
				return paymentResult(p), err
			},
			reconcile: reconcilePayment,
		},
		{
			provider: atFacty, operation: unavez.RetentionCreate, path: base + "/retenciones",
			success: `{"id":"ret_1","uuid":"` + testUUID + `"}`,
			call: func(ctx context.Context, client *unavez.Client, options []unavez.CallOption) (*result, error) {
				r, err := client.Retentions.Create(ctx, &unavez.RetentionParams{Extra: map[string]any{"cveRetenc": "25"}}, options...)
				return retentionResult(r), err
			},
			reconcile: func(ctx context.Context, client *unavez.Client, key string, options ...unavez.CallOption) (*result, error) {
				r, err := client.Retentions.Reconcile(ctx, key, options...)
				return retentionResult(r), err
			},
		},
		cancelCase(atFacty, base+"/invoices/inv_1/cancel", `{"estado":"Cancelado"}`),
		{
			provider: atFacty, operation: unavez.PaymentCancel, path: base + "/payments/pay_1/cancel", success: `{"estado":"Cancelado"}`,
			call: func(ctx context.Context, client *unavez.Client, options []unavez.CallOption) (*result, error) {
				c, err := client.Payments.Cancel(ctx, &unavez.CancelParams{ID: "pay_1", Motive: "02"}, options...)
				return cancelResult(c), err
			},
		},
	}
}

func ipsofacturaCases() []writeCase {
	const success = `{"id":"cfdi_1","folio_fiscal":"` + testUUID + `"}`
	stampXML := func(path string, isSealed bool) writeCase {
		return writeCase{
			provider: atIpsofactura, operation: unavez.InvoiceStampXML, path: path, success: success,
			call: func(ctx context.Context, client *unavez.Client, options []unavez.CallOption) (*result, error) {
				i, err := client.Invoices.StampXML(ctx, &unavez.StampXMLParams{XML: []byte("<c/>"), Sealed: isSealed}, options...)
				return invoiceResult(i), err
			},
			reconcile: reconcileInvoice,
		}
	}
	return []writeCase{
		invoiceCase(atIpsofactura, "/cfdi/timbrar", success),
		stampXML("/cfdi/timbrar-xml", false),
		stampXML("/cfdi/timbrar-sellado", true),
		paymentCase(atIpsofactura, "/cfdi/complemento-pago", success),
		cancelCase(atIpsofactura, "/cfdi/cancelar", `{"id":"cfdi_1","estatus":"en_proceso"}`),
	}
}

func invoiceCase(provider, path, success string) writeCase {
	return writeCase{
		provider: provider, operation: unavez.InvoiceCreate, path: path, success: success,
		call: func(ctx context.Context, client *unavez.Client, options []unavez.CallOption) (*result, error) {
			i, err := client.Invoices.Create(ctx, invoiceParams(provider), options...)
			return invoiceResult(i), err
		},
		reconcile: reconcileInvoice,
	}
}

func paymentCase(provider, path, success string) writeCase {
	return writeCase{
		provider: provider, operation: unavez.PaymentCreate, path: path, success: success,
		call: func(ctx context.Context, client *unavez.Client, options []unavez.CallOption) (*result, error) {
			p, err := client.Payments.Create(ctx, paymentParams(provider), options...)
			return paymentResult(p), err
		},
		reconcile: reconcilePayment,
	}
}

func cancelCase(provider, path, success string) writeCase {
	return writeCase{
		provider: provider, operation: unavez.InvoiceCancel, path: path, success: success,
		call: func(ctx context.Context, client *unavez.Client, options []unavez.CallOption) (*result, error) {
			c, err := client.Invoices.Cancel(ctx, &unavez.CancelParams{ID: "inv_1", Motive: "02"}, options...)
			return cancelResult(c), err
		},
	}
}

func payoutCase() writeCase {
	return writeCase{
		provider: atPayouts, operation: unavez.PayoutCreate, path: "/v1/payouts", success: `{"id":"po_1","status":"processing"}`,
		call: func(ctx context.Context, client *unavez.Client, options []unavez.CallOption) (*result, error) {
			p, err := client.Payouts.Create(ctx, payoutParams(), options...)
			return payoutResult(p), err
		},
		reconcile: func(ctx context.Context, client *unavez.Client, key string, options ...unavez.CallOption) (*result, error) {
			p, err := client.Payouts.Reconcile(ctx, key, options...)
			return payoutResult(p), err
		},
	}
}

func reconcileInvoice(ctx context.Context, client *unavez.Client, key string, options ...unavez.CallOption) (*result, error) {
	i, err := client.Invoices.Reconcile(ctx, key, options...)
	return invoiceResult(i), err
}

func reconcilePayment(ctx context.Context, client *unavez.Client, key string, options ...unavez.CallOption) (*result, error) {
	p, err := client.Payments.Reconcile(ctx, key, options...)
	return paymentResult(p), err
}

// invoiceParams returns the least that the provider takes. Every call returns its own.
func invoiceParams(provider string) *unavez.InvoiceParams {
	item := unavez.Item{ProductKey: "86121700", UnitKey: "E48", Description: "Servicio", Quantity: "2", UnitPrice: "150.50"}
	customer := unavez.Customer{RFC: testRFC, LegalName: testName, TaxRegime: "601", PostalCode: "65000"}
	switch provider {
	case atFacty:
		item.TaxObject, item.Taxes = "02", []unavez.Tax{{Type: "002", Rate: "0.16"}}
		return &unavez.InvoiceParams{
			Customer: unavez.Customer{ID: "cli_1"}, CFDIUse: "G03", PaymentForm: "03", PaymentMethod: "PUE", Items: []unavez.Item{item},
		}
	case atIpsofactura:
		return &unavez.InvoiceParams{
			Issuer: "EKU9003173C9", Series: "B", Folio: "77", Customer: customer, CFDIUse: "G03",
			PaymentForm: "03", PaymentMethod: "PUE", Items: []unavez.Item{item},
		}
	}
	item.UnitKey = ""
	return &unavez.InvoiceParams{Customer: customer, PaymentForm: "03", Items: []unavez.Item{item}}
}

// paymentParams returns the least that the provider takes for a payment that is stamped at once.
func paymentParams(provider string) *unavez.PaymentParams {
	params := &unavez.PaymentParams{
		PaymentForm: "03", PaidAt: time.Date(2026, 8, 11, 10, 20, 30, 0, time.UTC), Amount: "116.00", StampNow: true,
	}
	document := unavez.PaidDocument{Installment: 1, PreviousBalance: "116.00", Paid: "116.00", RemainingBalance: "0.00"}
	if provider == atFacty {
		params.AccountID, document.InvoiceID = "acc_1", "inv_1"
	} else {
		params.Issuer, document.UUID = "EKU9003173C9", testUUID
		params.Customer = unavez.Customer{RFC: testRFC, LegalName: testName, TaxRegime: "601", PostalCode: "65000"}
	}
	params.Documents = []unavez.PaidDocument{document}
	return params
}

func payoutParams() *unavez.PayoutParams {
	return &unavez.PayoutParams{
		QuoteID: "11111111-2222-4333-8444-555555555555", Method: "pago_movil", BeneficiaryID: "66666666-7777-4888-9999-000000000000",
	}
}

func invoiceResult(i *unavez.Invoice) *result {
	if i == nil {
		return nil
	}
	return &result{ID: i.ID, UUID: i.UUID, Status: i.Status, Key: i.IdempotencyKey, RequestID: i.RequestID, Replayed: i.Replayed, Raw: i.Raw}
}

func paymentResult(p *unavez.Payment) *result {
	if p == nil {
		return nil
	}
	return &result{
		ID: p.ID, PaymentID: p.PaymentID, UUID: p.UUID, Status: p.Status, Key: p.IdempotencyKey,
		RequestID: p.RequestID, Replayed: p.Replayed, Raw: p.Raw,
	}
}

func retentionResult(r *unavez.Retention) *result {
	if r == nil {
		return nil
	}
	return &result{ID: r.ID, UUID: r.UUID, Status: r.Status, Key: r.IdempotencyKey, RequestID: r.RequestID, Replayed: r.Replayed, Raw: r.Raw}
}

func payoutResult(p *unavez.Payout) *result {
	if p == nil {
		return nil
	}
	return &result{ID: p.ID, Status: p.Status, Key: p.IdempotencyKey, RequestID: p.RequestID, Replayed: p.Replayed, Raw: p.Raw}
}

func cancelResult(c *unavez.Cancellation) *result {
	if c == nil {
		return nil
	}
	return &result{ID: c.ID, UUID: c.UUID, Status: c.Status, Key: c.IdempotencyKey, RequestID: c.RequestID, Replayed: c.Replayed, Raw: c.Raw}
}
