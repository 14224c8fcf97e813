package unavez_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/facty"
	"github.com/unavez/unavez/providers/ipsofactura"
	"github.com/unavez/unavez/sandbox"
)

func ExampleInvoices_StampXML() {
	server := exampleServer()
	defer server.Close()
	client := exampleClient(ipsofactura.Provider{BaseURL: server.URL(), APIKey: "xk_test"})

	document := []byte(`<cfdi:Comprobante xmlns:cfdi="http://www.sat.gob.mx/cfd/4" Version="4.0" Serie="B" Folio="77"/>`)
	invoice, err := client.Invoices.StampXML(context.Background(), &unavez.StampXMLParams{XML: document},
		unavez.WithDomainID("factura", "B-77"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(invoice.IdempotencyKey, len(invoice.UUID))
	// Output: mi-erp:test:factura:B-77 36
}

func ExampleInvoices_Cancel() {
	server := exampleServer()
	defer server.Close()
	client := exampleClient(facty.Provider{BaseURL: server.URL(), Org: "acme", APIKey: "fk_test"})
	ctx := context.Background()
	invoice, err := client.Invoices.Create(ctx, exampleInvoice(), unavez.WithDomainID("factura", "4471"))
	if err != nil {
		fmt.Println(err)
		return
	}

	// A cancellation is an operation of its own: it has its own kind, and so its own key.
	cancellation, err := client.Invoices.Cancel(ctx, &unavez.CancelParams{ID: invoice.ID, Motive: "02"},
		unavez.WithDomainID("cancelacion", "4471"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cancellation.IdempotencyKey)
	// Output: mi-erp:test:cancelacion:4471
}

func ExampleInvoices_Get() {
	server := exampleServer()
	defer server.Close()
	client := exampleClient(facty.Provider{BaseURL: server.URL(), Org: "acme", APIKey: "fk_test"})

	_, err := client.Invoices.Get(context.Background(), "inv_404")
	fmt.Println(errors.Is(err, unavez.ErrNotFound), errors.Is(err, unavez.ErrRefused))
	// Output: true true
}

func ExampleInvoices_Find() {
	server := exampleServer()
	defer server.Close()
	client := exampleClient(facty.Provider{BaseURL: server.URL(), Org: "acme", APIKey: "fk_test"})
	ctx := context.Background()
	invoice, err := client.Invoices.Create(ctx, exampleInvoice(), unavez.WithDomainID("factura", "4471"))
	if err != nil {
		fmt.Println(err)
		return
	}

	found, err := client.Invoices.Find(ctx, unavez.InvoiceRef{UUID: invoice.UUID})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(found.ID == invoice.ID, found.Status)
	// Output: true stamped
}

func ExampleInvoices_Reconcile() {
	server := exampleServer()
	defer server.Close()
	provider := facty.Provider{BaseURL: server.URL(), Org: "acme", APIKey: "fk_test"}
	ctx := context.Background()
	if _, err := exampleClient(provider).Invoices.Create(ctx, exampleInvoice(), unavez.WithDomainID("factura", "4471")); err != nil {
		fmt.Println(err)
		return
	}

	// Another process, which knows nothing but the key, finds out what became of it. Nothing is stamped.
	client := exampleClient(provider)
	invoice, err := client.Invoices.Reconcile(ctx, "mi-erp:test:factura:4471")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(invoice.Status, server.Stamps())

	// A key that never arrived is for a person: the same request under the same key would be safe.
	_, err = client.Invoices.Reconcile(ctx, "mi-erp:test:factura:4472")
	var e *unavez.Error
	if errors.As(err, &e) {
		fmt.Println(e.Disposition, e.Reason, e.Next)
	}
	// Output:
	// stamped 1
	// needs_manual_review never_arrived resend
}

func ExampleInvoices_Await() {
	server := exampleServer()
	defer server.Close()
	client := exampleClient(facty.Provider{BaseURL: server.URL(), Org: "acme", APIKey: "fk_test"})
	ctx := context.Background()

	// Facty has no answer yet, and this call must not wait for it.
	server.Script(sandbox.StayPending(500 * time.Millisecond))
	_, err := client.Invoices.Create(ctx, exampleInvoice(), unavez.WithDomainID("factura", "4471"), unavez.WithMaxWait(0))
	fmt.Println(errors.Is(err, unavez.ErrRetryLater))

	// A job that may wait asks again and again, until the outcome is known or ctx ends.
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	invoice, err := client.Invoices.Await(ctx, "mi-erp:test:factura:4471")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(invoice.Status, server.Stamps())
	// Output:
	// true
	// stamped 1
}

func ExampleWithReference() {
	server := exampleServer()
	defer server.Close()
	client := exampleClient(ipsofactura.Provider{BaseURL: server.URL(), APIKey: "xk_test"})
	ctx := context.Background()

	server.Script(sandbox.StayPending(time.Minute)) // 503 STAMPING_OUTCOME_UNKNOWN
	_, err := client.Invoices.Create(ctx, &unavez.InvoiceParams{
		Issuer: "EKU9003173C9", Series: "B", Folio: "77", CFDIUse: "G03", PaymentForm: "03", PaymentMethod: "PUE",
		Customer: unavez.Customer{RFC: "URE180429TM6", LegalName: "UNIVERSIDAD ROBOTICA ESPAÑOLA", TaxRegime: "603", PostalCode: "86991"},
		Items:    []unavez.Item{{ProductKey: "86121700", UnitKey: "E48", Description: "Servicio", Quantity: "1", UnitPrice: "900"}},
	}, unavez.WithDomainID("factura", "B-77"))
	var e *unavez.Error
	if !errors.As(err, &e) {
		return
	}
	fmt.Println(e.Code, e.Disposition)

	// Later. Ipsofactura cannot be asked for a key: it is asked for issuer, series and folio, and the row must repeat them.
	server.Advance(2 * time.Minute)
	reference := unavez.InvoiceRef{Issuer: "EKU9003173C9", Series: "B", Folio: "77"}
	invoice, err := client.Invoices.Reconcile(ctx, e.Key, unavez.WithReference(reference))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(invoice.Series, invoice.Folio, server.Stamps())
	// Output:
	// STAMPING_OUTCOME_UNKNOWN retry_later
	// B 77 1
}
