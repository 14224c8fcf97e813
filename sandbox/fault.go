package sandbox

import (
	"fmt"
	"time"
)

// A Fault is one thing that goes wrong with one request, or Pass. It is a value:
// it can be copied, and queued as often as wanted. String prints it, so that
// scripts can be read in the output of a test.
//
// A fault says up to three things: whether the provider gets to see the request
// at all ("before the commit": nothing is executed and no key is taken), what the
// provider makes of it, and how the answer travels. A fault that is about the
// travelling alone never changes what the provider did and remembers.
//
// What a fault has to say about executing is ignored for a key that is already
// taken: the provider answers that key as it answers it, and the answer travels as
// the fault says. Only Status and TooMany are answered to every key.
type Fault struct {
	name string

	refuse  bool // cut before the body is read
	before  bool // deliver takes the place of the provider
	cuts    bool // and what it does is to break off without an answer
	deliver delivery

	outcome outcome
	delay   time.Duration // until the outcome is carried out
	queued  bool          // the provider does not see the request before

	everything bool          // lookup: the filter is ignored
	lag        time.Duration // lookup: what is younger is not seen
}

// A delivery is a way in which an answer travels, or does not.
type delivery func(x *exchange, a answer)

// An outcome is what a provider makes of a write.
type outcome struct {
	kind   outcomeKind
	denial problem       // denied
	code   string        // rejected
	after  time.Duration // unsettled, doomed
}

type outcomeKind int

const (
	executed    outcomeKind = iota
	denied                  // refused by the provider, with an error that is about this request
	rejected                // the tax authority said no, or the payout failed
	unsettled               // not known until after has passed, then executed
	doomed                  // not known until after has passed, then failed
	unknown                 // not known, for ever
	interrupted             // executed, and the provider died before it took note
)

// String returns the fault nearly as Go source, for instance
// `Status(503, "busy").AfterCommit()` or `Late(3s)`.
func (f Fault) String() string {
	if f.name == "" {
		return "Pass()"
	}
	return f.name
}

// GoString prints the fault for %#v, which is how some property tests print what
// they drew.
func (f Fault) GoString() string { return f.String() }

// AfterCommit returns the fault with the provider doing its work first, and the
// answer being replaced on its way back: the effect happened, the client is told
// of an error. It is for Status, TooMany, HTML, Redirect and Raw; others are
// returned as they are.
func (f Fault) AfterCommit() Fault {
	switch {
	case f.outcome.kind == denied:
		denial := f.outcome.denial
		f.outcome = outcome{}
		f.deliver = func(x *exchange, _ answer) { x.problem(denial).send(x.w) }
	case f.before:
		f.before = false
	default:
		return f
	}
	f.name += ".AfterCommit()"
	return f
}

// With returns a fault in which the provider does what f says, and the answer to
// that travels as g says: StayPending(time.Minute).With(CloseAfter()) is a pending
// document that the client does not even hear of. What g says about the provider
// is ignored.
func (f Fault) With(g Fault) Fault {
	f.name = fmt.Sprintf("%s.With(%s)", f, g)
	f.refuse, f.before, f.deliver = false, false, g.deliver
	return f
}

// Pass lets the request through: what happens is what the provider documents.
func Pass() Fault { return Fault{name: "Pass()"} }

// Slow makes the work take d. The key is taken at once, so that a duplicate finds
// it in progress; the commit happens after d, even if the client has gone by
// then. At Facty the row is pending meanwhile. On a lookup it is a wait.
func Slow(d time.Duration) Fault {
	return Fault{name: fmt.Sprintf("Slow(%s)", d), delay: d}
}

// Queue holds the request back in front of the provider for d, and then lets it
// through, even if the client has gone by then. Until then nobody knows of it: a
// lookup finds nothing, and a duplicate that arrives meanwhile is executed, after
// which the one in the queue finds the key taken.
func Queue(d time.Duration) Fault {
	return Fault{name: fmt.Sprintf("Queue(%s)", d), delay: d, queued: true}
}

// Reject makes the tax authority refuse the document, with the provider's code
// for it. Facty: 422 with fieldErrors, and the row is failed. Ipsofactura: 422,
// which is replayed. Fiscalisto: 422, and the key keeps its body, unless the code
// is invoice_invalid, after which the key is free. Payouts: 200 with status
// "failed", which is replayed and has used the quote up.
func Reject(code string) Fault {
	return Fault{
		name:    fmt.Sprintf("Reject(%q)", code),
		outcome: outcome{kind: rejected, code: code},
	}
}

// StayPending leaves the outcome open for d, after which the document turns out
// to be stamped. Facty: 504, and the row is pending until then. Ipsofactura: 503
// STAMPING_OUTCOME_UNKNOWN, then 409 DUPLICATE_IN_PROGRESS, in the end the
// original 201; more than 72 h are never settled. Fiscalisto: 202, then 409
// request_in_progress, in the end 201. Payouts: 409 idempotency_request_in_flight
// from the start, in the end the original answer.
func StayPending(d time.Duration) Fault {
	return Fault{
		name:    fmt.Sprintf("StayPending(%s)", d),
		outcome: outcome{kind: unsettled, after: d},
	}
}

// PendingThenFail leaves the outcome open for d, as StayPending does, after which
// nothing turns out to have been issued. Facty: the row is failed. Ipsofactura:
// the document stays unresolved, and its key taken until it expires. Fiscalisto:
// the next repetition is told 422 invoice_rejected. Payouts: status "failed".
func PendingThenFail(d time.Duration) Fault {
	return Fault{
		name:    fmt.Sprintf("PendingThenFail(%s)", d),
		outcome: outcome{kind: doomed, after: d},
	}
}

// OutcomeUnknown leaves the outcome open for ever. Payouts: 200 with status
// "unknown"; the money may have moved, so the ledger has it, and the quote is used
// up. Elsewhere it is a StayPending that does not end, and nothing is issued.
func OutcomeUnknown() Fault {
	return Fault{name: "OutcomeUnknown()", outcome: outcome{kind: unknown}}
}

// Interrupt makes the provider die between the commit and its taking note of it.
// Payouts: the connection closes, the key is in flight for 60 s and can then be
// claimed; the payout of the claim meets its own quote and gets 409
// quote_already_consumed. Elsewhere nothing of the kind is documented, and it is
// CloseAfter.
func Interrupt() Fault {
	return Fault{name: "Interrupt()", outcome: outcome{kind: interrupted}, deliver: closing}
}
