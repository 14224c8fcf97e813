package ipsofactura_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/internal/providertest"
)

func newInvoice() *unavez.InvoiceParams {
	return &unavez.InvoiceParams{
		Issuer: "EKU9003173C9", Series: "B", Folio: "007", PaymentForm: "03", PaymentMethod: "PUE", CFDIUse: "G03",
		Customer: unavez.Customer{RFC: "URE180429TM6", LegalName: "UNIVERSIDAD ROBOTICA ESPAÑOLA", PostalCode: "65000", TaxRegime: "601"},
		Items: []unavez.Item{{
			ProductKey: "86121700", UnitKey: "E48", SKU: "S-1", Description: "Servicio", Quantity: "2", UnitPrice: "150.50", Discount: "1.00",
			TaxObject: "02", Taxes: []unavez.Tax{{Type: "002", Rate: "0.160000"}, {Type: "001", Factor: "Tasa", Rate: "0.10", Withheld: true}},
		}},
	}
}

// newFullInvoice sets everything that Ipsofactura carries.
func newFullInvoice() *unavez.InvoiceParams {
	params := newInvoice()
	params.Type, params.Export, params.Currency, params.ExchangeRate = unavez.Expense, "01", "USD", "17.2500"
	params.Related = []unavez.Relation{{Type: "01", UUIDs: []string{"0b7c0000-0000-4000-8000-000000000001"}}}
	params.Global = &unavez.GlobalInfo{Periodicity: "04", Months: "08", Year: 2026}
	return params
}

func encodeInvoice(params *unavez.InvoiceParams) ([]byte, error) {
	request, err := newProvider().Encode(&unavez.Operation{Name: unavez.InvoiceCreate, Key: key, Invoice: params})
	return request.Body, err
}

const (
	receptor = `"receptor":{"rfc":"URE180429TM6","nombre":"UNIVERSIDAD ROBOTICA ESPAÑOLA","domicilio_fiscal":"65000","regimen_fiscal":"601","uso_cfdi":"G03"}`
	concepto = `{"clave_prod_serv":"86121700","no_identificacion":"S-1","cantidad":2,"clave_unidad":"E48","descripcion":"Servicio",` +
		`"valor_unitario":150.50,"descuento":1.00,"objeto_imp":"02",` +
		`"impuestos":{"traslados":[{"impuesto":"002","tipo_factor":"Tasa","tasa_o_cuota":0.160000}],` +
		`"retenciones":[{"impuesto":"001","tipo_factor":"Tasa","tasa_o_cuota":0.10}]}}`
	numbering = `{"rfc_emisor":"EKU9003173C9","serie":"B","folio":"007",`
)

func TestEncodeInvoice(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(*unavez.InvoiceParams)
		body   string
	}{
		"income in pesos": {
			func(*unavez.InvoiceParams) {},
			numbering + `"tipo_comprobante":"I","moneda":"MXN","forma_pago":"03","metodo_pago":"PUE",` + receptor + `,"conceptos":[` + concepto + `]}`,
		},
		"everything": {
			func(p *unavez.InvoiceParams) { *p = *newFullInvoice() },
			numbering + `"tipo_comprobante":"E","moneda":"USD","forma_pago":"03","metodo_pago":"PUE",` + receptor + `,"conceptos":[` + concepto + `],` +
				`"tipo_cambio":17.2500,"exportacion":"01",` +
				`"cfdi_relacionados":[{"tipo_relacion":"01","uuids":["0b7c0000-0000-4000-8000-000000000001"]}],` +
				`"informacion_global":{"periodicidad":"04","meses":"08","anio":2026}}`,
		},
		"a transfer pays nothing": {
			func(p *unavez.InvoiceParams) {
				p.Type, p.Currency, p.PaymentForm, p.PaymentMethod = unavez.Transfer, "XXX", "", ""
				p.Items = []unavez.Item{{ProductKey: "1", UnitKey: "H87", Description: "Caja", Quantity: "1", UnitPrice: "0"}}
			},
			numbering + `"tipo_comprobante":"T","moneda":"XXX",` + receptor +
				`,"conceptos":[{"clave_prod_serv":"1","cantidad":1,"clave_unidad":"H87","descripcion":"Caja","valor_unitario":0}]}`,
		},
		"taxes by amount, and exempt": {
			func(p *unavez.InvoiceParams) {
				p.Items = []unavez.Item{{
					ProductKey: "1", UnitKey: "H87", Description: "Caja", Quantity: "1", UnitPrice: "1",
					Taxes: []unavez.Tax{{Type: "003", Factor: "Cuota", Rate: "6.4555"}, {Type: "002", Factor: "Exento"}},
				}}
			},
			numbering + `"tipo_comprobante":"I","moneda":"MXN","forma_pago":"03","metodo_pago":"PUE",` + receptor +
				`,"conceptos":[{"clave_prod_serv":"1","cantidad":1,"clave_unidad":"H87","descripcion":"Caja","valor_unitario":1,` +
				`"impuestos":{"traslados":[{"impuesto":"003","tipo_factor":"Cuota","tasa_o_cuota":6.4555},{"impuesto":"002","tipo_factor":"Exento"}]}}]}`,
		},
		"extra fills what is empty": {
			func(p *unavez.InvoiceParams) {
				p.Customer, p.CFDIUse, p.Items, p.Folio = unavez.Customer{}, "", nil, ""
				p.Extra = map[string]any{
					"receptor": json.RawMessage(`{"rfc":"X"}`), "conceptos": []any{}, "folio": 1042, "tipo_comprobante": "I", "moneda": "MXN",
					"idempotency_key": key,
				}
			},
			`{"rfc_emisor":"EKU9003173C9","serie":"B","forma_pago":"03","metodo_pago":"PUE",` +
				`"conceptos":[],"folio":1042,"idempotency_key":"mi-erp:test:factura:77","moneda":"MXN","receptor":{"rfc":"X"},"tipo_comprobante":"I"}`,
		},
		"raw": {
			func(p *unavez.InvoiceParams) { *p = unavez.InvoiceParams{Raw: json.RawMessage(`{ "serie":"B" }`)} }, `{ "serie":"B" }`,
		},
		"raw with the key": {
			func(p *unavez.InvoiceParams) {
				*p = unavez.InvoiceParams{Raw: json.RawMessage(`{"idempotency_key":"mi-erp:test:factura:77"}`)}
			},
			`{"idempotency_key":"mi-erp:test:factura:77"}`,
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
			require.Equal(t, "/cfdi/timbrar", request.Path)
			require.Equal(t, unavez.ProofUUID, request.Proof)
			require.False(t, request.RetriesFailed)
		})
	}
}

func TestEncodeInvoiceRefuses(t *testing.T) {
	t.Parallel()
	type invoice = unavez.InvoiceParams
	item := func(change func(*unavez.Item)) func(*invoice) { return func(p *invoice) { change(&p.Items[0]) } }
	providertest.Refusals(t, newInvoice, encodeInvoice, []providertest.Refusal[invoice]{
		{"Type", func(p *invoice) { p.Type = "P" }},
		{"AllowRetryOnFailed", func(p *invoice) { p.AllowRetryOnFailed = true }},
		{"Customer.ID", func(p *invoice) { p.Customer.ID = providertest.Private }},
		{"Customer.Email", func(p *invoice) { p.Customer.Email = providertest.Private }},
		{"Items[0].ProductID", item(func(i *unavez.Item) { i.ProductID = providertest.Private })},
		{"Issuer", func(p *invoice) { p.Issuer = "" }},
		{"PaymentForm", func(p *invoice) { p.PaymentForm = "" }},
		{"PaymentMethod", func(p *invoice) { p.PaymentMethod = "" }},
		{"Customer.RFC", func(p *invoice) { p.Customer.RFC = "" }},
		{"Customer.LegalName", func(p *invoice) { p.Customer.LegalName = "" }},
		{"Customer.PostalCode", func(p *invoice) { p.Customer.PostalCode = "" }},
		{"ExchangeRate", func(p *invoice) { p.Currency = "USD" }},
		{"Items", func(p *invoice) { p.Items = nil }},
		{"Items[0].ProductKey", item(func(i *unavez.Item) { i.ProductKey = "" })},
		{"Items[0].UnitKey", item(func(i *unavez.Item) { i.UnitKey = "" })},
		{"Items[0].Description", item(func(i *unavez.Item) { i.Description = "" })},
		{"Items[0].Quantity", item(func(i *unavez.Item) { i.Quantity = "" })},
		{"Items[0].UnitPrice", item(func(i *unavez.Item) { i.UnitPrice = "" })},
		{"Items[0].Taxes[0].Type", item(func(i *unavez.Item) { i.Taxes[0].Type = "" })},
		{"Items[0].Taxes[1].Rate", item(func(i *unavez.Item) { i.Taxes[1].Rate = "" })},
		{"Items[0].Taxes[1].Rate", item(func(i *unavez.Item) { i.Taxes[1].Factor = "Exento" })},
		{"Items[0].Taxes[1].Factor", item(func(i *unavez.Item) { i.Taxes[1].Factor = providertest.Private })},
		{"Related[0].Type", func(p *invoice) { p.Related = []unavez.Relation{{UUIDs: []string{"u"}}} }},
		{"Global.Year", func(p *invoice) { p.Global = &unavez.GlobalInfo{Periodicity: "01", Months: "01"} }},
		{"Issuer", func(p *invoice) { p.Raw = json.RawMessage(`{}`) }},
		{"Raw", func(p *invoice) { *p = invoice{Raw: json.RawMessage(`{"idempotency_key":"PRIVATE-VALUE"}`)} }},
		{"Extra", func(p *invoice) { p.Extra = map[string]any{"idempotency_key": providertest.Private} }},
		{"Extra", func(p *invoice) { p.Extra = map[string]any{"receptor": providertest.Private} }},
	})
}

func TestEncodeInvoiceEveryField(t *testing.T) {
	t.Parallel()
	providertest.EveryField(t, newFullInvoice, encodeInvoice)
}

func newXML() *unavez.StampXMLParams {
	return &unavez.StampXMLParams{XML: []byte("<cfdi:Comprobante/>")}
}

func encodeXML(params *unavez.StampXMLParams) ([]byte, error) {
	request, err := newProvider().Encode(&unavez.Operation{Name: unavez.InvoiceStampXML, Key: key, StampXML: params})
	return []byte(request.Path + string(request.Body)), err
}

func TestEncodeXML(t *testing.T) {
	t.Parallel()
	sealed := newXML()
	sealed.Sealed, sealed.Extra = true, map[string]any{"correo": "a@b.test"}
	for name, row := range map[string]struct {
		params *unavez.StampXMLParams
		want   string
	}{
		"without seal": {newXML(), `/cfdi/timbrar-xml{"xml_base64":"PGNmZGk6Q29tcHJvYmFudGUvPg=="}`},
		"sealed":       {sealed, `/cfdi/timbrar-sellado{"xml_base64":"PGNmZGk6Q29tcHJvYmFudGUvPg==","correo":"a@b.test"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := encodeXML(row.params)
			require.NoError(t, err)
			require.Equal(t, row.want, string(got))
		})
	}
	providertest.Refusals(t, newXML, encodeXML, []providertest.Refusal[unavez.StampXMLParams]{
		{"XML", func(p *unavez.StampXMLParams) { p.XML = nil }},
		{"XML", func(p *unavez.StampXMLParams) { p.XML = []byte("<a nombre='PE\xd1A'/>") }},
	})
	providertest.EveryField(t, newXML, encodeXML)
}

func newPayment() *unavez.PaymentParams {
	return &unavez.PaymentParams{
		Issuer: "EKU9003173C9", Series: "P", Folio: "1", StampNow: true, PaymentForm: "03", Amount: "116.00",
		PaidAt:   time.Date(2026, 8, 11, 23, 20, 30, 0, time.FixedZone("CST", -6*60*60)),
		Customer: unavez.Customer{RFC: "URE180429TM6", LegalName: "UNIVERSIDAD", PostalCode: "65000", TaxRegime: "601"},
		Documents: []unavez.PaidDocument{{
			UUID: "0b7c0000-0000-4000-8000-000000000001", Installment: 1, PreviousBalance: "116.00", Paid: "116.00", RemainingBalance: "0.00",
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
		head = `{"rfc_emisor":"EKU9003173C9","serie":"P","folio":"1",` +
			`"receptor":{"rfc":"URE180429TM6","nombre":"UNIVERSIDAD","domicilio_fiscal":"65000","regimen_fiscal":"601"},`
		documents = `"documentos_relacionados":[{"id_documento":"0b7c0000-0000-4000-8000-000000000001","num_parcialidad":1,` +
			`"imp_saldo_ant":116.00,"imp_pagado":116.00,"imp_saldo_insoluto":0.00}]`
	)
	for name, row := range map[string]struct {
		change func(*unavez.PaymentParams)
		body   string
	}{
		"in pesos": {
			func(*unavez.PaymentParams) {},
			head + `"pagos":[{"fecha_pago":"2026-08-11T23:20:30","forma_de_pago":"03","moneda":"MXN","monto":116.00,` + documents + `}]}`,
		},
		"in dollars": {
			func(p *unavez.PaymentParams) { p.Currency, p.ExchangeRate, p.Reference = "USD", "17.2500", "0001" },
			head + `"pagos":[{"fecha_pago":"2026-08-11T23:20:30","forma_de_pago":"03","moneda":"USD","tipo_cambio":17.2500,` +
				`"monto":116.00,"num_operacion":"0001",` + documents + `}]}`,
		},
		"extra has the payments": {
			func(p *unavez.PaymentParams) {
				*p = unavez.PaymentParams{Issuer: p.Issuer, Customer: p.Customer, StampNow: true, Extra: map[string]any{"pagos": []any{}}}
			},
			`{"rfc_emisor":"EKU9003173C9","receptor":{"rfc":"URE180429TM6","nombre":"UNIVERSIDAD","domicilio_fiscal":"65000","regimen_fiscal":"601"},"pagos":[]}`,
		},
		"raw": {
			func(p *unavez.PaymentParams) { *p = unavez.PaymentParams{Raw: json.RawMessage(`{"pagos": []}`)} }, `{"pagos": []}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			params := newPayment()
			row.change(params)
			request, err := newProvider().Encode(&unavez.Operation{Name: unavez.PaymentCreate, Key: key, Payment: params})
			require.NoError(t, err)
			require.Equal(t, row.body, string(request.Body))
			require.Equal(t, "/cfdi/complemento-pago", request.Path)
			require.Equal(t, unavez.ProofUUID, request.Proof)
		})
	}
}

func TestEncodePaymentRefuses(t *testing.T) {
	t.Parallel()
	type payment = unavez.PaymentParams
	providertest.Refusals(t, newPayment, encodePayment, []providertest.Refusal[payment]{
		{"AccountID", func(p *payment) { p.AccountID = providertest.Private }},
		{"StampNow", func(p *payment) { p.StampNow = false }},
		{"Documents[0].InvoiceID", func(p *payment) { p.Documents[0].InvoiceID = providertest.Private }},
		{"Issuer", func(p *payment) { p.Issuer = "" }},
		{"Customer.RFC", func(p *payment) { p.Customer = unavez.Customer{} }},
		{"PaidAt", func(p *payment) { p.PaidAt = time.Time{} }},
		{"PaymentForm", func(p *payment) { p.PaymentForm = "" }},
		{"Amount", func(p *payment) { p.Amount = "" }},
		{"Documents", func(p *payment) { p.Documents = nil }},
		{"Documents[0].UUID", func(p *payment) { p.Documents[0].UUID = "" }},
		{"Documents[0].Installment", func(p *payment) { p.Documents[0].Installment = -1 }},
		{"Documents[0].Paid", func(p *payment) { p.Documents[0].Paid = "" }},
		{"ExchangeRate", func(p *payment) { p.Currency = "USD" }},
		{"StampNow", func(p *payment) { *p = payment{StampNow: true, Raw: json.RawMessage(`{}`)} }},
		{"Extra", func(p *payment) { p.Extra = map[string]any{"pagos": providertest.Private} }},
	})
}

func TestEncodePaymentEveryField(t *testing.T) {
	t.Parallel()
	providertest.EveryField(t, newPayment, encodePayment)
}

func newCancel() *unavez.CancelParams { return &unavez.CancelParams{ID: "cfdi_1", Motive: "02"} }

func encodeCancel(params *unavez.CancelParams) ([]byte, error) {
	request, err := newProvider().Encode(&unavez.Operation{Name: unavez.InvoiceCancel, Key: key, Cancel: params})
	return request.Body, err
}

func TestEncodeCancel(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		params unavez.CancelParams
		body   string
	}{
		"by id": {*newCancel(), `{"id":"cfdi_1","motivo":"02"}`},
		"by uuid, replaced": {
			unavez.CancelParams{UUID: "u-1", Motive: "01", SubstituteUUID: "u-2"}, `{"uuid":"u-1","motivo":"01","folio_sustitucion":"u-2"}`,
		},
		"extra": {unavez.CancelParams{Motive: "03", Extra: map[string]any{"id": "cfdi_1"}}, `{"motivo":"03","id":"cfdi_1"}`},
		"raw":   {unavez.CancelParams{Raw: json.RawMessage(`{"motivo": "04"}`)}, `{"motivo": "04"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request, err := newProvider().Encode(&unavez.Operation{Name: unavez.InvoiceCancel, Key: key, Cancel: &row.params})
			require.NoError(t, err)
			require.Equal(t, row.body, string(request.Body))
			require.Equal(t, "/cfdi/cancelar", request.Path)
			require.Equal(t, unavez.ProofObject, request.Proof)
		})
	}
	type cancel = unavez.CancelParams
	providertest.Refusals(t, newCancel, encodeCancel, []providertest.Refusal[cancel]{
		{"ID", func(p *cancel) { p.ID = "" }},
		{"Motive", func(p *cancel) { p.Motive = "" }},
		{"Motive", func(p *cancel) { p.Motive = "1" }},
		{"SubstituteUUID", func(p *cancel) { p.SubstituteUUID = providertest.Private }},
		{"SubstituteUUID", func(p *cancel) { p.Motive = "01" }},
		{"ID", func(p *cancel) { p.Raw = json.RawMessage(`{}`) }},
	})
	providertest.EveryField(t, newCancel, encodeCancel)
}
