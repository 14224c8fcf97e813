// Command reconcile shows what to do after a timeout: the invoice may exist, so the key is asked, and nothing is sent again.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/facty"
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
	client, err := unavez.New(
		facty.Provider{BaseURL: server.URL(), Org: "acme", APIKey: "fk_test"},
		unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Test),
	)
	if err != nil {
		return err
	}
	if err := afterTimeout(ctx, w, client, server); err != nil {
		return err
	}
	return stillPending(ctx, w, client, server)
}

// afterTimeout is the web request whose time runs out while Facty stamps: the answer is lost, the stamp is not.
func afterTimeout(ctx context.Context, w io.Writer, client *unavez.Client, server *sandbox.Server) error {
	server.Script(sandbox.HangAfter())
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := client.Invoices.Create(short, rent(), unavez.WithDomainID("factura", "4471"))
	var e *unavez.Error
	if !errors.As(err, &e) {
		return errors.New("expected the time to run out")
	}
	fmt.Fprintf(w, "4471: %s, effect %s, next %s\n", e.Disposition, e.Effect, e.Next)

	// Later, perhaps in another request: the key is the way back. It is kept with the record, or derived from it again.
	key, err := client.DeriveKey("factura", "4471")
	if err != nil {
		return err
	}
	invoice, err := client.Invoices.Reconcile(ctx, key)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "4471: %s after all, stamps issued for %s: %d\n", invoice.Status, key, server.Effects(key))
	return nil
}

// stillPending is the invoice that Facty itself has no answer for yet. Await asks again and again, as long as ctx lives.
func stillPending(ctx context.Context, w io.Writer, client *unavez.Client, server *sandbox.Server) error {
	server.Script(sandbox.StayPending(500 * time.Millisecond))
	_, err := client.Invoices.Create(ctx, rent(), unavez.WithDomainID("factura", "4472"), unavez.WithMaxWait(0))
	var e *unavez.Error
	if !errors.As(err, &e) {
		return errors.New("expected the invoice to be pending")
	}
	fmt.Fprintf(w, "4472: %s, effect %s, next %s, in %s\n", e.Disposition, e.Effect, e.Next, e.RetryAfter)
	invoice, err := client.Invoices.Await(ctx, e.Key)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "4472: %s, stamps issued for %s: %d\n", invoice.Status, e.Key, server.Effects(e.Key))
	return nil
}

func rent() *unavez.InvoiceParams {
	return &unavez.InvoiceParams{
		Customer: unavez.Customer{ID: "cli_1"}, CFDIUse: "G03", PaymentForm: "03", PaymentMethod: "PUE",
		Items: []unavez.Item{{
			ProductKey: "80131500", UnitKey: "E48", Description: "Renta", Quantity: "1", UnitPrice: "900.00",
			TaxObject: "02", Taxes: []unavez.Tax{{Type: "002", Rate: "0.16"}},
		}},
	}
}
