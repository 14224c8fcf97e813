package unavez

import (
	"context"
	"crypto/sha256"
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
	fingerprint [sha256.Size]byte
	reconciling bool
	done        chan struct{}
	cancel      context.CancelCauseFunc

	mu         sync.Mutex
	waiters    int
	deadline   time.Time
	noDeadline bool
	operation  *operation

	document *document
	err      *Error
}

// join returns the flight of the key, and whether the caller is the one that must fly it.
func (f *flights) join(ctx context.Context, intent *Intent) (*flight, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if present, found := f.current[intent.Key]; found {
		present.board(ctx)
		return present, false
	}
	fresh := &flight{fingerprint: intent.Fingerprint, reconciling: intent.Reconciling, done: make(chan struct{})}
	fresh.board(ctx)
	if f.current == nil {
		f.current = make(map[string]*flight)
	}
	f.current[intent.Key] = fresh
	return fresh, true
}

// land publishes what came of the flight and makes room for the next one.
func (f *flights) land(key string, landed *flight, doc *document, err *Error) {
	f.mu.Lock()
	delete(f.current, key)
	f.mu.Unlock()
	landed.document, landed.err = doc, err
	close(landed.done)
}

func (f *flight) board(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiters++
	deadline, ok := ctx.Deadline()
	if !ok {
		f.noDeadline = true
		return
	}
	if deadline.After(f.deadline) {
		f.deadline = deadline
	}
}

// leave reports whether nobody waits any more.
func (f *flight) leave() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiters--
	return f.waiters == 0
}

// latestDeadline is the last moment at which some caller still waits.
func (f *flight) latestDeadline() (time.Time, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.deadline, !f.noDeadline
}

func (f *flight) setOperation(o *operation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.operation = o
}

// snapshot tells a caller that leaves while others stay what is known so far.
func (f *flight) snapshot() (attempts []Attempt, wasSent bool, rules OperationRules) {
	f.mu.Lock()
	o := f.operation
	f.mu.Unlock()
	if o == nil {
		return nil, false, OperationRules{}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]Attempt(nil), o.attempts...), o.wasSent || o.exchange.sent(), o.rules
}

// perform runs the intent, or joins the flight that already does.
func (c *Client) perform(ctx context.Context, intent *Intent, config *callConfig) (*document, *Error) {
	for {
		f, isPilot := c.flights.join(ctx, intent)
		switch {
		case isPilot && ctx.Done() == nil:
			c.fly(ctx, f, intent, config)
			return f.document, f.err
		case isPilot:
			flying, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
			f.cancel = cancel
			go c.fly(flying, f, intent, config)
			return c.await1(ctx, f, intent)
		case f.reconciling && !intent.Reconciling:
			// What a reconcile finds answers another question; let it land, then ask our own.
			if doc, err := c.await1(ctx, f, intent); ctx.Err() != nil {
				return doc, err
			}
		case !intent.Reconciling && f.fingerprint != intent.Fingerprint:
			f.leave()
			return nil, c.reusedError(intent, NeedsManualReview)
		default:
			doc, err := c.await1(ctx, f, intent)
			return doc.clone(), err.clone()
		}
	}
}

// fly runs the operation to its end, whoever still waits for it.
func (c *Client) fly(ctx context.Context, f *flight, intent *Intent, config *callConfig) {
	doc, err := c.run(ctx, f, intent, config)
	if f.cancel != nil {
		f.cancel(nil)
	}
	if c.isObserved() {
		c.observe(ctx, &Event{Kind: EventFinished, Op: string(intent.Operation), Key: intent.Key, Err: err})
	}
	c.flights.land(intent.Key, f, doc, err)
}

// await1 waits for the flight as long as the caller's context lives. The last caller to leave ends the flight and takes its
// answer; one that leaves others behind is told what is known so far.
func (c *Client) await1(ctx context.Context, f *flight, intent *Intent) (*document, *Error) {
	select {
	case <-f.done:
		f.leave()
		return f.document, f.err
	case <-ctx.Done():
	}
	if f.leave() {
		if f.cancel != nil {
			f.cancel(context.Cause(ctx))
		}
		<-f.done
		return f.document, f.err
	}
	return nil, c.leftError(ctx, f, intent)
}
