package unavez_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/facty"
	"github.com/unavez/unavez/sandbox"
)

// exampleServer starts the sandbox on a loopback socket. It plays all four providers and stamps nothing.
func exampleServer() *sandbox.Server {
	server := sandbox.New()
	if err := server.Listen(); err != nil {
		panic(err)
	}
	return server
}

// exampleClient is a client as a program "mi-erp" has it, in its test environment.
func exampleClient(provider unavez.Provider, options ...unavez.ClientOption) *unavez.Client {
	options = append(options, unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Test))
	client, err := unavez.New(provider, options...)
	if err != nil {
		panic(err)
	}
	return client
}

// exampleInvoice is an invoice for a customer that is stored at Facty.
func exampleInvoice() *unavez.InvoiceParams {
	return &unavez.InvoiceParams{
		Customer: unavez.Customer{ID: "cli_1"}, CFDIUse: "G03", PaymentForm: "03", PaymentMethod: "PUE",
		Items: []unavez.Item{{
			ProductKey: "86121700", UnitKey: "E48", Description: "Servicio", Quantity: "2", UnitPrice: "150.50",
			TaxObject: "02", Taxes: []unavez.Tax{{Type: "002", Rate: "0.16"}},
		}},
	}
}

func ExampleNew() {
	client, err := unavez.New(
		facty.Provider{Org: "acme", APIKey: os.Getenv("FACTY_KEY")},
		unavez.WithNamespace("mi-erp"),                     // the program that owns the records; never change it
		unavez.WithEnvironment(unavez.Test),                // part of every key; decides the host, as BaseURL is empty
		unavez.WithTimeout(20*time.Second),                 // of one attempt
		unavez.WithMaxWait(10*time.Second),                 // a longer wait is handed back instead of slept
		unavez.WithLogger(slog.Default()),                  // keys appear as a hash
		unavez.WithHTTPClient(&http.Client{}),              // your proxy, your certificates
		unavez.WithJournal(unavez.NewMemoryJournal(1_000)), // replicas share a durable one
	)
	if err != nil {
		fmt.Println(err) // names the field or the option that is missing or wrong
		return
	}
	fmt.Println(client)
	// Output: unavez: provider: facty: APIKey is empty
}

func ExampleInvoices_Create() {
	server := exampleServer()
	defer server.Close()
	client := exampleClient(facty.Provider{BaseURL: server.URL(), Org: "acme", APIKey: "fk_test"})

	// The answer is lost on the way. Facty is asked for the key, and the invoice is found.
	server.Script(sandbox.ResetAfter())
	invoice, err := client.Invoices.Create(context.Background(), &unavez.InvoiceParams{
		Customer: unavez.Customer{ID: "cli_1"}, CFDIUse: "G03", PaymentForm: "03", PaymentMethod: "PUE",
		Items: []unavez.Item{{
			ProductKey: "86121700", UnitKey: "E48", Description: "Servicio", Quantity: "2", UnitPrice: "150.50",
			TaxObject: "02", Taxes: []unavez.Tax{{Type: "002", Rate: "0.16"}},
		}},
	}, unavez.WithDomainID("factura", "4471"))

	var e *unavez.Error
	errors.As(err, &e)
	switch {
	case err == nil:
		fmt.Println(invoice.Status, invoice.Total, invoice.IdempotencyKey)
	case errors.Is(err, unavez.ErrRetryLater):
		fmt.Println("the same call again, not before", e.RetryAt)
	case errors.Is(err, unavez.ErrNeedsManualReview):
		fmt.Println("a person decides:", e.Reason, e.Next)
	case errors.Is(err, unavez.ErrRefused):
		fmt.Println("nothing was stamped:", e.Code, e.FieldErrors, e.Next)
	}
	fmt.Println("stamps issued:", server.Stamps())
	// Output:
	// stamped 349.16 mi-erp:test:factura:4471
	// stamps issued: 1
}

func ExampleClient_DeriveKey() {
	client := exampleClient(facty.Provider{Org: "acme", APIKey: "fk_test"})
	for _, id := range []string{"4471", "0047/2026 B", "a:b", "Peña", "Pena"} {
		key, err := client.DeriveKey("factura", id)
		fmt.Println(key, err)
	}
	// Output:
	// mi-erp:test:factura:4471 <nil>
	// mi-erp:test:factura:0047/2026%20B <nil>
	// mi-erp:test:factura:a%3Ab <nil>
	// mi-erp:test:factura:Pe%C3%B1a <nil>
	// mi-erp:test:factura:Pena <nil>
}

func ExampleParseDecimal() {
	for _, literal := range []string{"100.00", "0.16", "1e3", "1,000.00", ".5"} {
		amount, err := unavez.ParseDecimal(literal)
		fmt.Println(amount, err)
	}
	// Output:
	// 100.00 <nil>
	// 0.16 <nil>
	//  unavez: text is not a decimal literal: expected digits with an optional sign and fraction, as in 1234.50
	//  unavez: text is not a decimal literal: expected digits with an optional sign and fraction, as in 1234.50
	//  unavez: text is not a decimal literal: expected digits with an optional sign and fraction, as in 1234.50
}
