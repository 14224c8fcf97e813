package unavez_test

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// untouched fails the test when anything is sent.
type untouched struct{ t *testing.T }

func (u untouched) RoundTrip(request *http.Request) (*http.Response, error) {
	u.t.Errorf("%s %s was sent", request.Method, request.URL.Path)
	return nil, errors.New("sent")
}

// untouchedJournal fails the test when anything is recorded.
type untouchedJournal struct {
	*unavez.MemoryJournal

	t *testing.T
}

func (u untouchedJournal) Begin(context.Context, unavez.Intent) (unavez.Record, error) {
	u.t.Error("an intent was recorded")
	return unavez.Record{}, errors.New("recorded")
}

func newUntouched(t *testing.T, provider string) *unavez.Client {
	t.Helper()
	client, err := unavez.New(propertyProvider(provider), unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Test),
		unavez.WithHTTPClient(&http.Client{Transport: untouched{t}}), unavez.WithJournal(untouchedJournal{t: t}))
	require.NoError(t, err)
	return client
}

// badCall is one call that must be refused before any I/O, and what its error must name.
type badCall struct {
	fact string
	call func(client *unavez.Client) error
	says string
	is   error
}

// requireRefusal is what every refusal before any I/O looks like.
func requireRefusal(t *testing.T, err error) *unavez.Error {
	t.Helper()
	var refused *unavez.Error
	require.ErrorAs(t, err, &refused)
	require.ErrorIs(t, err, unavez.ErrRefused)
	require.NotErrorIs(t, err, unavez.ErrRetryLater)
	require.NotErrorIs(t, err, unavez.ErrNeedsManualReview)
	require.Equal(t, unavez.NotSent, refused.Effect)
	require.Empty(t, refused.Attempts)
	require.Zero(t, refused.RetryAfter)
	return refused
}

func (r badCall) run(t *testing.T, provider string) {
	t.Helper()
	t.Run(provider+"/"+r.fact, func(t *testing.T) {
		t.Parallel()
		err := r.call(newUntouched(t, provider))
		_ = requireRefusal(t, err)
		require.ErrorContains(t, err, r.says)
		if r.is != nil {
			require.ErrorIs(t, err, r.is)
		}
		require.NotContains(t, err.Error(), "secret")
	})
}

func goodInvoice() *unavez.InvoiceParams {
	return &unavez.InvoiceParams{
		Customer: unavez.Customer{ID: "cli_1"}, CFDIUse: "G03", PaymentForm: "03", PaymentMethod: "PUE",
		Items: []unavez.Item{{
			ProductKey: "86121700", UnitKey: "E48", Description: "Servicio", Quantity: "2", UnitPrice: "150.50", TaxObject: "02",
			Taxes: []unavez.Tax{{Type: "002", Rate: "0.16"}},
		}},
	}
}

func create(change func(params *unavez.InvoiceParams), options ...unavez.CallOption) func(*unavez.Client) error {
	return func(client *unavez.Client) error {
		params := goodInvoice()
		if change != nil {
			change(params)
		}
		if options == nil {
			options = []unavez.CallOption{unavez.WithDomainID("factura", "4471")}
		}
		_, err := client.Invoices.Create(context.Background(), params, options...)
		return err
	}
}

func TestBadKeysAreRefusedBeforeAnyIO(t *testing.T) {
	t.Parallel()
	key := func(key string) func(*unavez.Client) error { return create(nil, unavez.WithIdempotencyKey(key)) }
	const rule = "expected 8 to 128 printable ASCII characters without a space"
	for _, r := range []badCall{
		{"empty key", key(""), rule, unavez.ErrKeyInvalid},
		{"key too short", key("secret7"), rule, unavez.ErrKeyInvalid},
		{"key too long", key(strings.Repeat("k", 129)), rule, unavez.ErrKeyInvalid},
		{"key with a space", key("a secret key"), rule, unavez.ErrKeyInvalid},
		{"key with a space at its end", key("secret-key "), rule, unavez.ErrKeyInvalid},
		{"key with a control byte", key("secret-key\n"), "byte 0x0a at position 10", unavez.ErrKeyInvalid},
		{"key with DEL", key("secret-key\x7f"), rule, unavez.ErrKeyInvalid},
		{"key that is not ASCII", key("secret-ñ-key"), "byte 0xc3 at position 7", unavez.ErrKeyInvalid},
		{"no key and no domain id", create(nil, []unavez.CallOption{}...), "expected WithIdempotencyKey or WithDomainID", nil},
		{"no option that names a key", create(nil, unavez.WithTimeout(time.Second)), "expected WithIdempotencyKey or WithDomainID", unavez.ErrNoIdempotencyKey},
		{"both", create(nil, unavez.WithIdempotencyKey("secret-key"), unavez.WithDomainID("a", "b")), "both given", unavez.ErrKeyInvalid},
		{"domain id without kind", create(nil, unavez.WithDomainID("", "4471")), "kind is empty", unavez.ErrKeyInvalid},
		{"domain id without id", create(nil, unavez.WithDomainID("factura", "")), "id is empty", unavez.ErrKeyInvalid},
		{"bad key to reconcile", func(c *unavez.Client) error {
			_, err := c.Invoices.Reconcile(context.Background(), "secret")
			return err
		}, rule, unavez.ErrKeyInvalid},
		{"bad key to await", func(c *unavez.Client) error { _, err := c.Invoices.Await(context.Background(), ""); return err }, rule, unavez.ErrKeyInvalid},
	} {
		if r.fact == "no key and no domain id" {
			r.call = func(c *unavez.Client) error {
				_, err := c.Invoices.Create(context.Background(), goodInvoice())
				return err
			}
			r.is = unavez.ErrNoIdempotencyKey
		}
		r.run(t, "facty")
	}
}

func TestDomainIDNeedsANamespaceAndAnEnvironment(t *testing.T) {
	t.Parallel()
	for _, options := range [][]unavez.ClientOption{
		nil, {unavez.WithNamespace("mi-erp")}, {unavez.WithEnvironment(unavez.Test)},
	} {
		options = append(options, unavez.WithHTTPClient(&http.Client{Transport: untouched{t}}))
		client, err := unavez.New(propertyProvider("facty"), options...)
		require.NoError(t, err)
		err = create(nil)(client)
		_ = requireRefusal(t, err)
		require.ErrorIs(t, err, unavez.ErrNoIdempotencyKey)
		require.ErrorContains(t, err, "WithDomainID needs a client with WithNamespace and WithEnvironment")
	}
}

func TestBadParametersAreRefusedByName(t *testing.T) {
	t.Parallel()
	for _, r := range []badCall{
		{fact: "invalid UTF-8", call: create(func(p *unavez.InvoiceParams) { p.Items[0].Description = "secret\xf1" }), says: "Items[0].Description: is not valid UTF-8"},
		{fact: "invalid UTF-8 in a code", call: create(func(p *unavez.InvoiceParams) { p.CFDIUse = "G\xff" }), says: "CFDIUse: is not valid UTF-8"},
		{fact: "invalid UTF-8 in a field that the provider lacks", call: create(func(p *unavez.InvoiceParams) { p.Customer.LegalName = "secret\xf1" }), says: "Customer.LegalName: is not valid UTF-8"},
		{fact: "invalid UTF-8 in a relation", call: create(func(p *unavez.InvoiceParams) { p.Related = []unavez.Relation{{UUIDs: []string{"x", "\xf1"}}} }), says: "Related[0].UUIDs[1]: is not valid UTF-8"},
		{fact: "invalid UTF-8 in the global data", call: create(func(p *unavez.InvoiceParams) { p.Global = &unavez.GlobalInfo{Months: "\xf1"} }), says: "Global.Months: is not valid UTF-8"},
		{fact: "an exponent", call: create(func(p *unavez.InvoiceParams) { p.Items[0].UnitPrice = "1e3" }), says: "Items[0].UnitPrice: is not a decimal literal"},
		{fact: "NaN", call: create(func(p *unavez.InvoiceParams) { p.Items[0].Quantity = "NaN" }), says: "Items[0].Quantity: is not a decimal literal"},
		{fact: "an amount with a comma", call: create(func(p *unavez.InvoiceParams) { p.Items[0].Taxes[0].Rate = "0,16" }), says: "Items[0].Taxes[0].Rate: is not a decimal literal"},
		{fact: "a negative amount", call: create(func(p *unavez.InvoiceParams) { p.Items[0].UnitPrice = "-1" }), says: "Items[0].UnitPrice: is negative"},
		{fact: "an amount with too many digits", call: create(func(p *unavez.InvoiceParams) { p.ExchangeRate = "1234567890123456789" }), says: "ExchangeRate: has 19 integer digits"},
		{fact: "Raw that is an array", call: create(func(p *unavez.InvoiceParams) { *p = unavez.InvoiceParams{Raw: []byte(`[{"secret":1}]`)} }), says: "Raw: is not one JSON object"},
		{fact: "Raw that is two objects", call: create(func(p *unavez.InvoiceParams) { *p = unavez.InvoiceParams{Raw: []byte(`{}{}`)} }), says: "Raw: is not one JSON object"},
		{fact: "Raw that is empty", call: create(func(p *unavez.InvoiceParams) { *p = unavez.InvoiceParams{Raw: []byte{}} }), says: "Raw: is not one JSON object"},
		{fact: "Raw that is not UTF-8", call: create(func(p *unavez.InvoiceParams) { *p = unavez.InvoiceParams{Raw: []byte("{\"a\":\"\xf1\"}")} }), says: "Raw: is not valid UTF-8"},
		{fact: "Raw with another key", call: create(func(p *unavez.InvoiceParams) { *p = unavez.InvoiceParams{Raw: []byte(`{"idempotencyKey":"secret"}`)} }), says: "Raw: has idempotencyKey"},
		{fact: "Raw beside a field", call: create(func(p *unavez.InvoiceParams) { p.Raw = []byte(`{}`) }), says: "is set beside Raw"},
		{fact: "Extra over a typed field", call: create(func(p *unavez.InvoiceParams) { p.Extra = map[string]any{"usoCfdi": "secret"} }), says: "Extra: would overwrite"},
		{fact: "Extra over the key", call: create(func(p *unavez.InvoiceParams) { p.Extra = map[string]any{"idempotencyKey": "secret"} }), says: "Extra: would overwrite"},
		{fact: "Extra with a float", call: create(func(p *unavez.InvoiceParams) { p.Extra = map[string]any{"descuento": 0.1} }), says: `Extra["descuento"]: is a floating-point number`},
		{fact: "Extra with infinity", call: create(func(p *unavez.InvoiceParams) { p.Extra = map[string]any{"x": math.Inf(1)} }), says: `Extra["x"]: is a floating-point number`},
		{fact: "nil params", call: func(c *unavez.Client) error {
			_, err := c.Invoices.Create(context.Background(), nil, unavez.WithDomainID("factura", "1"))
			return err
		}, says: "params is nil"},
		{fact: "nil context", call: func(c *unavez.Client) error {
			_, err := c.Invoices.Create(nil, goodInvoice(), unavez.WithDomainID("factura", "1")) //nolint:staticcheck // the mistake under test
			return err
		}, says: "ctx is nil"},
		{fact: "nil option", call: create(nil, unavez.WithDomainID("factura", "1"), nil), says: "call option 1 is nil"},
		{fact: "no attempt", call: create(nil, unavez.WithDomainID("factura", "1"), unavez.WithMaxAttempts(0)), says: "max attempts is 0, expected at least 1"},
		{fact: "a negative number of attempts", call: create(nil, unavez.WithMaxAttempts(-1)), says: "call option 0: max attempts is -1"},
		{fact: "a negative wait", call: create(nil, unavez.WithMaxWait(-time.Second)), says: "max wait is -1s, expected zero or more"},
		{fact: "no timeout", call: create(nil, unavez.WithTimeout(0)), says: "timeout is 0s, expected more than zero"},
		{fact: "a jitter above one", call: create(nil, unavez.WithJitter(1.5)), says: "jitter is not a fraction from 0 to 1"},
		{fact: "a jitter that is no number", call: create(nil, unavez.WithJitter(math.NaN())), says: "jitter is not a fraction from 0 to 1"},
	} {
		r.run(t, "facty")
	}
}

func TestNilParametersAreRefusedByEveryService(t *testing.T) {
	t.Parallel()
	ctx, key := context.Background(), unavez.WithIdempotencyKey("some-key")
	for name, call := range map[string]func(*unavez.Client) error{
		"invoices.create":    func(c *unavez.Client) error { _, err := c.Invoices.Create(ctx, nil, key); return err },
		"invoices.stamp_xml": func(c *unavez.Client) error { _, err := c.Invoices.StampXML(ctx, nil, key); return err },
		"invoices.cancel":    func(c *unavez.Client) error { _, err := c.Invoices.Cancel(ctx, nil, key); return err },
		"payments.create":    func(c *unavez.Client) error { _, err := c.Payments.Create(ctx, nil, key); return err },
		"payments.stamp":     func(c *unavez.Client) error { _, err := c.Payments.Stamp(ctx, "", key); return err },
		"payments.cancel":    func(c *unavez.Client) error { _, err := c.Payments.Cancel(ctx, nil, key); return err },
		"retentions.create":  func(c *unavez.Client) error { _, err := c.Retentions.Create(ctx, nil, key); return err },
		"payouts.create":     func(c *unavez.Client) error { _, err := c.Payouts.Create(ctx, nil, key); return err },
		"raw":                func(c *unavez.Client) error { _, err := c.Do(ctx, nil, key); return err },
		"prepare":            func(c *unavez.Client) error { _, err := c.Prepare(nil, key); return err },
		"prepare without params": func(c *unavez.Client) error {
			_, err := c.Prepare(&unavez.Operation{Name: unavez.InvoiceCreate}, key)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, provider := range []string{"facty", "ipsofactura", "fiscalisto", "payouts"} {
				_ = requireRefusal(t, call(newUntouched(t, provider)))
			}
		})
	}
}

func TestOperationThatTheProviderLacksIsUnsupported(t *testing.T) {
	t.Parallel()
	ctx, key := context.Background(), unavez.WithIdempotencyKey("some-key")
	retention := func(c *unavez.Client) error {
		_, err := c.Retentions.Create(ctx, &unavez.RetentionParams{Raw: []byte(`{}`)}, key)
		return err
	}
	payout := func(c *unavez.Client) error {
		_, err := c.Payouts.Create(ctx, &unavez.PayoutParams{Raw: []byte(`{}`)}, key)
		return err
	}
	invoice := func(c *unavez.Client) error {
		_, err := c.Invoices.Create(ctx, &unavez.InvoiceParams{Raw: []byte(`{}`)}, key)
		return err
	}
	stamp := func(c *unavez.Client) error { _, err := c.Payments.Stamp(ctx, "pay_1", key); return err }
	get := func(c *unavez.Client) error { _, err := c.Invoices.Get(ctx, "inv_1"); return err }
	await := func(c *unavez.Client) error { _, err := c.Retentions.Await(ctx, "some-key"); return err }
	for provider, calls := range map[string][]func(*unavez.Client) error{
		"facty": {payout}, "ipsofactura": {payout, retention, stamp, await}, "fiscalisto": {payout, retention, stamp, get, await},
		"payouts": {invoice, retention, stamp, get, await},
	} {
		for _, call := range calls {
			err := call(newUntouched(t, provider))
			_ = requireRefusal(t, err)
			require.ErrorIs(t, err, errors.ErrUnsupported, provider)
		}
	}
}
