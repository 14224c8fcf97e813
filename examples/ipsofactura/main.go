// Command ipsofactura shows the one answer of Ipsofactura that must never be taken for an ordinary failure: 503
// STAMPING_OUTCOME_UNKNOWN. The document may exist at SAT, so neither another key nor another folio may be tried.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/ipsofactura"
	"github.com/unavez/unavez/sandbox"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer) error {
	server := sandbox.New()
	if err := server.Listen(); err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	// In Production the BaseURL may be left out. The address of the test system is not documented, so in Test it is needed.
	client, err := unavez.New(
		ipsofactura.Provider{BaseURL: server.URL(), APIKey: "xk_test"},
		unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Test),
	)
	if err != nil {
		return err
	}

	// The PAC does not answer Ipsofactura for a while.
	server.Script(sandbox.StayPending(90 * time.Second))
	_, err = client.Invoices.Create(ctx, computers(), unavez.WithDomainID("factura", "B-77"))
	var e *unavez.Error
	if !errors.As(err, &e) {
		return errors.New("expected the outcome to be unknown")
	}
	// The wait that was asked for is longer than WithMaxWait, so the call returned at once and says when to come back.
	fmt.Fprintf(w, "%d %s: %s, next %s, in %s\n", e.HTTPStatus, e.Code, e.Disposition, e.Next, e.RetryAfter)

	// Two minutes later. The document is asked for by issuer, series and folio; the row must repeat all three.
	server.Advance(2 * time.Minute)
	reference := unavez.WithReference(unavez.InvoiceRef{Issuer: "EKU9003173C9", Series: "B", Folio: "77"})
	invoice, err := client.Invoices.Reconcile(ctx, e.Key, reference)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s-%s has a UUID: %t\n", invoice.Series, invoice.Folio, invoice.UUID != "")

	// A process that remembers nothing sends the same record again: the first answer is repeated, and marked as such.
	forgetful, err := unavez.New(
		ipsofactura.Provider{BaseURL: server.URL(), APIKey: "xk_test"},
		unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Test),
	)
	if err != nil {
		return err
	}
	again, err := forgetful.Invoices.Create(ctx, computers(), unavez.WithDomainID("factura", "B-77"))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "same UUID: %t, replayed: %t, stamps issued: %d\n", again.UUID == invoice.UUID, again.Replayed, server.Stamps())
	return nil
}

// computers is an invoice with all data inline. A field whose name at Ipsofactura is inferred is marked so in docs/providers.md.
func computers() *unavez.InvoiceParams {
	return &unavez.InvoiceParams{
		Issuer: "EKU9003173C9", Series: "B", Folio: "77",
		Customer: unavez.Customer{
			RFC: "URE180429TM6", LegalName: "UNIVERSIDAD ROBOTICA ESPAÑOLA", TaxRegime: "603", PostalCode: "86991",
		},
		CFDIUse: "I04", PaymentForm: "03", PaymentMethod: "PUE", Export: "01",
		Items: []unavez.Item{{
			ProductKey: "43211503", UnitKey: "H87", Description: "Computadora portátil", Quantity: "3", UnitPrice: "18499.00",
			TaxObject: "02", Taxes: []unavez.Tax{{Type: "002", Rate: "0.16"}},
		}},
	}
}
