package main

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

type testBundle struct {
	api    *server
	client *unavez.Client
	url    string
}

func setup(t *testing.T) *testBundle {
	t.Helper()
	api := newServer()
	server := httptest.NewServer(api.handler())
	t.Cleanup(server.Close)
	return &testBundle{api: api, url: server.URL, client: newClient(t, server.URL)}
}

// newClient has a journal of its own, as a process that remembers nothing.
func newClient(t *testing.T, url string, options ...unavez.ClientOption) *unavez.Client {
	t.Helper()
	options = append(options, unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Test))
	client, err := unavez.New(Timbra{BaseURL: url, Account: "acme", Token: "secret"}, options...)
	require.NoError(t, err)
	return client
}

func TestReusedKeyIsNeverSentAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.client.Invoices.Create(t.Context(), fee("900.00"), unavez.WithDomainID("factura", "1"))
	require.NoError(t, err)

	_, err = newClient(t, b.url).Invoices.Create(t.Context(), fee("901.00"), unavez.WithDomainID("factura", "1"))
	var e *unavez.Error
	require.ErrorAs(t, err, &e)
	require.ErrorIs(t, err, unavez.ErrKeyReused)
	require.Equal(t, unavez.Refused, e.Disposition, "first send of the process")
	require.Equal(t, problemReused, e.Code)
	require.Equal(t, "requests: 2, invoices: 1", b.api.String())
}

func TestInvalidInvoiceIsCorrectedUnderTheSameKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	empty := &unavez.InvoiceParams{Customer: unavez.Customer{RFC: "ICV060329BY0"}}
	_, err := b.client.Invoices.Create(t.Context(), empty, unavez.WithDomainID("factura", "1"))
	var e *unavez.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, unavez.NextFixSameKey, e.Next)

	invoice, err := b.client.Invoices.Create(t.Context(), fee("900.00"), unavez.WithDomainID("factura", "1"))
	require.NoError(t, err)
	require.Equal(t, e.Key, invoice.IdempotencyKey)
}

func TestReconcileAsksForTheKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.api.misbehave(1, 0)
	once := unavez.WithMaxAttempts(1)
	_, err := b.client.Invoices.Create(t.Context(), fee("900.00"), unavez.WithDomainID("factura", "1"), once)
	require.ErrorIs(t, err, unavez.ErrOutcomeUnknown)

	invoice, err := b.client.Invoices.Reconcile(t.Context(), "mi-erp:test:factura:1")
	require.NoError(t, err)
	require.Equal(t, "issued", invoice.Status)
	require.Equal(t, "requests: 1, invoices: 1", b.api.String(), "nothing was sent again")

	var e *unavez.Error
	_, err = b.client.Invoices.Reconcile(t.Context(), "mi-erp:test:factura:2")
	require.ErrorAs(t, err, &e)
	require.Equal(t, unavez.ReasonNeverArrived, e.Reason)
}

func TestWhatCannotBeCarriedIsRefusedByName(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(*unavez.InvoiceParams){
		"Currency":              func(p *unavez.InvoiceParams) { p.Currency = "USD" },
		"Customer.Email":        func(p *unavez.InvoiceParams) { p.Customer.Email = "a@example.com" },
		"Items[0].Discount":     func(p *unavez.InvoiceParams) { p.Items[0].Discount = "1.00" },
		"Items[0].Quantity":     func(p *unavez.InvoiceParams) { p.Items[0].Quantity = "2" },
		"Customer (beside Raw)": func(p *unavez.InvoiceParams) { p.Raw, p.Items = []byte(`{}`), nil },
		"Extra (beside the Raw)": func(p *unavez.InvoiceParams) {
			*p = unavez.InvoiceParams{Raw: []byte(`{}`), Extra: map[string]any{"a": 1}}
		},
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			params := fee("900.00")
			change(params)
			_, err := b.client.Invoices.Create(t.Context(), params, unavez.WithDomainID("factura", "1"))
			var wrong *unavez.FieldError
			require.ErrorAs(t, err, &wrong)
			require.Contains(t, field, wrong.Field)
			require.Equal(t, "requests: 0, invoices: 0", b.api.String())
		})
	}
}

func TestUnsupportedOperation(t *testing.T) {
	t.Parallel()
	_, err := setup(t).client.Payouts.Create(t.Context(), &unavez.PayoutParams{}, unavez.WithDomainID("pago", "1"))
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

func TestTokenIsNotPrinted(t *testing.T) {
	t.Parallel()
	provider := Timbra{BaseURL: "https://timbra.example", Account: "acme", Token: "secret"}
	require.Equal(t, "Timbra{acme at https://timbra.example}", fmt.Sprint(provider))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		require.NotContains(t, fmt.Sprintf(verb, provider), "secret", verb)
	}
}
