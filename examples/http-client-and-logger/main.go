// Command http-client-and-logger gives the client an http.Client, a logger and an observer of the program's own.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
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

	// The Transport is used as it is: proxies, certificates and pools are the program's. Redirects are not followed, whatever
	// CheckRedirect says, and no layer below may send a request twice: leave retrying transports out.
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute}
	defer transport.CloseIdleConnections()

	// Attempts are logged at debug level, waits at info, what a person must see at warn. Keys are logged as a hash.
	logger := slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: withoutTimes}))

	// The observer sees the keys themselves, and is the place for metrics. It must return quickly.
	var attempts, lookups int
	observe := func(_ context.Context, event unavez.Event) {
		switch {
		case event.Attempt == nil:
		case event.Attempt.Kind == unavez.AttemptWrite:
			attempts++
		default:
			lookups++
		}
	}

	client, err := unavez.New(
		facty.Provider{BaseURL: server.URL(), Org: "acme", APIKey: "fk_test"},
		unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Test),
		unavez.WithHTTPClient(&http.Client{Transport: transport}), unavez.WithUserAgent("mi-erp/4.2"),
		unavez.WithLogger(logger), unavez.WithObserver(observe),
	)
	if err != nil {
		return err
	}
	server.Script(sandbox.TooMany("1"), sandbox.HTML(http.StatusBadGateway).AfterCommit())
	invoice, err := client.Invoices.Create(ctx, &unavez.InvoiceParams{
		Customer: unavez.Customer{ID: "cli_1"}, CFDIUse: "G03", PaymentForm: "03", PaymentMethod: "PUE",
		Items: []unavez.Item{{ProductID: "prd_1", Quantity: "1"}},
	}, unavez.WithDomainID("factura", "4471"))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s after %d writes and %d lookups, stamps issued: %d\n", invoice.Status, attempts, lookups, server.Stamps())
	return nil
}

// withoutTimes leaves out what differs from run to run, so that the output of this example can be compared.
func withoutTimes(_ []string, attribute slog.Attr) slog.Attr {
	if attribute.Key == slog.TimeKey || attribute.Key == "duration" {
		return slog.Attr{}
	}
	return attribute
}
