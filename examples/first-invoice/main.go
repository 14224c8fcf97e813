// Command first-invoice stamps one invoice at Facty and says what may be done next. It is the program of the README.
//
// It reads FACTY_ORG and FACTY_KEY, and FACTY_HOST for another host than the documented test host.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/facty"
)

func main() {
	provider, err := facty.FromEnv()
	if err != nil {
		log.Fatal(err)
	}
	client, err := unavez.New(provider, unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Test))
	if err != nil {
		log.Fatal(err)
	}
	invoice, err := client.Invoices.Create(context.Background(), &unavez.InvoiceParams{
		Customer: unavez.Customer{ID: "cli_1"}, CFDIUse: "G03", PaymentForm: "03", PaymentMethod: "PUE",
		Items: []unavez.Item{{
			ProductKey: "86121700", UnitKey: "E48", Description: "Servicio", Quantity: "2", UnitPrice: "150.50",
			TaxObject: "02", Taxes: []unavez.Tax{{Type: "002", Rate: "0.16"}},
		}},
	}, unavez.WithDomainID("factura", "4471")) // the key: mi-erp:test:factura:4471

	var e *unavez.Error
	errors.As(err, &e)
	switch {
	case err == nil:
		fmt.Println("stamped:", invoice.UUID)
	case errors.Is(err, unavez.ErrRetryLater): // the same call again, not before e.RetryAt
		fmt.Println("again in", e.RetryAfter, "with the same key:", e.Key)
	case errors.Is(err, unavez.ErrNeedsManualReview): // no program goes on here
		fmt.Println("a person decides about", e.Key+"\n"+e.Explain())
	case errors.Is(err, unavez.ErrRefused): // nothing was stamped
		fmt.Println("correct it:", e, e.FieldErrors)
	}
}
