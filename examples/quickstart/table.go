package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/unavez/unavez"
)

func printTable(w io.Writer, batches []*batch) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	withProvider := len(batches) > 1
	column := func(provider string) string {
		if withProvider {
			return provider + "\t"
		}
		return ""
	}
	fmt.Fprintln(table, column("PROVIDER")+"RECORD\tKEY\tWHAT THE NETWORK DID\tATTEMPTS\tANSWER\tWHAT TO DO NEXT")
	for _, b := range batches {
		for i := range b.calls {
			c := &b.calls[i]
			fmt.Fprintf(table, "%s%s\t%s\t%s\t%s\t%s\t%s\n",
				column(b.api.name), c.record.id, c.key, c.trouble.what, b.attempts(c.key), answer(c), next(c.err))
		}
	}
	return table.Flush()
}

// attempts counts the requests of the client: writes, and lookups where the provider is asked.
func (b *batch) attempts(key string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := strconv.Itoa(b.writes[key])
	switch lookups := b.lookups[key]; lookups {
	case 0:
		return text
	case 1:
		return text + " + 1 lookup"
	default:
		return text + " + " + strconv.Itoa(lookups) + " lookups"
	}
}

func answer(c *call) string {
	var e *unavez.Error
	var field *unavez.FieldError
	switch {
	case c.err == nil && c.outcome.Payout != nil:
		return "accepted, " + c.outcome.Payout.Status
	case c.err == nil:
		return "stamped " + c.outcome.Invoice.UUID[:8]
	case errors.As(c.err, &field):
		return "refused: cannot carry " + field.Field
	case !errors.As(c.err, &e):
		return c.err.Error()
	case e.Disposition == unavez.RetryLater && errors.Is(e, unavez.ErrOutcomeUnknown):
		return "retry later, outcome unknown"
	case e.Disposition == unavez.RetryLater:
		return "retry later"
	case e.Disposition == unavez.NeedsManualReview:
		return "needs review: " + string(e.Reason)
	case e.Code != "":
		return "refused: " + e.Code
	}
	return "refused"
}

// next says in a few words what Error.Next and Error.RetryAfter say.
func next(err error) string {
	var e *unavez.Error
	if !errors.As(err, &e) {
		return "store the id"
	}
	steps := map[unavez.Next]string{
		unavez.NextResend:     "call again, same key",
		unavez.NextReconcile:  "Reconcile, same key",
		unavez.NextFixSameKey: "correct it, same key",
		unavez.NextFixNewKey:  "correct it, new key",
		unavez.NextReview:     "a person looks first",
	}
	text := steps[e.Next]
	switch {
	case errors.Is(e, unavez.ErrInsufficientBalance):
		text = "top up, then " + text
	case e.Disposition == unavez.NeedsManualReview && e.Next != unavez.NextReview:
		text = "a person decides: " + text
	}
	if e.RetryAfter > 0 {
		text += ", in " + e.RetryAfter.String()
	}
	return text
}
