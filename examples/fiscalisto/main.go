// Command fiscalisto shows Fiscalisto's two refusals, which share the status 422 and need opposite keys, and an operation for
// which the SDK has no types.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/fiscalisto"
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
	// Without BaseURL both environments mean the one documented host; the API key decides the mode. See also fiscalisto.FromEnv.
	client, err := unavez.New(
		fiscalisto.Provider{BaseURL: server.URL(), APIKey: "fz_test"},
		unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Test),
	)
	if err != nil {
		return err
	}

	// Invalid: the document never reached the PAC, and its key is free. The corrected one takes the same key.
	server.Script(sandbox.Reject("invoice_invalid"))
	if err := corrected(ctx, w, client, "A-1042", "A-1042"); err != nil {
		return err
	}
	// Rejected: SAT refused the document, and its key keeps its body. The corrected one takes a new key.
	server.Script(sandbox.Reject("invoice_rejected"))
	if err := corrected(ctx, w, client, "A-1043", "A-1043/2"); err != nil {
		return err
	}
	if err := creditNote(ctx, w, client); err != nil {
		return err
	}
	for _, entry := range server.Ledger() {
		fmt.Fprintln(w, entry.Operation, entry.Key)
	}
	return nil
}

// corrected sends an invoice that is refused and then another one, each under its own record.
func corrected(ctx context.Context, w io.Writer, client *unavez.Client, first, second string) error {
	_, err := client.Invoices.Create(ctx, rent("890.00"), unavez.WithDomainID("pedido", first))
	var e *unavez.Error
	if !errors.As(err, &e) {
		return errors.New("expected a refusal")
	}
	fmt.Fprintf(w, "%s: %s, next %s\n", e.Code, e.Disposition, e.Next)
	invoice, err := client.Invoices.Create(ctx, rent("900.00"), unavez.WithDomainID("pedido", second))
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "corrected:", invoice.Status, invoice.Total)
	return nil
}

// creditNote goes to a path that Fiscalisto's public pages do not print; it stands for the one in your own contract. The body is yours,
// byte for byte, and the key, the attempts and the journal work as everywhere.
func creditNote(ctx context.Context, w io.Writer, client *unavez.Client) error {
	outcome, err := client.Do(ctx, &unavez.RawParams{
		Operation: "credit_notes.create", Path: "/v1/credit-notes",
		Raw: json.RawMessage(`{"invoice":"inv_1","items":[{"description":"Bonificación","quantity":1,"unit_price":90}]}`),
	}, unavez.WithDomainID("nota", "NC-31"))
	if err != nil {
		return err
	}
	fmt.Fprintln(w, outcome.Operation, outcome.Invoice.Status)
	return nil
}

// rent is what Fiscalisto documents of an invoice. Every other typed field is refused by name; Extra and Raw carry the rest.
func rent(price unavez.Decimal) *unavez.InvoiceParams {
	return &unavez.InvoiceParams{
		Customer: unavez.Customer{
			RFC: "ICV060329BY0", LegalName: "INMOBILIARIA CVA", TaxRegime: "601", PostalCode: "33826",
		},
		PaymentForm: "03",
		Items:       []unavez.Item{{ProductKey: "80131500", Description: "Renta", Quantity: "1", UnitPrice: price}},
	}
}
