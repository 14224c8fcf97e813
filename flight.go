package unavez

import (
	"cmp"
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"sync"
	"time"
)

// flights makes callers with one key one operation, within one client.
type flights struct {
	mu      sync.Mutex
	current map[string]*flight
}

// flight is one operation and the callers that wait for it. It ends when the operation does, or when the last caller has left.
type flight struct {
	key       string
	asks      question
	operation *operation
	// flying is the context of the operation, and cancel ends it: the pilot's values without anyone's end.
	flying context.Context //nolint:containedctx // it outlives the call that made it
	cancel context.CancelCauseFunc

	// done is made when somebody waits who does not fly.
	done chan struct{}

	mu       sync.Mutex
	aboard   []passenger
	isLeft   bool
	isShared bool
	// left tells the operation that a caller has gone; nil where the pilot stays until the end.
	left chan struct{}

	document *document
	err      *Error
	panicked any
}

// question is what two calls must have in common to share one answer: the same bytes, or the same look.
type question struct {
	fingerprint [sha256.Size]byte
	reconciling bool
	operation   OperationName
	reference   string
	lookupOnly  bool
}

// passenger is a caller that waits, with its deadline if it has one.
type passenger struct {
	owner       *operation
	deadline    time.Time
	hasDeadline bool
}

// relation is what a call has to do with the flight of its key.
type relation uint8

const (
	isPilot    relation = iota // it flies
	isAboard                   // it waits for the answer, which is its own
	isStranger                 // it asks something else, and waits for the end
)

func (o *operation) question() question {
	q := question{fingerprint: o.intent.Fingerprint, reconciling: o.intent.Reconciling, operation: o.intent.Operation}
	if q.reconciling {
		q.lookupOnly = o.config.lookupOnly
		if r := o.config.reference; r != nil {
			q.reference = strings.Join([]string{r.ID, r.UUID, r.Issuer, r.Series, r.Folio}, "\x00")
		}
	}
	return q
}

// join returns the flight of the key and what the call has to do with it. A flight that everybody has left cannot be boarded any
// more: its end is waited for.
func (f *flights) join(ctx context.Context, o *operation, asks question) (*flight, relation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if present, found := f.current[o.intent.Key]; found {
		present.await()
		if present.asks == asks && present.board(ctx, o) {
			return present, isAboard
		}
		return present, isStranger
	}
	fresh := &flight{key: o.intent.Key, asks: asks, operation: o, flying: ctx}
	o.flight = fresh
	if ctx.Done() != nil {
		fresh.flying, fresh.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
		fresh.left = make(chan struct{}, 1)
		fresh.await()
	}
	fresh.board(ctx, o)
	if f.current == nil {
		f.current = make(map[string]*flight)
	}
	f.current[fresh.key] = fresh
	return fresh, isPilot
}

// land publishes what came of the flight and makes room for the next one.
func (f *flights) land(landed *flight, doc *document, err *Error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.current, landed.key)
	landed.document, landed.err = doc, err
	if landed.done != nil {
		close(landed.done)
	}
}

// await makes sure that the end of the flight can be waited for; the caller holds the lock of the flights.
func (f *flight) await() {
	if f.done == nil {
		f.done = make(chan struct{})
	}
}

// board counts a caller in, unless everybody has left: such a flight is about to end.
func (f *flight) board(ctx context.Context, o *operation) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.isLeft {
		return false
	}
	f.isShared = f.isShared || len(f.aboard) > 0
	deadline, ok := ctx.Deadline()
	f.aboard = append(f.aboard, passenger{owner: o, deadline: deadline, hasDeadline: ok})
	return true
}

// leave reports whether nobody waits any more, and ends the operation then: it must not find everybody gone and its context alive.
func (f *flight) leave(o *operation, cause error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.aboard = slices.DeleteFunc(f.aboard, func(p passenger) bool { return p.owner == o })
	f.isLeft = f.isLeft || len(f.aboard) == 0
	if f.isLeft {
		f.cancel(cause)
		return true
	}
	select {
	case f.left <- struct{}{}:
	default:
	}
	return false
}

// latestDeadline is the last moment at which some caller still waits.
func (f *flight) latestDeadline() (time.Time, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var latest time.Time
	for _, p := range f.aboard {
		if !p.hasDeadline {
			return time.Time{}, false
		}
		if p.deadline.After(latest) {
			latest = p.deadline
		}
	}
	return latest, len(f.aboard) > 0
}

// answer gives every caller a document and an error of its own once the flight has landed.
func (f *flight) answer() (*document, *Error) {
	if !f.isShared {
		return f.document, f.err
	}
	return f.document.clone(), f.err.clone()
}

// intent names the operation in the error of a caller; the operation's own may be changing.
func (f *flight) intent(asks question) *Intent {
	return &Intent{RecordID: RecordID{Key: f.key}, Operation: asks.operation}
}

// snapshot tells a caller that leaves while others stay what is known so far.
func (f *flight) snapshot() ([]Attempt, *OperationRules) {
	o := f.operation
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.attempts), o.rules
}

// perform runs the operation, or joins the flight of another caller that already does.
func (c *Client) perform(ctx context.Context, o *operation) (*document, *Error) {
	asks := o.question()
	for {
		if err := ctx.Err(); err != nil {
			return nil, c.journalError(ctx, &o.intent, err)
		}
		f, relation := c.flights.join(ctx, o, asks)
		switch {
		case relation == isPilot && ctx.Done() == nil:
			c.fly(f, false)
			return f.answer()
		case relation == isPilot:
			return c.pilot(ctx, f, o, asks)
		case relation == isAboard:
			return c.waitFor(ctx, f, o, asks)
		case !asks.reconciling && !f.asks.reconciling && f.asks != asks && f.asks.fingerprint != o.intent.Twin:
			return nil, c.reusedError(&o.intent, NeedsManualReview)
		}
		select { // what the other call finds answers another question: let it land, then ask our own
		case <-f.done:
		case <-ctx.Done():
			return nil, c.leftError(ctx, f, asks)
		}
	}
}

// fly runs the operation to its end, whoever still waits for it. However it ends, the key can be used again. In a goroutine of its
// own nobody could recover a panic, so there it is kept for the pilot.
func (c *Client) fly(f *flight, isApart bool) {
	var doc *document
	var err *Error
	hasEnded := false
	defer func() {
		if isApart {
			f.panicked = recover()
		}
		if !hasEnded {
			doc, err = nil, c.brokenError(f)
		}
		c.flights.land(f, doc, err)
		if f.cancel != nil {
			f.cancel(nil)
		}
	}()
	doc, err = f.operation.run(f.flying)
	if !f.operation.mayHaveTwin || !err.isReusedInJournal() { // else the call goes on
		c.observeFinished(f.flying, f.operation, f.operation.intent.Operation, err)
	}
	hasEnded = true
}

func (c *Client) observeFinished(ctx context.Context, o *operation, name OperationName, err *Error) {
	if !c.isObserved() {
		return
	}
	attempts, _ := o.flight.snapshot()
	c.observe(context.WithoutCancel(ctx), &Event{
		Kind: EventFinished, Op: string(cmp.Or(name, anyReconcile)), Key: o.intent.Key, Attempts: attempts, Err: err.clone(),
	})
}

// pilot waits like every other caller, and takes over a panic of the goroutine that flies.
func (c *Client) pilot(ctx context.Context, f *flight, o *operation, asks question) (*document, *Error) {
	go c.fly(f, true)
	doc, err := c.waitFor(ctx, f, o, asks)
	select {
	case <-f.done:
		if f.panicked != nil {
			panic(f.panicked) //nolint:forbidigo // the caller's own transport, journal or observer panicked, and the caller may recover
		}
	default:
	}
	return doc, err
}

// waitFor waits for the flight as long as the caller's context lives. The last caller to leave ends the flight and takes its
// answer; one that leaves others behind is told what is known so far.
func (c *Client) waitFor(ctx context.Context, f *flight, o *operation, asks question) (*document, *Error) {
	select {
	case <-f.done:
		return f.answer()
	case <-ctx.Done():
	}
	if f.leave(o, context.Cause(ctx)) {
		<-f.done
		return f.answer()
	}
	return nil, c.leftError(ctx, f, asks)
}
