package facty_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/internal/providertest"
)

func newInvoice() *unavez.InvoiceParams {
	return &unavez.InvoiceParams{
		Customer: unavez.Customer{ID: "cli_1"}, CFDIUse: "G03", PaymentForm: "03", PaymentMethod: "PUE",
		Items: []unavez.Item{{
			ProductKey: "86121700", UnitKey: "E48", Description: "Servicio", Quantity: "2", UnitPrice: "150.50", TaxObject: "02",
			Taxes: []unavez.Tax{{Type: "002", Rate: "0.16"}},
		}},
	}
}

// newFullInvoice sets everything that Facty carries.
func newFullInvoice() *unavez.InvoiceParams {
	params := newInvoice()
	params.Type, params.Series, params.Export, params.Currency, params.ExchangeRate = unavez.Expense, "A", "01", "USD", "17.2500"
	params.Related = []unavez.Relation{{Type: "01", UUIDs: []string{"0b7c0000-0000-4000-8000-000000000001"}}}
	params.Global = &unavez.GlobalInfo{Periodicity: "04", Months: "08", Year: 2026}
	return params
}

func encodeInvoice(params *unavez.InvoiceParams) ([]byte, error) {
	request, err := newProvider().Encode(&unavez.Operation{Name: unavez.InvoiceCreate, Key: key, Invoice: params})
	return request.Body, err
}

const (
	head  = `{"type":"ingreso","idempotencyKey":"mi-erp:prod:factura:4471","clientId":"cli_1","usoCfdi":"G03","formaPago":"03","metodoPago":"PUE",`
	items = `"items":[{"quantity":2,"claveProdServ":"86121700","claveUnidad":"E48","description":"Servicio","unitPrice":150.50,"iva":0.16,"objetoImp":"02"}]`
)

func TestEncodeInvoice(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(*unavez.InvoiceParams)
		body   string
	}{
		"as documented": {func(*unavez.InvoiceParams) {}, head + items + `}`},
		"income in pesos, said": {
			func(p *unavez.InvoiceParams) { p.Type, p.Currency = unavez.Income, "MXN" }, head + items + `}`,
		},
		"everything": {
			func(p *unavez.InvoiceParams) { *p = *newFullInvoice() },
			`{"type":"egreso","idempotencyKey":"mi-erp:prod:factura:4471","clientId":"cli_1","usoCfdi":"G03","formaPago":"03","metodoPago":"PUE",` +
				`"serie":"A","exportacion":"01","moneda":"USD","tipoCambio":17.2500,` + items +
				`,"cfdiRelacionados":[{"tipoRelacion":"01","uuids":["0b7c0000-0000-4000-8000-000000000001"]}],` +
				`"informacionGlobal":{"periodicidad":"04","meses":"08","anio":2026}}`,
		},
		"a person retries": {
			func(p *unavez.InvoiceParams) { p.AllowRetryOnFailed = true },
			`{"type":"ingreso","idempotencyKey":"mi-erp:prod:factura:4471","allowRetryOnFailed":true,"clientId":"cli_1","usoCfdi":"G03",` +
				`"formaPago":"03","metodoPago":"PUE",` + items + `}`,
		},
		"a stored product": {
			func(p *unavez.InvoiceParams) { p.Items = []unavez.Item{{ProductID: "prd_1", Quantity: "0.500"}} },
			head + `"items":[{"quantity":0.500,"productId":"prd_1"}]}`,
		},
		"every tax": {
			func(p *unavez.InvoiceParams) {
				p.Items[0].Taxes = []unavez.Tax{
					{Type: "002", Withheld: true, Rate: "0.106667"},
					{Type: "001", Withheld: true, Rate: "0.10"},
					{Type: "003", Factor: "Tasa", Rate: "0.08"},
					{Type: "002", Factor: "Tasa", Rate: "0"},
				}
			},
			head + `"items":[{"quantity":2,"claveProdServ":"86121700","claveUnidad":"E48","description":"Servicio","unitPrice":150.50,` +
				`"iva":0,"ieps":0.08,"retIsr":0.10,"retIva":0.106667,"objetoImp":"02"}]}`,
		},
		"extra fills what is empty": {
			func(p *unavez.InvoiceParams) {
				p.CFDIUse, p.Customer.ID = "", ""
				p.Extra = map[string]any{"type": "traslado", "usoCfdi": "S01", "clientId": "cli_2", "folioInterno": unavez.Decimal("7.10")}
			},
			`{"idempotencyKey":"mi-erp:prod:factura:4471","formaPago":"03","metodoPago":"PUE",` + items +
				`,"clientId":"cli_2","folioInterno":7.10,"type":"traslado","usoCfdi":"S01"}`,
		},
		"a rate for a currency in extra": {
			func(p *unavez.InvoiceParams) { p.ExchangeRate, p.Extra = "17.2", map[string]any{"moneda": "USD"} },
			head + `"tipoCambio":17.2,` + items + `,"moneda":"USD"}`,
		},
		"raw gets the key": {
			func(p *unavez.InvoiceParams) {
				*p = unavez.InvoiceParams{Raw: json.RawMessage(`{ "type":"ingreso", "total": 1.10 }`)}
			},
			`{"idempotencyKey":"mi-erp:prod:factura:4471", "type":"ingreso", "total": 1.10 }`,
		},
		"raw has the key": {
			func(p *unavez.InvoiceParams) {
				*p = unavez.InvoiceParams{Raw: json.RawMessage(`{"type":"ingreso", "idempotencyKey":"mi-erp:prod:factura:4471"}`)}
			},
			`{"type":"ingreso", "idempotencyKey":"mi-erp:prod:factura:4471"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			params := newInvoice()
			row.change(params)
			request, err := newProvider().Encode(&unavez.Operation{Name: unavez.InvoiceCreate, Key: key, Invoice: params})
			require.NoError(t, err)
			require.Equal(t, row.body, string(request.Body))
			require.Equal(t, http.MethodPost, request.Method)
			require.Equal(t, "/authenticated/acme/invoices", request.Path)
			require.Equal(t, unavez.ProofUUID, request.Proof)
			require.Equal(t, params.AllowRetryOnFailed, request.RetriesFailed)
		})
	}
}

func TestEncodeInvoiceRefuses(t *testing.T) {
	t.Parallel()
	type invoice = unavez.InvoiceParams
	refuse := func(change func(*invoice, *unavez.Item)) func(*invoice) {
		return func(p *invoice) { change(p, &p.Items[0]) }
	}
	providertest.Refusals(t, newInvoice, encodeInvoice, []providertest.Refusal[invoice]{
		// What Facty's body has no place for.
		{"Type", func(p *invoice) { p.Type = unavez.Transfer }},
		{"Type", func(p *invoice) { p.Type = providertest.Private }},
		{"Issuer", func(p *invoice) { p.Issuer = providertest.Private }},
		{"Folio", func(p *invoice) { p.Folio = providertest.Private }},
		{"Customer.RFC", func(p *invoice) { p.Customer.RFC = providertest.Private }},
		{"Customer.LegalName", func(p *invoice) { p.Customer.LegalName = providertest.Private }},
		{"Customer.TaxRegime", func(p *invoice) { p.Customer.TaxRegime = providertest.Private }},
		{"Customer.PostalCode", func(p *invoice) { p.Customer.PostalCode = providertest.Private }},
		{"Customer.Email", func(p *invoice) { p.Customer.Email = providertest.Private }},
		{"Items[0].SKU", refuse(func(_ *invoice, i *unavez.Item) { i.SKU = providertest.Private })},
		{"Items[0].Discount", refuse(func(_ *invoice, i *unavez.Item) { i.Discount = "10.00" })},
		// What is missing.
		{"Customer.ID", func(p *invoice) { p.Customer.ID = "" }},
		{"CFDIUse", func(p *invoice) { p.CFDIUse = "" }},
		{"PaymentForm", func(p *invoice) { p.PaymentForm = "" }},
		{"PaymentMethod", func(p *invoice) { p.PaymentMethod = "" }},
		{"Items", func(p *invoice) { p.Items = nil }},
		{"Related", func(p *invoice) { p.Type = unavez.Expense }},
		{"Items[0].Quantity", refuse(func(_ *invoice, i *unavez.Item) { i.Quantity = "" })},
		{"Items[0].UnitPrice", refuse(func(_ *invoice, i *unavez.Item) { i.UnitPrice = "" })},
		{"Items[0].ProductKey", refuse(func(_ *invoice, i *unavez.Item) { i.ProductKey = "" })},
		{"Items[0].UnitKey", refuse(func(_ *invoice, i *unavez.Item) { i.UnitKey = "" })},
		{"Items[0].Description", refuse(func(_ *invoice, i *unavez.Item) { i.Description = "" })},
		{"Items[1].Quantity", func(p *invoice) { p.Items = append(p.Items, unavez.Item{ProductID: "prd_1"}) }},
		{"ExchangeRate", func(p *invoice) { p.Currency = "USD" }},
		{"Related[0].Type", func(p *invoice) { p.Related = []unavez.Relation{{UUIDs: []string{"u"}}} }},
		{"Related[0].UUIDs", func(p *invoice) { p.Related = []unavez.Relation{{Type: "01"}} }},
		{"Global.Months", func(p *invoice) { p.Global = &unavez.GlobalInfo{Periodicity: "01", Year: 2026} }},
		// What goes with something else.
		{"ExchangeRate", func(p *invoice) { p.ExchangeRate = "1" }},
		{"ExchangeRate", func(p *invoice) { p.Currency, p.ExchangeRate = "MXN", "17.2" }},
		{"Items[0].ProductKey", refuse(func(_ *invoice, i *unavez.Item) { i.ProductID = "prd_1" })},
		{"Items[0].UnitPrice", func(p *invoice) { p.Items = []unavez.Item{{ProductID: "prd_1", Quantity: "1", UnitPrice: "9"}} }},
		// Taxes.
		{"Items[0].Taxes[0].Type", refuse(func(_ *invoice, i *unavez.Item) { i.Taxes[0].Type = "001" })},
		{"Items[0].Taxes[0].Type", refuse(func(_ *invoice, i *unavez.Item) { i.Taxes[0].Type = "" })},
		{"Items[0].Taxes[0].Type", refuse(func(_ *invoice, i *unavez.Item) { i.Taxes[0] = unavez.Tax{Type: "003", Withheld: true, Rate: "0.1"} })},
		{"Items[0].Taxes[0].Factor", refuse(func(_ *invoice, i *unavez.Item) { i.Taxes[0].Factor = "Exento" })},
		{"Items[0].Taxes[0].Factor", refuse(func(_ *invoice, i *unavez.Item) { i.Taxes[0].Factor = "Cuota" })},
		{"Items[0].Taxes[0].Rate", refuse(func(_ *invoice, i *unavez.Item) { i.Taxes[0].Rate = "" })},
		{"Items[0].Taxes[1].Type", refuse(func(_ *invoice, i *unavez.Item) { i.Taxes = append(i.Taxes, i.Taxes[0]) })},
		// Raw and Extra.
		{"Customer.ID", func(p *invoice) { p.Raw = json.RawMessage(`{}`) }},
		{"AllowRetryOnFailed", func(p *invoice) { *p = invoice{Raw: json.RawMessage(`{}`), AllowRetryOnFailed: true} }},
		{"Extra", func(p *invoice) { *p = invoice{Raw: json.RawMessage(`{}`), Extra: map[string]any{"a": "b"}} }},
		{"Raw", func(p *invoice) { *p = invoice{Raw: json.RawMessage(`{"idempotencyKey":"PRIVATE-VALUE"}`)} }},
		{"Extra", func(p *invoice) { p.Extra = map[string]any{"idempotencyKey": providertest.Private} }},
		{"Extra", func(p *invoice) { p.Extra = map[string]any{"items": providertest.Private} }},
	})
}

func TestEncodeInvoiceEveryField(t *testing.T) {
	t.Parallel()
	providertest.EveryField(t, newFullInvoice, encodeInvoice)
}

func TestRetriesFailed(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		operation unavez.Operation
		want      bool
		field     string
	}{
		"typed": {invoiceOperation(unavez.InvoiceParams{AllowRetryOnFailed: true}), true, ""},
		"typed, for a credit note": {
			invoiceOperation(unavez.InvoiceParams{
				Type: unavez.Expense, AllowRetryOnFailed: true, Related: []unavez.Relation{{Type: "01", UUIDs: []string{"u"}}},
			}), true, "",
		},
		"extra":       {invoiceOperation(unavez.InvoiceParams{Extra: map[string]any{"allowRetryOnFailed": true}}), true, ""},
		"extra false": {invoiceOperation(unavez.InvoiceParams{Extra: map[string]any{"allowRetryOnFailed": false}}), false, ""},
		"extra text":  {invoiceOperation(unavez.InvoiceParams{Extra: map[string]any{"allowRetryOnFailed": "true"}}), false, "Extra"},
		"extra, another type": {
			invoiceOperation(unavez.InvoiceParams{Extra: map[string]any{"allowRetryOnFailed": true, "type": "traslado"}}), false, "Extra",
		},
		"typed, another type": {
			invoiceOperation(unavez.InvoiceParams{AllowRetryOnFailed: true, Extra: map[string]any{"type": "traslado"}}), false, "AllowRetryOnFailed",
		},
		"raw":               {rawOperation(`{"type":"egreso","allowRetryOnFailed":true}`), true, ""},
		"raw false":         {rawOperation(`{"type":"egreso","allowRetryOnFailed":false}`), false, ""},
		"raw twice":         {rawOperation(`{"type":"egreso","allowRetryOnFailed":true,"allowRetryOnFailed":false}`), false, "Raw"},
		"raw without type":  {rawOperation(`{"allowRetryOnFailed":true}`), false, "Raw"},
		"raw, another type": {rawOperation(`{"type":"traslado","allowRetryOnFailed":true}`), false, "Raw"},
		"a payment": {
			unavez.Operation{Name: unavez.PaymentCreate, Payment: &unavez.PaymentParams{
				Raw: json.RawMessage(`{"type":"ingreso","allowRetryOnFailed":true}`),
			}}, false, "Raw",
		},
		"a retention": {
			unavez.Operation{Name: unavez.RetentionCreate, Retention: &unavez.RetentionParams{
				Extra: map[string]any{"type": "ingreso", "allowRetryOnFailed": true},
			}}, false, "Extra",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row.operation.Key = key
			request, err := newProvider().Encode(&row.operation)
			if row.field == "" {
				require.NoError(t, err)
				require.Equal(t, row.want, request.RetriesFailed)
				return
			}
			var field *unavez.FieldError
			require.ErrorAs(t, err, &field)
			require.Equal(t, row.field, field.Field)
		})
	}
}

func invoiceOperation(changes unavez.InvoiceParams) unavez.Operation {
	params := newInvoice()
	params.Type, params.AllowRetryOnFailed = changes.Type, changes.AllowRetryOnFailed
	params.Related, params.Extra = changes.Related, changes.Extra
	return unavez.Operation{Name: unavez.InvoiceCreate, Invoice: params}
}

func rawOperation(raw string) unavez.Operation {
	return unavez.Operation{Name: unavez.InvoiceCreate, Invoice: &unavez.InvoiceParams{Raw: json.RawMessage(raw)}}
}
