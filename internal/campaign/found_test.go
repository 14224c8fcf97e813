package campaign_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez/internal/campaign"
	"github.com/unavez/unavez/sandbox"
)

// What the campaign has found, each as the smallest history that showed it.

// history returns one operation with its faults, asked for by one process with a durable journal.
func history(provider string, kind campaign.Kind, writes, lookups []campaign.Fault, steps ...campaign.Step) campaign.History {
	return campaign.History{
		IsDurable:  true,
		Operations: []campaign.Operation{{Account: campaign.Account{Provider: provider}, Kind: kind}},
		Processes:  []campaign.Process{{}},
		Writes:     [][]campaign.Fault{writes}, Lookups: [][]campaign.Fault{lookups},
		Steps: steps,
	}
}

func faults(faults ...sandbox.Fault) []campaign.Fault {
	var found []campaign.Fault
	for _, fault := range faults {
		found = append(found, campaign.Fault{Fault: fault})
	}
	return found
}

func perform(after time.Duration) campaign.Step {
	return campaign.Step{After: after, Kind: campaign.StepPerform, Clicks: 1}
}

func ask(after time.Duration) campaign.Step {
	return campaign.Step{After: after, Kind: campaign.StepAsk, Clicks: 1}
}

func requireUnbroken(t *testing.T, h campaign.History) {
	t.Helper()
	report := play(t, h, campaign.Mode{}, campaign.NewSDK)
	require.Empty(t, report.Broken, report.Trace())
}

// Seed 2954: two stamps. The retention window has to begin with the first write that was really sent, also when Reconcile sends it.
func TestFoundTheWindowBeginsWithAFirstSendByReconcile(t *testing.T) {
	t.Parallel()
	refused := perform(0)
	refused.RefusedDials = 5
	lost := sandbox.CloseAfter()
	requireUnbroken(t, history(campaign.Ipsofactura, campaign.Invoice, faults(lost, lost, lost, lost, lost), nil,
		refused, ask(time.Minute), perform(97*time.Hour)))
}

// Seed 379: the same at the payouts API, where the second send would be another payout if the quote did not guard it.
func TestFoundTheWindowBeginsWithAFirstPayoutByReconcile(t *testing.T) {
	t.Parallel()
	refused := perform(0)
	refused.RefusedDials = 5
	requireUnbroken(t, history(campaign.Payouts, campaign.Payout, faults(sandbox.ResetBefore()), nil,
		refused, ask(time.Minute), ask(25*time.Hour)))
}

// Seed 387: a deadline that ends during the lookup must leave the record unresolved, and not as it was before the send.
func TestFoundADeadlineDuringTheLookupLeavesTheRecordUnresolved(t *testing.T) {
	t.Parallel()
	step := perform(0)
	step.Deadline = 8 * time.Second
	requireUnbroken(t, history(campaign.Facty, campaign.Invoice, faults(sandbox.ResetAfter()), faults(sandbox.Late(time.Minute)), step))
}

// Seed 79, under the race detector: the callers of a Reconcile leave one after the other while it turns into a resend.
func TestFoundCallersLeaveAReconcileThatResends(t *testing.T) {
	t.Parallel()
	lost := sandbox.CloseAfter()
	leaving := ask(time.Minute)
	leaving.Clicks, leaving.Deadline = 3, 5*time.Millisecond
	h := history(campaign.Fiscalisto, campaign.CreditNote, faults(lost, lost, lost, lost, lost), nil, perform(0), leaving)
	h.Processes[0].Latency = 2 * time.Second
	requireUnbroken(t, h)
}

// Seed 218193: two payouts. The provider's day begins with the first use of the key, also when that was answered 402: what is sent anew
// under the same key four hours later is not protected for a day of its own.
func TestFoundTheWindowBeginsWithTheFirstUseOfTheKey(t *testing.T) {
	t.Parallel()
	requireUnbroken(t, history(campaign.Payouts, campaign.Payout, faults(sandbox.Status(402, ""), sandbox.StayPending(80*time.Hour)), nil,
		perform(0), perform(4*time.Hour), perform(21*time.Hour)))
}

func retryFailed(after time.Duration) campaign.Step {
	step := perform(after)
	step.How.RetriesFailed, step.Insists = true, true
	return step
}

// Seed 109: the same invoice without a person's decision was called another request, and went to a person.
func TestFoundADecisionOfAPersonIsNoOtherDocument(t *testing.T) {
	t.Parallel()
	work := 20 * time.Minute
	slow := campaign.Fault{Fault: sandbox.Slow(work), Settles: work}
	requireUnbroken(t, history(campaign.Facty, campaign.Invoice, []campaign.Fault{slow}, nil, retryFailed(0), perform(time.Minute)))
}

// Seed 129: a call that ended before its first byte had left kept every later one without the decision from going on.
func TestFoundADecisionThatWasNeverSentIsGoneOnWith(t *testing.T) {
	t.Parallel()
	left := retryFailed(0)
	left.Deadline = 900 * time.Millisecond
	h := history(campaign.Facty, campaign.Invoice, nil, nil, left, perform(time.Minute))
	h.Processes[0].Latency = 2 * time.Second
	requireUnbroken(t, h)
}

// Seed 1155402: a process with a journal of its own repeats that a key failed, after another one has tried it again with success. That is the
// limit of such a journal, which the check had not known.
func TestFoundAJournalOfItsOwnRepeatsWhatFailed(t *testing.T) {
	t.Parallel()
	by := func(process int, step campaign.Step) campaign.Step {
		step.Process, step.Insists = process, true
		return step
	}
	rejected := campaign.Fault{Fault: sandbox.Reject("CFDI40103"), IsVerdict: true}
	h := history(campaign.Facty, campaign.Invoice, []campaign.Fault{rejected}, nil,
		by(0, perform(0)), by(1, perform(time.Second)), by(0, retryFailed(20*time.Minute)), by(1, perform(2*time.Hour)))
	h.IsDurable, h.Processes = false, []campaign.Process{{}, {}}
	requireUnbroken(t, h)
}

// Seed 1297508: after a list that lagged, the same invoice without the decision was called not sent, though the bytes before it had stamped.
func TestFoundATwinInheritsWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	pending := campaign.Fault{Fault: sandbox.StayPending(80 * time.Hour), Settles: 80 * time.Hour}
	decided := retryFailed(0)
	decided.How.Timeout, decided.How.MaxAttempts, decided.How.MaxWait = 30*time.Second, 2, 90*time.Second
	refused := perform(2 * time.Hour)
	refused.RefusedDials, refused.Insists = 6, true
	later := perform(124 * time.Hour)
	later.Operation = 1
	h := history(campaign.Facty, campaign.Invoice, []campaign.Fault{pending}, faults(sandbox.Pass(), sandbox.IgnoreFilter(), sandbox.LagLookup(2*time.Minute)),
		decided, ask(time.Minute), refused, later)
	h.Operations = append(h.Operations, campaign.Operation{Number: 1, Account: h.Operations[0].Account, Kind: campaign.Retention})
	h.Writes, h.Lookups = append(h.Writes, nil), append(h.Lookups, nil)
	requireUnbroken(t, h)
}
