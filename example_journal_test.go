package unavez_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/facty"
	"github.com/unavez/unavez/providers/payouts"
	"github.com/unavez/unavez/sandbox"
)

func ExampleClient_Prepare() {
	client := exampleClient(facty.Provider{Org: "acme", APIKey: "fk_test"})

	// Everything that happens before anything is sent: validation, the key, the bytes. Nothing is sent.
	intent, err := client.Prepare(&unavez.Operation{Name: unavez.InvoiceCreate, Invoice: &unavez.InvoiceParams{
		Customer: unavez.Customer{ID: "cli_1"}, CFDIUse: "G03", PaymentForm: "03", PaymentMethod: "PUE",
		Items: []unavez.Item{{ProductID: "prd_1", Quantity: "1"}},
	}}, unavez.WithDomainID("factura", "4471"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(intent.Key)
	fmt.Println(string(intent.Body))
	// Output:
	// mi-erp:test:factura:4471
	// {"type":"ingreso","idempotencyKey":"mi-erp:test:factura:4471","clientId":"cli_1","usoCfdi":"G03","formaPago":"03","metodoPago":"PUE","items":[{"quantity":1,"productId":"prd_1"}]}
}

func ExampleClient_Send() {
	server := exampleServer()
	defer server.Close()
	client := exampleClient(facty.Provider{BaseURL: server.URL(), Org: "acme", APIKey: "fk_test"})

	// The intent is prepared with the sale, and kept with it; a durable journal records both in one transaction.
	intent, err := client.Prepare(&unavez.Operation{Name: unavez.InvoiceCreate, Invoice: exampleInvoice()},
		unavez.WithDomainID("factura", "4471"))
	if err != nil {
		fmt.Println(err)
		return
	}

	// Later, as often as it takes: one key is one stamp.
	for range 2 {
		outcome, err := client.Send(context.Background(), intent)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(outcome.Operation, outcome.Invoice.Status, server.Stamps())
	}
	// Output:
	// invoices.create stamped 1
	// invoices.create stamped 1
}

func ExampleClient_Reconcile() {
	server := exampleServer()
	defer server.Close()
	client := exampleClient(facty.Provider{BaseURL: server.URL(), Org: "acme", APIKey: "fk_test"})
	ctx := context.Background()
	if _, err := client.Invoices.Create(ctx, exampleInvoice(), unavez.WithDomainID("factura", "4471")); err != nil {
		fmt.Println(err)
		return
	}

	// A key of any operation: what kind it was is in the outcome.
	outcome, err := client.Reconcile(ctx, "mi-erp:test:factura:4471")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(outcome.Operation, outcome.Invoice.Status)
	// Output: invoices.create stamped
}

func ExampleJournal_resolve() {
	server := exampleServer()
	defer server.Close()
	journal := unavez.NewMemoryJournal(0)
	client := exampleClient(payouts.Provider{BaseURL: server.URL(), APIKey: "pk_test"}, unavez.WithJournal(journal))
	ctx := context.Background()

	server.Script(sandbox.OutcomeUnknown())
	_, err := client.Payouts.Create(ctx, &unavez.PayoutParams{
		QuoteID: "11111111-2222-4333-8444-555555555555", Method: "pago_movil", BeneficiaryID: "66666666-7777-4888-9999-000000000000",
	}, unavez.WithDomainID("pago", "2026-0001"))
	var e *unavez.Error
	if !errors.As(err, &e) {
		return
	}
	fmt.Println(e.Disposition)

	// A person has looked, and says who decided and why. It is the only way out of a review.
	err = journal.Resolve(ctx, client.RecordID(e.Key), unavez.Resolution{
		Decision: unavez.DecideDone, By: "Lucía, treasury", Why: "the beneficiary has confirmed the receipt",
		Document: json.RawMessage(`{"id":"po_1","status":"completed"}`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	payout, err := client.Payouts.Reconcile(ctx, e.Key)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(payout.Status)
	// Output:
	// needs_manual_review
	// completed
}

func ExampleError_Explain() {
	server := exampleServer()
	defer server.Close()
	client := exampleClient(facty.Provider{BaseURL: server.URL(), Org: "acme", APIKey: "fk_test"})

	server.Script(sandbox.PendingThenFail(0))
	_, err := client.Invoices.Create(context.Background(), exampleInvoice(), unavez.WithDomainID("factura", "4471"))
	var e *unavez.Error
	if errors.As(err, &e) {
		fmt.Println(e)
		fmt.Println(e.Explain())
	}
	// Output:
	// unavez: invoices.create at facty: needs manual review: failed: status 200 after 2 requests, next: fix same key
	// What is known: the provider answered that nothing was stamped or paid.
	// Why a person: the provider's record of this key says failed: no document was issued and the stamp was refunded.
	// The rule: once a person has corrected the document, it is sent under the same key with AllowRetryOnFailed; without that flag nothing is sent.
	// Next: correct the request and send it under the same key.
}
