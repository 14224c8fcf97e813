package unavez

import (
	"context"
	"crypto/sha256"
	"slices"
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
	name        OperationName
	key         string
	fingerprint [sha256.Size]byte
	reconciling bool
	operation   *operation
	// flying is the context of the operation, and cancel ends it: the callers' values without anyone's end.
	flying context.Context //nolint:containedctx // it outlives the call that made it
	cancel context.CancelCauseFunc

	// done is made when somebody waits who does not fly.
	done chan struct{}

	mu         sync.Mutex
	waiters    int
	isShared   bool
	isLeft     bool
	deadline   time.Time
	noDeadline bool

	document *document
	err      *Error
}

// join returns the flight of the key, and whether the caller is the one that must fly it. A flight that everybody has left
// cannot be boarded any more: it is waited for, and followed by another.
func (f *flights) join(ctx context.Context, o *operation) (_ *flight, boarded, isPilot bool) {
	intent := &o.intent
	f.mu.Lock()
	defer f.mu.Unlock()
	if present, found := f.current[intent.Key]; found {
		present.await()
		boarded = present.board(ctx)
		return present, boarded, false
	}
	fresh := &flight{
		name: intent.Operation, key: intent.Key, fingerprint: intent.Fingerprint, reconciling: intent.Reconciling, operation: o,
	}
	o.flight = fresh
	fresh.flying = ctx
	if ctx.Done() != nil {
		fresh.flying, fresh.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
		fresh.await()
	}
	fresh.board(ctx)
	if f.current == nil {
		f.current = make(map[string]*flight)
	}
	f.current[intent.Key] = fresh
	return fresh, true, true
}

// land publishes what came of the flight and makes room for the next one.
func (f *flights) land(key string, landed *flight, doc *document, err *Error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.current, key)
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
func (f *flight) board(ctx context.Context) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.isLeft {
		return false
	}
	f.isShared = f.isShared || f.waiters > 0
	f.waiters++
	deadline, ok := ctx.Deadline()
	f.noDeadline = f.noDeadline || !ok
	if deadline.After(f.deadline) {
		f.deadline = deadline
	}
	return true
}

// answer gives every caller a document and an error of its own once the flight has landed.
func (f *flight) answer() (*document, *Error) {
	if !f.isShared {
		return f.document, f.err
	}
	return f.document.clone(), f.err.clone()
}

// leave reports whether nobody waits any more.
func (f *flight) leave() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiters--
	f.isLeft = f.isLeft || f.waiters == 0
	return f.waiters == 0
}

// latestDeadline is the last moment at which some caller still waits.
func (f *flight) latestDeadline() (time.Time, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.deadline, !f.noDeadline
}

// snapshot tells a caller that leaves while others stay what is known so far.
func (f *flight) snapshot() (attempts []Attempt, mayHaveLeft bool, rules OperationRules) {
	o := f.operation
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.attempts), o.mayHaveLeft || o.exchange.sent(), o.rules
}

// perform runs the operation, or joins the flight of another caller that already does.
func (c *Client) perform(ctx context.Context, o *operation) (*document, *Error) {
	fingerprint, reconciling := o.intent.Fingerprint, o.intent.Reconciling
	for {
		if err := ctx.Err(); err != nil {
			return nil, c.journalError(ctx, &o.intent, err)
		}
		f, boarded, isPilot := c.flights.join(ctx, o)
		switch {
		case isPilot && ctx.Done() == nil:
			c.fly(f)
			return f.answer()
		case isPilot:
			go c.fly(f)
			return c.waitFor(ctx, f)
		case !boarded:
			select {
			case <-f.done:
			case <-ctx.Done():
				return nil, c.leftError(ctx, f)
			}
		case f.reconciling && !reconciling:
			// What a reconcile finds answers another question; let it land, then ask our own.
			if c.waitFor(ctx, f); ctx.Err() != nil {
				return nil, c.leftError(ctx, f)
			}
		case !reconciling && f.fingerprint != fingerprint:
			f.leave()
			return nil, c.reusedError(&o.intent, NeedsManualReview)
		default:
			return c.waitFor(ctx, f)
		}
	}
}

// fly runs the operation to its end, whoever still waits for it.
func (c *Client) fly(f *flight) {
	ctx := f.flying
	doc, err := f.operation.run(ctx)
	if f.cancel != nil {
		f.cancel(nil)
	}
	if c.isObserved() {
		attempts, _, _ := f.snapshot()
		c.observe(ctx, &Event{
			Kind: EventFinished, Op: string(f.operation.intent.Operation), Key: f.key, Attempts: attempts, Err: err,
		})
	}
	c.flights.land(f.key, f, doc, err)
}

// waitFor waits for the flight as long as the caller's context lives. The last caller to leave ends the flight and takes its
// answer; one that leaves others behind is told what is known so far.
func (c *Client) waitFor(ctx context.Context, f *flight) (*document, *Error) {
	select {
	case <-f.done:
		f.leave()
		return f.answer()
	case <-ctx.Done():
	}
	if f.leave() {
		f.cancel(context.Cause(ctx))
		<-f.done
		return f.answer()
	}
	return nil, c.leftError(ctx, f)
}
