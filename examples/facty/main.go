// Command facty shows what is special about Facty: it is asked before anything is sent again, and a document that it booked as
// failed is tried again under the same key, but only when a person says so.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

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
	// Without BaseURL the environment decides: facty.mx in Production, preview.facty.mx in Test. See also facty.FromEnv.
	client, err := unavez.New(
		facty.Provider{BaseURL: server.URL(), Org: "acme", APIKey: "fk_test"},
		unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Test),
	)
	if err != nil {
		return err
	}
	if err := lostAnswer(ctx, w, client, server); err != nil {
		return err
	}
	return failedAndCorrected(ctx, w, client, server)
}

// lostAnswer: Facty stamps, and the connection dies before the answer. The client asks for the key and finds the invoice.
func lostAnswer(ctx context.Context, w io.Writer, client *unavez.Client, server *sandbox.Server) error {
	server.Script(sandbox.ResetAfter())
	invoice, err := client.Invoices.Create(ctx, hosting("G03"), unavez.WithDomainID("factura", "4471"))
	if err != nil {
		return err
	}
	for _, request := range server.Requests() {
		fmt.Fprintln(w, request.Method, request.Path)
	}
	fmt.Fprintf(w, "%s-%s %s, stamps issued: %d\n", invoice.Series, invoice.Folio, invoice.Status, server.Stamps())

	found, err := client.Invoices.Find(ctx, unavez.InvoiceRef{UUID: invoice.UUID})
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "found by its UUID:", found.ID == invoice.ID)
	return nil
}

// failedAndCorrected: SAT refuses the document, and Facty books the key as failed. Facty refunds the stamp, and takes the
// corrected document under the same key, with the flag that says that somebody decided so.
func failedAndCorrected(ctx context.Context, w io.Writer, client *unavez.Client, server *sandbox.Server) error {
	server.Script(sandbox.Reject("CFDI40161"))
	_, err := client.Invoices.Create(ctx, hosting("D01"), unavez.WithDomainID("factura", "4472"))
	var e *unavez.Error
	if !errors.As(err, &e) {
		return errors.New("expected the document to be refused")
	}
	fmt.Fprintf(w, "%s, %s, next %s\n", e.Disposition, e.Code, e.Next)

	corrected := hosting("G03")
	corrected.AllowRetryOnFailed = true
	invoice, err := client.Invoices.Create(ctx, corrected, unavez.WithDomainID("factura", "4472"))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s under the same key: %t\n", invoice.Status, invoice.IdempotencyKey == e.Key)
	return nil
}

// hosting is an invoice for a customer and a product that are stored at Facty. Facty numbers the invoice itself.
func hosting(use string) *unavez.InvoiceParams {
	return &unavez.InvoiceParams{
		Customer: unavez.Customer{ID: "cli_1"}, CFDIUse: use, PaymentForm: "03", PaymentMethod: "PUE",
		Items: []unavez.Item{{ProductID: "prd_1", Quantity: "12"}},
	}
}
