package campaign

import (
	"context"
	"net/http"
	"time"

	"github.com/unavez/unavez"
)

// Client is what a process uses to stamp and pay.
type Client interface {
	// Perform does the operation, or finds that it was done.
	Perform(ctx context.Context, operation Operation, how How) Answer
	// Ask finds out what became of the operation without doing it anew. It is false if the client has no such thing.
	Ask(ctx context.Context, operation Operation, how How) (Answer, bool)
}

// Host is what a process gives its client. The transport is of this process alone, and dies with it.
type Host struct {
	// Name is the process, for traces.
	Name      string
	Transport http.RoundTripper
	// Journal is that of the process: kept with it, or shared with the other processes and kept when they die.
	Journal unavez.Journal
	// Observe is told of each attempt that the client counts, if it does.
	Observe func(attempt unavez.Attempt)
}

// Maker makes the client of a process.
type Maker func(host Host) (Client, error)

// How are the options of one call. Clients without such options ignore them.
type How struct {
	Timeout, MaxWait time.Duration
	MaxAttempts      int
	Jitter           float64
	LookupOnly       bool
	ByReference      bool
	// Awaits asks until the outcome is known.
	Awaits bool
	// RetriesFailed is a person's decision that a key which the provider booked as failed is tried again.
	RetriesFailed bool
}

// Verdict is what a client tells its caller.
type Verdict string

// The verdicts.
const (
	// Done comes with a document.
	Done Verdict = "done"
	// Refused says that nothing happened, and why.
	Refused Verdict = "refused"
	// Later says that it is not known yet, or to come back with the same record.
	Later Verdict = "later"
	// Review says that a person must look.
	Review Verdict = "review"
	// Failed is an error that says none of this. A caller can only take it for what it is called.
	Failed Verdict = "failed"
)

// Answer is what a client answered.
type Answer struct {
	Verdict Verdict
	// ID and UUID are those of the document.
	ID, UUID string
	// Status is that of the last answer of the provider, 0 if none came.
	Status int
	// Again says that the same request under the same key may be sent now, RetryAfter when that makes sense.
	Again      bool
	RetryAfter time.Duration
	Err        error
}

// isFinal reports an answer after which nothing more is to be done by a machine.
func (a *Answer) isFinal() bool {
	return a.Verdict == Done || (a.Verdict == Refused || a.Verdict == Review) && !a.Again
}
