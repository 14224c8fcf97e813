package campaign

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/sandbox"
)

// What must hold for the SDK in every history:
//
//	double     at most one effect per record
//	untrue     a document that is returned is the record's, and the provider has it
//	refused    "refused", "not sent" and "not executed" are said only while nothing was done, and nothing comes of it later
//	lost       in the end each record is done, refused, with a person, or open for a reason that is still there
//	uncounted  every write that arrives was counted as sent
//	expired    nothing is sent again past the provider's memory while its outcome is unknown
//	reason     what a person is told is what the provider has shown
//
// Where the provider lies, only double and uncounted are checked.

type entry = sandbox.Entry

// checkAnswer holds one answer against the ledger at the moment in which the caller hears it.
func (r *run) checkAnswer(c *call, effects []entry) {
	if len(effects) > 1 {
		r.failf("double: operation %d has %d effects", c.operation, len(effects))
	}
	if r.history.HasLies {
		return
	}
	if c.answer.Verdict == Done {
		if !c.answer.isIn(effects) {
			r.failf("untrue: operation %d was answered with %s %s, which its provider does not have", c.operation, c.answer.ID, c.answer.UUID)
		}
		return
	}
	var failure *unavez.Error
	if !errors.As(c.answer.Err, &failure) {
		return
	}
	saysNothing := failure.Disposition == unavez.Refused || failure.Effect == unavez.NotSent || failure.Effect == unavez.NotExecuted
	switch {
	case saysNothing && len(effects) > 0 && !r.isForeign(c):
		r.failf("refused: operation %d is %s, effect %s, and was done: %v", c.operation, failure.Disposition, failure.Effect, failure)
	case failure.Effect == unavez.Executed && len(effects) == 0:
		r.failf("untrue: operation %d is called executed and was not: %v", c.operation, failure)
	}
	if failure.Disposition == unavez.NeedsManualReview {
		r.checkReason(c, failure, effects)
	}
	if saysNothing {
		r.network.clear(c.operation)
	}
}

// isForeign reports that a process with another journal has sent something for the record, of which this one cannot know.
func (r *run) isForeign(c *call) bool {
	r.network.mu.Lock()
	defer r.network.mu.Unlock()
	return r.network.records[c.operation].isForeignTo(c.process.journal)
}

func (t *traffic) isForeignTo(journal *unavez.MemoryJournal) bool {
	return slices.ContainsFunc(t.arrivals, func(a arrival) bool { return a.journal != journal })
}

// checkReason asks for the evidence of what a person is told.
func (r *run) checkReason(c *call, failure *unavez.Error, effects []entry) {
	if !r.isTrueReason(c, failure, effects) {
		r.failf("reason: operation %d is with a person because of %s, which nothing shows: %v", c.operation, failure.Reason, failure)
	}
}

func (r *run) isTrueReason(c *call, failure *unavez.Error, effects []entry) bool {
	r.network.mu.Lock()
	defer r.network.mu.Unlock()
	record := r.network.records[c.operation]
	provider := r.history.Operations[c.operation].Account.Provider
	switch failure.Reason {
	case unavez.ReasonFailed:
		return record.mayHaveFailed(c, failure, effects)
	case unavez.ReasonNeverArrived:
		return record.mayLookEmpty(c, failure, effects)
	case unavez.ReasonUnknownStatus: // at Ipsofactura a row without a fiscal folio is one
		return record.seen[isOddWord] || provider == Ipsofactura
	case unavez.ReasonKeyMismatch:
		return record.seen[isForeignRow]
	case unavez.ReasonConflict:
		return record.conflicts > 0
	case unavez.ReasonContradiction:
		return record.conflicts > 0 || record.seen[isOddWord] || record.seen[isForeignRow]
	case unavez.ReasonKeyExpired: // a process that died before its first write cannot be told from one that died after it
		return r.isOlderThan(c, 23*time.Hour)
	case unavez.ReasonOutcomeUnknown:
		return provider == Payouts && record.seen[isOpen]
	case unavez.ReasonNoRecord:
		return !slices.ContainsFunc(record.arrivals, func(a arrival) bool { return a.journal == c.process.journal })
	case unavez.ReasonDuplicate, unavez.ReasonKeyReused, unavez.ReasonStampedBefore, unavez.ReasonOtherProvider:
	}
	return false
}

// mayHaveFailed: said of an earlier try, it does not exclude that a later one is done; and a journal knows of no later one at another's.
func (t *traffic) mayHaveFailed(c *call, failure *unavez.Error, effects []entry) bool {
	return len(effects) == 0 || failure.Effect == unavez.Unknown || t.isForeignTo(c.process.journal)
}

// mayLookEmpty reports that a list may have been empty when it was asked for. The journal repeats what was true when it was found.
func (t *traffic) mayLookEmpty(c *call, failure *unavez.Error, effects []entry) bool {
	return len(effects) == 0 || t.seen[isLag] || effects[0].At.After(c.start) || len(failure.Attempts) == 0
}

func (r *run) isOlderThan(c *call, age time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Since(r.rows[c.operation].asked) > age
}

// checkEnd looks at everything once more, when all that was in flight has landed.
func (r *run) checkEnd() {
	for number := range r.rows {
		effects := r.network.effects(number)
		if len(effects) > 1 {
			r.failf("double: operation %d has %d effects in the end", number, len(effects))
		}
		if !r.history.HasLies && !r.rows[number].asked.IsZero() {
			r.checkRow(number, effects)
			r.checkExpiry(number)
		}
	}
	for _, p := range r.lives {
		if p.arrived > p.counted || p.arrived < p.answered {
			r.failf("uncounted: process %d counted %d writes as sent, %d of them answered, and %d arrived", p.number, p.counted, p.answered, p.arrived)
		}
	}
}

func (r *run) checkRow(number int, effects []entry) {
	row := &r.rows[number]
	answer := &row.answer
	switch {
	case answer.Verdict == Done && !answer.isIn(effects):
		r.failf("untrue: operation %d is done with %s %s, which its provider does not have", number, answer.ID, answer.UUID)
	case answer.Verdict == Refused && len(effects) > 0 && !r.isExcused(number):
		r.failf("refused: operation %d was refused at %s, and done at %s", number, row.answered.Sub(r.began), effects[0].At.Sub(r.began))
	case !answer.isFinal() && !r.mayStayOpen(number):
		r.failf("lost: operation %d is still %s in the end, and nothing keeps it open: %v", number, answer.Verdict, answer.Err)
	}
}

// isExcused reports that the one who said "refused" could not know better: another journal sent something, or something was sent afterwards.
func (r *run) isExcused(number int) bool {
	row := &r.rows[number]
	r.network.mu.Lock()
	defer r.network.mu.Unlock()
	record := r.network.records[number]
	return record.isForeignTo(row.by) || slices.ContainsFunc(record.arrivals, func(a arrival) bool { return a.at.After(row.answered) })
}

// mayStayOpen reports that a record has a reason to be open in the end: the provider has not decided, or documents no way to find out.
func (r *run) mayStayOpen(number int) bool {
	operation := r.history.Operations[number]
	if operation.Account.Provider == Facty && operation.Kind != Invoice {
		return true
	}
	r.network.mu.Lock()
	defer r.network.mu.Unlock()
	return r.network.records[number].openUntil.After(time.Now())
}

// checkExpiry looks for a write that left after the provider had forgotten the one before it, whose outcome nobody knew.
func (r *run) checkExpiry(number int) {
	memory := retention(r.history.Operations[number].Account.Provider)
	if memory == 0 || !r.history.IsDurable {
		return
	}
	r.network.mu.Lock()
	defer r.network.mu.Unlock()
	record := r.network.records[number]
	for i, arrival := range record.arrivals {
		if age := arrival.at.Sub(record.firstOpen(i)); age >= memory {
			r.failf("expired: operation %d was sent again %s after a write with an unknown outcome", number, age)
		}
	}
}

// Report is what came of a history.
type Report struct {
	Broken []string
	Tally  Tally
	// Trace tells what happened, line by line.
	Trace func() string
}

func (r *run) report() Report {
	return Report{Broken: r.broken, Tally: r.tally(), Trace: func() string {
		var b strings.Builder
		for _, note := range r.trace {
			fmt.Fprintf(&b, "%16s  %s\n", note.at, fmt.Sprintf(note.format, note.args...))
		}
		for _, e := range r.network.sandbox.Ledger() {
			fmt.Fprintf(&b, "%16s  ledger: %s %s %s %s %s\n", e.At.Sub(r.began), e.Provider, e.Key, e.ID, e.UUID, e.Status)
		}
		return b.String()
	}}
}
