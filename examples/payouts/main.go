// Command payouts pays out once. It shows a lost answer, a payout that failed, and one that nobody knows about: that one is never sent
// again, and waits in the journal until a person has decided.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/providers/payouts"
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
	// In production this is a durable journal: a payout must not be forgotten when the process ends.
	journal := unavez.NewMemoryJournal(0)
	client, err := unavez.New(
		payouts.Provider{BaseURL: server.URL(), APIKey: "pk_test"},
		unavez.WithNamespace("mi-erp"), unavez.WithEnvironment(unavez.Test), unavez.WithJournal(journal),
	)
	if err != nil {
		return err
	}

	// The money leaves and the answer is lost. The same bytes go out again under the same key, and get the first answer.
	server.Script(sandbox.CloseAfter())
	payout, err := client.Payouts.Create(ctx, pay("11111111-2222-4333-8444-555555555555"), unavez.WithDomainID("pago", "2026-0001"))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "2026-0001 is %s, requests: %d, payouts: %d\n", payout.Status, len(server.Requests()), server.Effects(payout.IdempotencyKey))

	// The payout failed, and its quote is used up: another quote, and with it another key.
	server.Script(sandbox.Reject("failed"))
	_, err = client.Payouts.Create(ctx, pay("22222222-2222-4333-8444-555555555555"), unavez.WithDomainID("pago", "2026-0002"))
	fmt.Fprintln(w, "2026-0002:", explain(err))

	// Nobody knows. Calling again sends nothing.
	server.Script(sandbox.OutcomeUnknown())
	for range 2 {
		_, err = client.Payouts.Create(ctx, pay("33333333-2222-4333-8444-555555555555"), unavez.WithDomainID("pago", "2026-0003"))
		fmt.Fprintln(w, "2026-0003:", explain(err))
	}
	fmt.Fprintln(w, "requests in all:", len(server.Requests()))
	return resolve(ctx, w, client, journal)
}

// resolve is the only way out of a review: a person has looked into the bank's account, and says so.
func resolve(ctx context.Context, w io.Writer, client *unavez.Client, journal unavez.Journal) error {
	key, err := client.DeriveKey("pago", "2026-0003")
	if err != nil {
		return err
	}
	err = journal.Resolve(ctx, client.RecordID(key), unavez.Resolution{
		Decision: unavez.DecideDone, By: "Lucía, treasury", Why: "the beneficiary has confirmed the receipt",
		Document: json.RawMessage(`{"id":"po_3","status":"completed"}`),
	})
	if err != nil {
		return err
	}
	payout, err := client.Payouts.Reconcile(ctx, key)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "2026-0003 is", payout.Status)
	return nil
}

func explain(err error) string {
	var e *unavez.Error
	if !errors.As(err, &e) {
		return "no error"
	}
	return fmt.Sprintf("%s, effect %s, next %s", e.Disposition, e.Effect, e.Next)
}

func pay(quote string) *unavez.PayoutParams {
	return &unavez.PayoutParams{QuoteID: quote, Method: "pago_movil", BeneficiaryID: "66666666-7777-4888-9999-000000000000"}
}
