// Command payment-complement stamps an invoice that is paid later (PPD) and the complements of its two instalments. Each of the
// three documents is an operation of its own, with a key of its own.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
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

	invoice, err := client.Invoices.Create(ctx, cement(), unavez.WithDomainID("factura", "4475"))
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "invoice  ", invoice.IdempotencyKey, invoice.Total)

	// The answer to the first instalment is lost on the way. It is found by its key, and not stamped twice.
	server.Script(sandbox.CloseAfter())
	for _, instalment := range instalments(invoice) {
		number := strconv.Itoa(instalment.Documents[0].Installment)
		payment, err := client.Payments.Create(ctx, &instalment, unavez.WithDomainID("pago", "4475/"+number))
		if err != nil {
			return err
		}
		fmt.Fprintln(w, "payment", number, payment.IdempotencyKey, payment.Total)
	}
	fmt.Fprintln(w, "stamps issued:", server.Stamps())
	return nil
}

// cement is the invoice: PPD goes with payment form 99, "to be defined".
func cement() *unavez.InvoiceParams {
	return &unavez.InvoiceParams{
		Customer: unavez.Customer{ID: "cli_kij"}, CFDIUse: "G03", PaymentForm: "99", PaymentMethod: "PPD",
		Items: []unavez.Item{{
			ProductKey: "30111601", UnitKey: "KGM", Description: "Cemento gris en saco", Quantity: "2500", UnitPrice: "4.72",
			TaxObject: "02", Taxes: []unavez.Tax{{Type: "002", Rate: "0.16"}},
		}},
	}
}

// instalments pay 13688.00 in two parts. The remaining balance of each is the previous balance of the next, and the last is zero. A
// Decimal does no arithmetic: the amounts are those of the program's own books.
func instalments(invoice *unavez.Invoice) []unavez.PaymentParams {
	first := unavez.PaidDocument{
		InvoiceID: invoice.ID, Installment: 1, PreviousBalance: invoice.Total, Paid: "8000.00", RemainingBalance: "5688.00",
	}
	second := unavez.PaidDocument{
		InvoiceID: invoice.ID, Installment: 2, PreviousBalance: "5688.00", Paid: "5688.00", RemainingBalance: "0.00",
	}
	noon := time.Date(2026, time.November, 2, 12, 0, 0, 0, time.UTC) // sent as its own wall clock, without a zone
	return []unavez.PaymentParams{
		{
			AccountID: "acc_1", PaymentForm: "03", Reference: "SPEI 8842", PaidAt: noon, Amount: first.Paid,
			Documents: []unavez.PaidDocument{first}, StampNow: true,
		},
		{
			AccountID: "acc_1", PaymentForm: "03", Reference: "SPEI 9107", PaidAt: noon.AddDate(0, 1, 0), Amount: second.Paid,
			Documents: []unavez.PaidDocument{second}, StampNow: true,
		},
	}
}
