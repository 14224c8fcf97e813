// Command dispositions shows the one switch that every caller needs: a write ends with a document, or with an error of
// exactly one of three dispositions.
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
	client, err := unavez.New(
		facty.Provider{BaseURL: server.URL(), Org: "acme", APIKey: "fk_test"},
		unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Test),
	)
	if err != nil {
		return err
	}

	// What the sandbox does to each record. A key that is not named is simply stamped.
	server.ScriptKey("mi-erp:test:factura:102", sandbox.TooMany("3600"))
	server.ScriptKey("mi-erp:test:factura:103", sandbox.PendingThenFail(0))
	server.ScriptKey("mi-erp:test:factura:104", sandbox.Reject("CFDI40147"))
	for _, record := range []string{"101", "102", "103", "104"} {
		invoice, err := client.Invoices.Create(ctx, rent(), unavez.WithDomainID("factura", record))
		report(w, record, invoice, err)
	}
	fmt.Fprintln(w, "stamps issued:", server.Stamps())
	return nil
}

// report is where a program would update its record. Each branch says what may be done, and with which key.
func report(w io.Writer, record string, invoice *unavez.Invoice, err error) {
	var e *unavez.Error
	errors.As(err, &e)
	switch {
	case err == nil:
		// The invoice exists. Store its UUID; calling Create again with this record answers the same invoice.
		fmt.Fprintf(w, "%s is stamped, total %s\n", record, invoice.Total)
	case errors.Is(err, unavez.ErrRetryLater):
		// Nobody knows yet, or it was not the time. The same call with the same record, not before e.RetryAt.
		fmt.Fprintf(w, "%s again in %s, outcome unknown: %t\n", record, e.RetryAfter, errors.Is(err, unavez.ErrOutcomeUnknown))
	case errors.Is(err, unavez.ErrNeedsManualReview):
		// No rule permits a program to go on. Show e.Explain() to a person, and do not call again in a loop.
		fmt.Fprintf(w, "%s is for a person, reason %s, next %s\n", record, e.Reason, e.Next)
	case errors.Is(err, unavez.ErrRefused):
		// Nothing was stamped. e.Next says whether the corrected request takes this key or a new one.
		fmt.Fprintf(w, "%s is refused with %s, next %s, fields %v\n", record, e.Code, e.Next, e.FieldErrors)
	}
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
