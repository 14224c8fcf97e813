// Command custom-provider adds a provider that the SDK does not know: an API in the manner of the IETF draft on the header
// Idempotency-Key. docs/adding-a-provider.md goes through it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/unavez/unavez"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer) error {
	api := newServer()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	httpServer := &http.Server{Handler: api.handler(), ReadHeaderTimeout: time.Minute}
	defer func() { _ = httpServer.Close() }()
	go func() { _ = httpServer.Serve(listener) }()

	client, err := unavez.New(
		Timbra{BaseURL: "http://" + listener.Addr().String(), Account: "acme", Token: "secret"},
		unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Test),
	)
	if err != nil {
		return err
	}
	return conversation(ctx, w, client, api)
}

// conversation: the answer is lost, then the first request is still in progress, and then the same key answers the invoice.
func conversation(ctx context.Context, w io.Writer, client *unavez.Client, api *server) error {
	api.misbehave(1, 0)
	invoice, err := client.Invoices.Create(ctx, fee("900.00"), unavez.WithDomainID("factura", "4471"))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "4471 is %s, %s\n", invoice.Status, api)

	api.misbehave(0, 1)
	invoice, err = client.Invoices.Create(ctx, fee("120.00"), unavez.WithDomainID("factura", "4472"))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "4472 is %s, %s\n", invoice.Status, api)

	// A key for another body: the journal knows it and nothing is sent.
	_, err = client.Invoices.Create(ctx, fee("121.00"), unavez.WithDomainID("factura", "4472"))
	fmt.Fprintf(w, "4472 with another amount: key reused %t, %s\n", errors.Is(err, unavez.ErrKeyReused), api)

	// What cannot be carried is refused by name.
	abroad := fee("50.00")
	abroad.Currency = "USD"
	_, err = client.Invoices.Create(ctx, abroad, unavez.WithDomainID("factura", "4473"))
	fmt.Fprintln(w, err)
	return nil
}

func fee(amount unavez.Decimal) *unavez.InvoiceParams {
	return &unavez.InvoiceParams{
		Customer: unavez.Customer{RFC: "ICV060329BY0"},
		Items:    []unavez.Item{{Description: "Servicio", Quantity: "1", UnitPrice: amount}},
	}
}
