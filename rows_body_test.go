package unavez_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// What crosses the wire as the body, and what is refused before anything does.

// creating sends one main write with the given parameters and returns what crossed the wire.
func creating(t *testing.T, provider, key string, raw json.RawMessage, extra map[string]any) (*sentRequest, error) {
	t.Helper()
	b := newMock(t, provider)
	if raw != nil || extra != nil {
		b.play(answer(201, mainCase(t, provider).success))
	}
	var err error
	switch {
	case provider == atPayouts && raw != nil:
		_, err = b.client.Payouts.Create(t.Context(), &unavez.PayoutParams{Raw: raw}, unavez.WithIdempotencyKey(key))
	case provider == atPayouts:
		params := payoutParams()
		params.Extra = extra
		_, err = b.client.Payouts.Create(t.Context(), params, unavez.WithIdempotencyKey(key))
	case raw != nil:
		_, err = b.client.Invoices.Create(t.Context(), &unavez.InvoiceParams{Raw: raw}, unavez.WithIdempotencyKey(key))
	default:
		params := invoiceParams(provider)
		params.Extra = extra
		_, err = b.client.Invoices.Create(t.Context(), params, unavez.WithIdempotencyKey(key))
	}
	if writes := b.writes(); len(writes) > 0 {
		return &writes[0], err
	}
	return nil, err
}

// requireRefusedLocally checks that nothing crossed the wire, and that the error says why without saying the value.
func requireRefusedLocally(t *testing.T, sent *sentRequest, err error, field string) {
	t.Helper()
	require.Nil(t, sent, "nothing crosses the wire")
	e := requireError(t, err)
	require.Equal(t, unavez.Refused, e.Disposition)
	require.Equal(t, unavez.NotSent, e.Effect)
	require.Empty(t, e.Attempts)
	require.Contains(t, err.Error(), field, "the field is named")
}

func TestRowsRawIsSentByteForByte(t *testing.T) {
	t.Parallel()
	const raw = "{ \"b\" : 1.50,\n\t\"a\":\"\\u00e1 <&>\", \"z\":12345678901234567890 }"
	for _, provider := range resenders() {
		sent, err := creating(t, provider, testKey, []byte(raw), nil)
		require.NoError(t, err)
		require.Equal(t, raw, sent.Body, provider)
	}
	sent, err := creating(t, atFacty, testKey, []byte(raw), nil)
	require.NoError(t, err)
	require.Equal(t, "{\"idempotencyKey\":\""+testKey+"\","+raw[1:], sent.Body, "only the key is added, where it travels in the body")
}

func TestRowsRawThatCarriesTheKey(t *testing.T) {
	t.Parallel()
	for provider, member := range map[string]string{atFacty: "idempotencyKey", atIpsofactura: "idempotency_key"} {
		equal := `{"a":1,"` + member + `":"` + testKey + `"}`
		sent, err := creating(t, provider, testKey, []byte(equal), nil)
		require.NoError(t, err, "an equal key is accepted")
		require.Equal(t, equal, sent.Body)
		for name, other := range map[string]string{
			"another": `"mi-erp:test:factura:1"`, "null": `null`, "number": `7`, "empty": `""`, "object": `{}`,
		} {
			sent, err := creating(t, provider, testKey, []byte(`{"`+member+`":`+other+`}`), nil)
			require.Nil(t, sent, "%s key in Raw at %s", name, provider)
			requireRefusedLocally(t, sent, err, "Raw")
		}
		sent, err = creating(t, provider, testKey, []byte(`{"`+member+`":"`+testKey+`","`+member+`":"x"}`), nil)
		requireRefusedLocally(t, sent, err, "Raw")
	}
}

func TestRowsRawThatIsNoObjectIsRefused(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		for _, raw := range []string{``, ` `, `[]`, `null`, `"x"`, `7`, `{"a":1`, `{"a":1}{"b":2}`, `{a:1}`, "{\"a\":\"\xf1\"}", "\xef\xbb\xbf{}"} {
			sent, err := creating(t, provider, testKey, []byte(raw), nil)
			requireRefusedLocally(t, sent, err, "Raw")
		}
	}
}

func TestRowsNothingElseIsSetBesideRaw(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders()[:3] {
		b := newMock(t, provider)
		for field, params := range map[string]*unavez.InvoiceParams{
			"Folio": {Raw: []byte(`{}`), Folio: "7"}, "Customer.RFC": {Raw: []byte(`{}`), Customer: unavez.Customer{RFC: testRFC}},
			"Items": {Raw: []byte(`{}`), Items: []unavez.Item{{SKU: "1"}}}, "Extra": {Raw: []byte(`{}`), Extra: map[string]any{"a": 1}},
		} {
			_, err := b.client.Invoices.Create(t.Context(), params, unavez.WithIdempotencyKey(testKey))
			requireRefusedLocally(t, nil, err, field)
		}
	}
}

func TestRowsExtraIsMergedBehindTheTypedMembersInTheOrderOfItsNames(t *testing.T) {
	t.Parallel()
	extra := map[string]any{
		"zeta": json.Number("1.50"), "alfa": unavez.Decimal("100.00"), "mid": []any{int64(9007199254740993), "ñ", true, nil}, "obj": map[string]any{"b": 1, "a": "x"},
	}
	for _, provider := range allProviders() {
		plain, err := creating(t, provider, testKey, nil, map[string]any{})
		require.NoError(t, err)
		sent, err := creating(t, provider, testKey, nil, extra)
		require.NoError(t, err)
		want := strings.TrimSuffix(plain.Body, "}") + `,"alfa":100.00,"mid":[9007199254740993,"ñ",true,null],"obj":{"a":"x","b":1},"zeta":1.50}`
		require.Equal(t, want, sent.Body, provider)
	}
}

func TestRowsExtraThatCannotBeSentIsRefused(t *testing.T) {
	t.Parallel()
	typed := map[string]string{atFacty: "formaPago", atIpsofactura: "forma_pago", atFiscalisto: "payment_form", atPayouts: "method"}
	for _, provider := range allProviders() {
		for name, extra := range map[string]map[string]any{
			"a member of a typed field": {typed[provider]: "03"}, "a float": {"a": 1.5}, "a float inside": {"a": []any{map[string]any{"b": float32(1)}}},
			"text that is not UTF-8": {"a": "\xf1"}, "name that is not UTF-8": {"\xf1": 1}, "NaN": {"a": json.Number("NaN")}, "exponent": {"a": json.Number("1e3")},
			"a channel": {"a": make(chan int)}, "a function": {"a": func() {}}, "raw that is not JSON": {"a": json.RawMessage(`{`)},
		} {
			sent, err := creating(t, provider, testKey, nil, extra)
			require.Nil(t, sent, "%s at %s", name, provider)
			requireRefusedLocally(t, sent, err, "Extra")
		}
	}
	sent, err := creating(t, atFacty, testKey, nil, map[string]any{"idempotencyKey": "mi-erp:test:factura:1"})
	requireRefusedLocally(t, sent, err, "Extra")
}

func TestRowsFieldsThatAProviderCannotCarryAreRefusedByName(t *testing.T) {
	t.Parallel()
	change := map[string]func(*unavez.InvoiceParams){
		"Type": func(p *unavez.InvoiceParams) { p.Type = unavez.Transfer }, "Issuer": func(p *unavez.InvoiceParams) { p.Issuer = testRFC },
		"Series": func(p *unavez.InvoiceParams) { p.Series = "B" }, "Folio": func(p *unavez.InvoiceParams) { p.Folio = "007" },
		"CFDIUse": func(p *unavez.InvoiceParams) { p.CFDIUse = "G03" }, "PaymentMethod": func(p *unavez.InvoiceParams) { p.PaymentMethod = "PUE" },
		"Currency": func(p *unavez.InvoiceParams) { p.Currency = "USD"; p.ExchangeRate = "17.5" }, "Export": func(p *unavez.InvoiceParams) { p.Export = "01" },
		"Related": func(p *unavez.InvoiceParams) { p.Related = []unavez.Relation{{Type: "01", UUIDs: []string{testUUID}}} },
		"Global": func(p *unavez.InvoiceParams) {
			p.Global = &unavez.GlobalInfo{Periodicity: "01", Months: "01", Year: 2026}
		},
		"AllowRetryOnFailed": func(p *unavez.InvoiceParams) { p.AllowRetryOnFailed = true }, "Customer.Email": func(p *unavez.InvoiceParams) { p.Customer.Email = "a@b.mx" },
		"Customer.RFC": func(p *unavez.InvoiceParams) { p.Customer = unavez.Customer{RFC: testRFC} }, "Customer.ID": func(p *unavez.InvoiceParams) { p.Customer.ID = "cli_1" },
		"Items[0].SKU": func(p *unavez.InvoiceParams) { p.Items[0].SKU = "S" }, "Items[0].ProductID": func(p *unavez.InvoiceParams) { p.Items[0].ProductID = "p" },
		"Items[0].UnitKey": func(p *unavez.InvoiceParams) { p.Items[0].UnitKey = "E48" }, "Items[0].Discount": func(p *unavez.InvoiceParams) { p.Items[0].Discount = "1" },
		"Items[0].Taxes": func(p *unavez.InvoiceParams) { p.Items[0].Taxes = []unavez.Tax{{Type: "001", Rate: "0.1"}} },
	}
	lacks := map[string][]string{
		atFacty:       {"Type", "Issuer", "Folio", "Customer.RFC", "Customer.Email", "Items[0].SKU", "Items[0].Taxes", "Items[0].Discount"},
		atIpsofactura: {"AllowRetryOnFailed", "Customer.Email", "Customer.ID", "Items[0].ProductID"},
		atFiscalisto: {
			"Type", "Issuer", "Series", "Folio", "CFDIUse", "PaymentMethod", "Currency", "Export", "Related", "Global", "AllowRetryOnFailed", "Customer.Email",
			"Items[0].SKU", "Items[0].UnitKey", "Items[0].Discount", "Items[0].Taxes",
		},
	}
	for provider, fields := range lacks {
		for _, field := range fields {
			params := invoiceParams(provider)
			change[field](params)
			_, err := newMock(t, provider).client.Invoices.Create(t.Context(), params, unavez.WithIdempotencyKey(testKey))
			require.Error(t, err, "%s at %s", field, provider)
			requireRefusedLocally(t, nil, err, field)
		}
	}
}

func TestRowsKeysOutsideTheRuleAreRefusedBeforeAnyIO(t *testing.T) {
	t.Parallel()
	limits := map[string][2]int{atFacty: {8, 128}, atIpsofactura: {1, 100}, atFiscalisto: {8, 255}, atPayouts: {1, 255}}
	for provider, limit := range limits {
		c := mainCase(t, provider)
		for _, n := range []int{limit[0], limit[1]} {
			b := newMock(t, provider).play(answer(201, c.success))
			_, err := c.do(t.Context(), b.client, strings.Repeat("k", n))
			require.NoError(t, err, "%d characters at %s", n, provider)
			require.Len(t, b.writes(), 1)
		}
		bad := []string{strings.Repeat("k", limit[0]-1), strings.Repeat("k", limit[1]+1), "factura ñ 1", " lead-lead", "trail-trail ", "in between", "tab\ttab-tab", "new\nline-line", "del\x7f-del-del", "nul\x00-nul-nul"}
		for _, key := range bad {
			_, err := c.do(t.Context(), newMock(t, provider).client, key)
			requireRefusedLocally(t, nil, err, "")
			require.ErrorIs(t, err, unavez.ErrKeyInvalid, "%q at %s", key, provider)
			_, err = c.reconcile(t.Context(), newMock(t, provider).client, key)
			require.ErrorIs(t, err, unavez.ErrKeyInvalid, "Reconcile of %q at %s", key, provider)
		}
	}
}

func TestRowsNoKeyIsRefusedBeforeAnyIO(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders() {
		for _, c := range writeCases(t, provider) {
			b := newMock(t, provider)
			_, err := c.call(t.Context(), b.client, nil)
			requireRefusedLocally(t, nil, err, "")
			require.ErrorIs(t, err, unavez.ErrNoIdempotencyKey, "%s at %s", c.operation, provider)
		}
	}
}

func TestRowsNilAndEmptyParametersAreRefused(t *testing.T) {
	t.Parallel()
	client := newMock(t, atFacty).client
	var nilContext context.Context
	_, err := client.Invoices.Create(t.Context(), nil)
	requireRefusedLocally(t, nil, err, "params")
	_, err = client.Payments.Stamp(t.Context(), "")
	requireRefusedLocally(t, nil, err, "paymentID")
	_, err = client.Invoices.Create(nilContext, invoiceParams(atFacty))
	requireRefusedLocally(t, nil, err, "ctx")
}

func TestRowsTextsThatAreNotUTF8AreRefusedByName(t *testing.T) {
	t.Parallel()
	params := invoiceParams(atIpsofactura)
	params.Customer.LegalName = "PE\xd1A"
	_, err := newMock(t, atIpsofactura).client.Invoices.Create(t.Context(), params, unavez.WithIdempotencyKey(testKey))
	requireRefusedLocally(t, nil, err, "Customer.LegalName")
	params = invoiceParams(atIpsofactura)
	params.Items[0].UnitPrice = "1e3"
	_, err = newMock(t, atIpsofactura).client.Invoices.Create(t.Context(), params, unavez.WithIdempotencyKey(testKey))
	requireRefusedLocally(t, nil, err, "Items[0].UnitPrice")
	require.NotErrorIs(t, err, unavez.ErrKeyInvalid)
}
