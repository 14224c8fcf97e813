package unavez_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/facty"
	"github.com/unavez/unavez/providers/fiscalisto"
	"github.com/unavez/unavez/providers/payouts"
	"github.com/unavez/unavez/sandbox"
)

func ExamplePayments_Create() {
	server := exampleServer()
	defer server.Close()
	client := exampleClient(facty.Provider{BaseURL: server.URL(), Org: "acme", APIKey: "fk_test"})

	payment, err := client.Payments.Create(context.Background(), &unavez.PaymentParams{
		AccountID: "acc_1", PaymentForm: "03", Amount: "8000.00", PaidAt: time.Date(2026, time.November, 2, 12, 0, 0, 0, time.UTC),
		Documents: []unavez.PaidDocument{{
			InvoiceID: "inv_1", Installment: 1, PreviousBalance: "13688.00", Paid: "8000.00", RemainingBalance: "5688.00",
		}},
		StampNow: true,
	}, unavez.WithDomainID("pago", "4475/1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(payment.Status, payment.Total, payment.IdempotencyKey)
	// Output: stamped 8000.00 mi-erp:test:pago:4475/1
}

func ExamplePayments_Stamp() {
	server := exampleServer()
	defer server.Close()
	client := exampleClient(facty.Provider{BaseURL: server.URL(), Org: "acme", APIKey: "fk_test"})
	ctx := context.Background()

	// The payment is recorded today and its complement stamped later: two operations, so two kinds and two keys.
	payment, err := client.Payments.Create(ctx, &unavez.PaymentParams{
		AccountID: "acc_1", PaymentForm: "03", Amount: "8000.00", PaidAt: time.Date(2026, time.November, 2, 12, 0, 0, 0, time.UTC),
		Documents: []unavez.PaidDocument{{
			InvoiceID: "inv_1", Installment: 1, PreviousBalance: "13688.00", Paid: "8000.00", RemainingBalance: "5688.00",
		}},
	}, unavez.WithDomainID("pago", "4475/1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(payment.Status, "stamps:", server.Stamps())

	stamped, err := client.Payments.Stamp(ctx, payment.PaymentID, unavez.WithDomainID("complemento", "4475/1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(stamped.Status, "stamps:", server.Stamps())
	// Output:
	// registered stamps: 0
	// stamped stamps: 1
}

func ExamplePayments_Reconcile() {
	server := exampleServer()
	defer server.Close()
	client := exampleClient(facty.Provider{BaseURL: server.URL(), Org: "acme", APIKey: "fk_test"})

	// Facty documents the lookup by key for invoices only. So an empty list proves nothing about a payment, and nothing is learned.
	_, err := client.Payments.Reconcile(context.Background(), "mi-erp:test:pago:4475/1")
	var e *unavez.Error
	if errors.As(err, &e) {
		fmt.Println(e.Disposition, errors.Is(err, unavez.ErrOutcomeUnknown), e.Next)
	}
	// Output: retry_later true reconcile
}

func ExampleRetentions_Create() {
	server := exampleServer()
	defer server.Close()
	client := exampleClient(facty.Provider{BaseURL: server.URL(), Org: "acme", APIKey: "fk_test"})

	// No provider documents the body of a withholding certificate: it is given in the provider's own form, and the key is added.
	retention, err := client.Retentions.Create(context.Background(), &unavez.RetentionParams{
		Extra: map[string]any{"clientId": "cli_1", "monto": unavez.Decimal("1500.00")},
	}, unavez.WithDomainID("retencion", "2026-11"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(retention.Status, retention.IdempotencyKey)
	// Output: stamped mi-erp:test:retencion:2026-11
}

func ExamplePayouts_Create() {
	server := exampleServer()
	defer server.Close()
	client := exampleClient(payouts.Provider{BaseURL: server.URL(), APIKey: "pk_test"})

	// The API says that it does not know whether the money left. This payout is never sent again.
	server.Script(sandbox.OutcomeUnknown())
	_, err := client.Payouts.Create(context.Background(), &unavez.PayoutParams{
		QuoteID: "11111111-2222-4333-8444-555555555555", Method: "pago_movil", BeneficiaryID: "66666666-7777-4888-9999-000000000000",
	}, unavez.WithDomainID("pago", "2026-0001"))
	var e *unavez.Error
	if errors.As(err, &e) {
		fmt.Println(e.Disposition, e.Reason, e.Next)
	}
	// Output: needs_manual_review outcome_unknown review
}

func ExamplePayouts_Reconcile() {
	server := exampleServer()
	defer server.Close()
	client := exampleClient(payouts.Provider{BaseURL: server.URL(), APIKey: "pk_test"})
	ctx := context.Background()

	// The answer is lost, and the call may not wait.
	server.Script(sandbox.CloseAfter())
	_, err := client.Payouts.Create(ctx, &unavez.PayoutParams{
		QuoteID: "11111111-2222-4333-8444-555555555555", Method: "pago_movil", BeneficiaryID: "66666666-7777-4888-9999-000000000000",
	}, unavez.WithDomainID("pago", "2026-0001"), unavez.WithMaxAttempts(1))
	fmt.Println("outcome unknown:", errors.Is(err, unavez.ErrOutcomeUnknown))

	// There is no lookup. The recorded bytes are sent again under the recorded key, and the first answer comes back.
	payout, err := client.Payouts.Reconcile(ctx, "mi-erp:test:pago:2026-0001")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(payout.Status, "payouts:", server.Effects(payout.IdempotencyKey))
	// Output:
	// outcome unknown: true
	// processing payouts: 1
}

func ExampleWithLookupOnly() {
	server := exampleServer()
	defer server.Close()
	client := exampleClient(payouts.Provider{BaseURL: server.URL(), APIKey: "pk_test"})
	ctx := context.Background()
	server.Script(sandbox.CloseAfter())
	_, err := client.Payouts.Create(ctx, &unavez.PayoutParams{
		QuoteID: "11111111-2222-4333-8444-555555555555", Method: "pago_movil", BeneficiaryID: "66666666-7777-4888-9999-000000000000",
	}, unavez.WithDomainID("pago", "2026-0001"), unavez.WithMaxAttempts(1))
	fmt.Println("outcome unknown:", errors.Is(err, unavez.ErrOutcomeUnknown))

	// The only way to ask is to send the request again, and that is forbidden here: the outcome stays unknown.
	_, err = client.Payouts.Reconcile(ctx, "mi-erp:test:pago:2026-0001", unavez.WithLookupOnly())
	fmt.Println("outcome unknown:", errors.Is(err, unavez.ErrOutcomeUnknown), "requests:", len(server.Requests()))
	// Output:
	// outcome unknown: true
	// outcome unknown: true requests: 1
}

func ExampleClient_Do() {
	server := exampleServer()
	defer server.Close()
	client := exampleClient(fiscalisto.Provider{BaseURL: server.URL(), APIKey: "fz_test"})

	// Fiscalisto stamps credit notes, and its public pages print neither path nor body: both are yours here.
	outcome, err := client.Do(context.Background(), &unavez.RawParams{
		Operation: "credit_notes.create", Path: "/v1/credit-notes",
		Raw: json.RawMessage(`{"items":[{"description":"Bonificación","quantity":1,"unit_price":90}]}`),
	}, unavez.WithDomainID("nota", "NC-31"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(outcome.Operation, outcome.Invoice.Status, outcome.Invoice.IdempotencyKey)
	// Output: credit_notes.create stamped mi-erp:test:nota:NC-31
}
