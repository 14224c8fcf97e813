package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/facty"
	"github.com/unavez/unavez/sandbox"
)

func TestOneStampWhateverHappens(t *testing.T) {
	t.Parallel()
	server := sandbox.Start(t)
	client, err := unavez.New(
		facty.Provider{BaseURL: server.URL(), Org: "acme", APIKey: "fk_test"},
		unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Test),
	)
	require.NoError(t, err)
	invoice := &unavez.InvoiceParams{
		Customer: unavez.Customer{ID: "cli_1"}, CFDIUse: "G03", PaymentForm: "03", PaymentMethod: "PUE",
		Items: []unavez.Item{{ProductID: "prd_1", Quantity: "1"}},
	}

	server.Script(sandbox.ResetAfter()) // it stamps, and the answer is lost
	_, err = client.Invoices.Create(t.Context(), invoice, unavez.WithDomainID("factura", "1"))
	require.NoError(t, err)
	require.Equal(t, 1, server.Effects("mi-erp:test:factura:1"))

	server.Script(sandbox.TooMany("3600")) // it asks for an hour, which no call waits for
	_, err = client.Invoices.Create(t.Context(), invoice, unavez.WithDomainID("factura", "2"))
	require.ErrorIs(t, err, unavez.ErrRetryLater)

	server.Script(sandbox.PendingThenFail(0)) // it does not know, and then its record says failed
	_, err = client.Invoices.Create(t.Context(), invoice, unavez.WithDomainID("factura", "3"))
	require.ErrorIs(t, err, unavez.ErrNeedsManualReview)
}
