package fiscalisto_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/fiscalisto"
	"github.com/unavez/unavez/providers/internal/providertest"
)

const key = "mi-erp:prod:pedido:A-1042"

func newProvider() fiscalisto.Provider { return fiscalisto.Provider{APIKey: providertest.Secret} }

func newInvoice() *unavez.InvoiceParams {
	return &unavez.InvoiceParams{
		Customer: unavez.Customer{
			RFC: "ICV060329BY0", LegalName: "INMOBILIARIA CVA & PEÑA", TaxRegime: "601", PostalCode: "33826",
		},
		PaymentForm: "03",
		Items:       []unavez.Item{{Description: "Renta", ProductKey: "86121700", Quantity: "1", UnitPrice: "900.00"}},
	}
}

func encode(params *unavez.InvoiceParams) ([]byte, error) {
	request, err := newProvider().Encode(&unavez.Operation{Name: unavez.InvoiceCreate, Key: key, Invoice: params})
	return request.Body, err
}

func TestProfile(t *testing.T) {
	t.Parallel()
	for environment, account := range map[unavez.Environment]string{
		unavez.Production: "prod https://api.fiscalisto.com", unavez.Test: "test https://api.fiscalisto.com",
	} {
		profile, err := newProvider().Profile(environment)
		require.NoError(t, err)
		require.Equal(t, "fiscalisto", profile.Name)
		require.Equal(t, "https://api.fiscalisto.com", profile.BaseURL)
		require.Equal(t, account, profile.Account)
		require.Equal(t, http.Header{"Authorization": {"Bearer " + providertest.Secret}}, profile.Header)
		require.Equal(t, unavez.KeyRule{Min: 8, Max: 255, Header: "Idempotency-Key"}, profile.Key)
		require.Equal(t, "Idempotent-Replayed", profile.ReplayedHeader)
		for _, operation := range []unavez.OperationName{unavez.InvoiceCreate, unavez.RawOperation} {
			require.Equal(t, unavez.Forever, profile.Operations[operation].Retention)
			require.Equal(t, unavez.AmbiguityResend, profile.Operations[operation].Ambiguity)
		}
	}
}

func TestProfileRefuses(t *testing.T) {
	t.Parallel()
	_, err := newProvider().Profile("")
	require.ErrorContains(t, err, "BaseURL")
	_, err = fiscalisto.Provider{}.Profile(unavez.Test)
	require.ErrorContains(t, err, "APIKey")
	_, err = fiscalisto.Provider{APIKey: "ñ" + providertest.Private}.Profile(unavez.Test)
	require.ErrorContains(t, err, "APIKey")
	require.NotContains(t, err.Error(), providertest.Private)
}

func TestFromEnv(t *testing.T) {
	t.Setenv("FISCALISTO_API_KEY", "")
	_, err := fiscalisto.FromEnv()
	require.ErrorContains(t, err, "FISCALISTO_API_KEY")
	t.Setenv("FISCALISTO_API_KEY", "sk_1")
	provider, err := fiscalisto.FromEnv()
	require.NoError(t, err)
	require.Equal(t, fiscalisto.Provider{APIKey: "sk_1"}, provider)
}

func TestEncode(t *testing.T) {
	t.Parallel()
	const customer = `{"customer":{"tax_id":"ICV060329BY0","legal_name":"INMOBILIARIA CVA \u0026 PEÑA","tax_system":"601","zip":"33826"},`
	const items = `"items":[{"description":"Renta","product_key":"86121700","quantity":1,"unit_price":900.00}]`
	for name, row := range map[string]struct {
		change func(*unavez.InvoiceParams)
		body   string
	}{
		"a customer and a product with their data": {
			func(*unavez.InvoiceParams) {}, customer + `"payment_form":"03",` + items + `}`,
		},
		"a stored customer and product": {
			func(p *unavez.InvoiceParams) {
				p.Customer, p.Items = unavez.Customer{ID: "cus_1"}, []unavez.Item{{ProductID: "prd_1"}, {ProductID: "prd_2", Quantity: "3"}}
			},
			`{"customer":"cus_1","payment_form":"03","items":[{"product":"prd_1"},{"product":"prd_2","quantity":3}]}`,
		},
		"income, said, without a payment form": {
			func(p *unavez.InvoiceParams) { p.Type, p.PaymentForm = unavez.Income, "" }, customer + items + `}`,
		},
		"extra": {
			func(p *unavez.InvoiceParams) {
				p.Customer, p.Extra = unavez.Customer{}, map[string]any{"use": "G03", "customer": map[string]any{"id": 7}}
			},
			`{"payment_form":"03",` + items + `,"customer":{"id":7},"use":"G03"}`,
		},
		"raw": {
			func(p *unavez.InvoiceParams) {
				*p = unavez.InvoiceParams{Raw: json.RawMessage(`{ "customer": "cus_1" }`)}
			},
			`{ "customer": "cus_1" }`,
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
			require.Equal(t, "/v1/invoices", request.Path)
			require.Equal(t, unavez.ProofUUID, request.Proof)
			require.False(t, request.RetriesFailed)
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	type invoice = unavez.InvoiceParams
	item := func(change func(*unavez.Item)) func(*invoice) { return func(p *invoice) { change(&p.Items[0]) } }
	providertest.Refusals(t, newInvoice, encode, []providertest.Refusal[invoice]{
		// What has no documented name.
		{"Type", func(p *invoice) { p.Type = unavez.Expense }},
		{"Type", func(p *invoice) { p.Type = unavez.Transfer }},
		{"Issuer", func(p *invoice) { p.Issuer = providertest.Private }},
		{"Series", func(p *invoice) { p.Series = providertest.Private }},
		{"Folio", func(p *invoice) { p.Folio = providertest.Private }},
		{"CFDIUse", func(p *invoice) { p.CFDIUse = providertest.Private }},
		{"PaymentMethod", func(p *invoice) { p.PaymentMethod = providertest.Private }},
		{"Currency", func(p *invoice) { p.Currency = "MXN" }},
		{"ExchangeRate", func(p *invoice) { p.ExchangeRate = "17.2" }},
		{"Export", func(p *invoice) { p.Export = "01" }},
		{"Related", func(p *invoice) { p.Related = []unavez.Relation{{}} }},
		{"Global", func(p *invoice) { p.Global = &unavez.GlobalInfo{} }},
		{"AllowRetryOnFailed", func(p *invoice) { p.AllowRetryOnFailed = true }},
		{"Customer.Email", func(p *invoice) { p.Customer.Email = providertest.Private }},
		{"Items[0].UnitKey", item(func(i *unavez.Item) { i.UnitKey = providertest.Private })},
		{"Items[0].SKU", item(func(i *unavez.Item) { i.SKU = providertest.Private })},
		{"Items[0].Discount", item(func(i *unavez.Item) { i.Discount = "1" })},
		{"Items[0].TaxObject", item(func(i *unavez.Item) { i.TaxObject = "02" })},
		{"Items[0].Taxes", item(func(i *unavez.Item) { i.Taxes = []unavez.Tax{{Type: "002", Rate: "0.16"}} })},
		// What is missing.
		{"Customer", func(p *invoice) { p.Customer = unavez.Customer{} }},
		{"Customer.RFC", func(p *invoice) { p.Customer.RFC = "" }},
		{"Customer.LegalName", func(p *invoice) { p.Customer.LegalName = "" }},
		{"Customer.TaxRegime", func(p *invoice) { p.Customer.TaxRegime = "" }},
		{"Customer.PostalCode", func(p *invoice) { p.Customer.PostalCode = "" }},
		{"Items", func(p *invoice) { p.Items = nil }},
		{"Items[0].Description", item(func(i *unavez.Item) { i.Description = "" })},
		{"Items[0].ProductKey", item(func(i *unavez.Item) { i.ProductKey = "" })},
		{"Items[0].Quantity", item(func(i *unavez.Item) { i.Quantity = "" })},
		{"Items[0].UnitPrice", item(func(i *unavez.Item) { i.UnitPrice = "" })},
		// What excludes something else.
		{"Customer.ID", func(p *invoice) { p.Customer.ID = "cus_1" }},
		{"Items[0].Description", item(func(i *unavez.Item) { i.ProductID = "prd_1" })},
		{"Items[0].UnitPrice", item(func(i *unavez.Item) { *i = unavez.Item{ProductID: "prd_1", UnitPrice: "1"} })},
		{"Customer.RFC", func(p *invoice) { p.Raw = json.RawMessage(`{}`) }},
		{"Extra", func(p *invoice) { p.Extra = map[string]any{"customer": providertest.Private} }},
	})
}

func TestEveryField(t *testing.T) {
	t.Parallel()
	providertest.EveryField(t, newInvoice, encode)
}

func encodeRaw(params *unavez.RawParams) ([]byte, error) {
	request, err := newProvider().Encode(&unavez.Operation{Name: params.Operation, Key: key, Raw: params})
	return request.Body, err
}

func TestEncodeRaw(t *testing.T) {
	t.Parallel()
	params := &unavez.RawParams{Operation: "credit_notes.create", Path: "/v1/credit-notes/cn_1.2~x/stamp", Raw: json.RawMessage(`{"a": 1.10}`)}
	request, err := newProvider().Encode(&unavez.Operation{Name: params.Operation, Key: key, Raw: params})
	require.NoError(t, err)
	require.Equal(t, unavez.Request{
		Method: http.MethodPost, Path: "/v1/credit-notes/cn_1.2~x/stamp", Body: []byte(`{"a": 1.10}`), Proof: unavez.ProofUUID,
	}, request)
}

func TestEncodeRawRefuses(t *testing.T) {
	t.Parallel()
	newRaw := func() *unavez.RawParams {
		return &unavez.RawParams{Operation: "credit_notes.create", Path: "/v1/credit-notes", Raw: json.RawMessage(`{}`)}
	}
	type row = providertest.Refusal[unavez.RawParams]
	rows := []row{
		{"Raw", func(p *unavez.RawParams) { p.Raw = nil }},
		{"Raw", func(p *unavez.RawParams) { p.Raw = json.RawMessage(`[{}]`) }},
		{"Raw", func(p *unavez.RawParams) { p.Raw = json.RawMessage("{\"a\":\"\xf1\"}") }},
	}
	for _, path := range []string{
		"", "/", "/v1", "/v1/", "v1/x", "/v2/x", "/v1x/y", "/v1/../x", "/v1/x/..", "/v1/./x", "/v1//x", "/v1/x/", "/v1/x?a=b", "/v1/x#a",
		"/v1/%2e%2e/x", "/v1/x y", "/v1/x\ny", "/v1/x\\y", "/v1/ñ", "//evil.test/v1/x", "https://evil.test/v1/x", "/v1/x;y", "/v1/@x",
	} {
		rows = append(rows, row{"Path", func(p *unavez.RawParams) { p.Path = path }})
	}
	providertest.Refusals(t, newRaw, encodeRaw, rows)
}

func TestUnsupported(t *testing.T) {
	t.Parallel()
	providertest.Unsupported(t, newProvider(),
		&unavez.Operation{Name: unavez.InvoiceStampXML, StampXML: &unavez.StampXMLParams{}},
		&unavez.Operation{Name: unavez.InvoiceCancel, Cancel: &unavez.CancelParams{}},
		&unavez.Operation{Name: unavez.PaymentCreate, Payment: &unavez.PaymentParams{}},
		&unavez.Operation{Name: unavez.PaymentStamp, PaymentID: "p"},
		&unavez.Operation{Name: unavez.PaymentCancel, Cancel: &unavez.CancelParams{}},
		&unavez.Operation{Name: unavez.RetentionCreate, Retention: &unavez.RetentionParams{}},
		&unavez.Operation{Name: unavez.PayoutCreate, Payout: &unavez.PayoutParams{}},
	)
}

func TestRules(t *testing.T) {
	t.Parallel()
	t.Run("invoice", func(t *testing.T) {
		t.Parallel()
		providertest.Rules(t, newProvider(), func(client *unavez.Client) error {
			_, err := client.Invoices.Create(context.Background(), newInvoice(), unavez.WithIdempotencyKey(key))
			return err
		})
	})
	t.Run("raw", func(t *testing.T) {
		t.Parallel()
		params := unavez.RawParams{Operation: "payroll.create", Path: "/v1/payroll", Raw: json.RawMessage(`{}`)}
		providertest.Rules(t, newProvider(), func(client *unavez.Client) error {
			_, err := client.Do(context.Background(), &params, unavez.WithIdempotencyKey(key))
			return err
		})
	})
}

func TestSecret(t *testing.T) {
	t.Parallel()
	provider := newProvider()
	provider.BaseURL, provider.Account = "https://u:"+providertest.Secret+"@fiscalisto.test/x#"+providertest.Secret, "matriz"
	providertest.KeepsSecret(t, provider, "fiscalisto", "https://fiscalisto.test/x", "matriz", "APIKey", "[redacted]")
}
