package sqljournal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/unavez/unavez"
)

// Client is what [Journal.Drain] and [Journal.Sweep] need of a [unavez.Client] that was made with this journal.
type Client interface {
	RecordID(key string) unavez.RecordID
	Send(ctx context.Context, intent unavez.Intent, options ...unavez.CallOption) (*unavez.Outcome, error)
	Reconcile(ctx context.Context, key string, options ...unavez.CallOption) (*unavez.Outcome, error)
}

var _ Client = (*unavez.Client)(nil)

// Report is one record that a pass has handled.
type Report struct {
	unavez.RecordID
	Operation unavez.OperationName
	// Outcome is nil where the error beside it is not.
	Outcome *unavez.Outcome
}

// PassOption configures one pass of [Journal.Drain] or [Journal.Sweep].
type PassOption interface {
	applyToPass(p *pass) error
}

type passOption func(*pass) error

func (o passOption) applyToPass(p *pass) error { return o(p) }

const (
	defaultConcurrency = 8
	defaultReservation = 2 * time.Minute
)

// WithConcurrency is how many operations a pass has under way at once. The default is 8.
func WithConcurrency(n int) PassOption {
	return passOption(func(p *pass) error {
		if n < 1 {
			return fmt.Errorf("sqljournal: concurrency is %d, expected at least 1", n)
		}
		p.concurrency = n
		return nil
	})
}

// WithReservation is how long other replicas pass over a record that this pass has taken up: for as long a record waits whose
// replica died before it was sent. It saves work and protects nothing; the lease does that. The default is 2 minutes.
func WithReservation(d time.Duration) PassOption {
	return passOption(func(p *pass) error {
		if d <= 0 {
			return fmt.Errorf("sqljournal: reservation is %s, expected more than zero", d)
		}
		p.reservation = d
		return nil
	})
}

// WithCallOptions gives every call of the pass the options, for instance [unavez.WithMaxAttempts] or [unavez.WithLookupOnly].
func WithCallOptions(options ...unavez.CallOption) PassOption {
	return passOption(func(p *pass) error {
		p.options = append(p.options, options...)
		return nil
	})
}

// Drain brings to an end what is due: intents from [Journal.Enqueue], operations whose last answer was to come back later, and
// those that a dead process left behind, of the client's provider and account, in the order of their arrival, each at most
// once in a pass. It calls Send for each, which asks first where an outcome is unknown and the provider's page says so. Records in
// review are left alone. Give the client a [unavez.WithMaxWait] of a second or more where the provider is asked first, since a
// lookup that finds nothing is believed only when it is repeated.
//
// Any number of replicas may drain at once: they pass over each other's records, and a record that two of them take up all
// the same is sent by the one that holds its lease.
//
// The pass runs while the caller ranges over it, and holds a few records in memory, however many are due. An error beside a
// Report with a key is that operation's, as Create would return it; when it says how long to wait, later passes leave
// the record alone for as long. An error beside an empty Report ends the pass: the journal could not be read, or ctx
// ended. Leaving the loop early ends the pass after the operations that are under way.
func (j *Journal) Drain(ctx context.Context, client Client, options ...PassOption) iter.Seq2[Report, error] {
	return j.pass(ctx, client, reserveDrain, (*pass).send, options)
}

// Sweep finds out what became of operations that may have been executed and that nobody is working on: a process died between
// intent and outcome, or an outcome stayed unknown. It calls Reconcile for each, and starts nothing: what is queued, what is known
// not to have happened and what a person must decide are left alone. It is for programs that call Create and want to know, at
// start and now and then, what became of the calls that did not return. For the rest it is as [Journal.Drain].
func (j *Journal) Sweep(ctx context.Context, client Client, options ...PassOption) iter.Seq2[Report, error] {
	return j.pass(ctx, client, reserveSweep, (*pass).reconcile, options)
}

// pass is one walk over the records that are due.
type pass struct {
	j       *Journal
	client  Client
	reserve statement
	act     func(*pass, context.Context, *row) (*unavez.Outcome, error)

	concurrency int
	reservation time.Duration
	options     []unavez.CallOption
}

// handled is one record on its way to the caller.
type handled struct {
	report Report
	err    error
}

func (j *Journal) pass(
	ctx context.Context, client Client, reserve statement,
	act func(*pass, context.Context, *row) (*unavez.Outcome, error), options []PassOption,
) iter.Seq2[Report, error] {
	p := &pass{j: j, client: client, reserve: reserve, act: act, concurrency: defaultConcurrency, reservation: defaultReservation}
	return func(yield func(Report, error) bool) {
		for _, o := range options {
			if err := o.applyToPass(p); err != nil {
				yield(Report{}, err)
				return
			}
		}
		p.run(ctx, yield)
	}
}

// run hands records from one feeder to the workers, and what they report to the caller's loop, which sets the pace.
func (p *pass) run(ctx context.Context, yield func(Report, error) bool) {
	var (
		workers sync.WaitGroup
		jobs    = make(chan *row)
		results = make(chan handled)
		enough  = make(chan struct{})
	)
	workers.Go(func() {
		defer close(jobs)
		if err := p.feed(ctx, jobs, enough); err != nil {
			results <- handled{err: err}
		}
	})
	for range p.concurrency {
		workers.Go(func() {
			for r := range jobs {
				results <- p.handle(ctx, r)
			}
		})
	}
	go func() {
		workers.Wait()
		close(results)
	}()
	wanted := true
	for h := range results {
		if wanted && !yield(h.report, h.err) {
			wanted = false
			close(enough)
		}
	}
}

// feed takes up page after page, so that memory does not grow with what is due.
func (p *pass) feed(ctx context.Context, jobs chan<- *row, enough <-chan struct{}) error {
	last, err := p.j.adopt(ctx)
	if err != nil {
		return err
	}
	id := p.client.RecordID("")
	for after := int64(0); ; {
		taken := &page{pass: p, id: id, after: after, last: last}
		if err := p.j.do(ctx, "take up due records", taken); err != nil {
			return err
		}
		if len(taken.rows) == 0 {
			return nil
		}
		for i, r := range taken.rows {
			select {
			case jobs <- r:
			case <-enough:
				p.release(ctx, taken.rows[i:])
				return nil
			case <-ctx.Done():
				p.release(ctx, taken.rows[i:])
				return context.Cause(ctx)
			}
		}
		after = taken.rows[len(taken.rows)-1].seq
	}
}

// handle performs one record, and puts it off if its answer says how long.
func (p *pass) handle(ctx context.Context, r *row) handled {
	h := handled{report: Report{RecordID: r.RecordID, Operation: r.Operation}, err: r.unreadable}
	if h.err == nil {
		h.report.Outcome, h.err = p.act(p, ctx, r)
	}
	var e *unavez.Error
	if errors.As(h.err, &e) && e.RetryAfter > 0 {
		// What cannot be noted costs an early look, which the lease and the provider's window survive.
		_ = p.j.do(context.WithoutCancel(ctx), "put off", &putOff{r.seq, e.RetryAfter})
	}
	return h
}

func (p *pass) send(ctx context.Context, r *row) (*unavez.Outcome, error) {
	return p.client.Send(ctx, unavez.Intent{
		RecordID: r.RecordID, Environment: r.Environment, Identity: r.Identity, Operation: r.Operation,
		Method: r.Method, Path: r.Path, Body: r.Body, Proof: r.Proof, Fingerprint: r.Fingerprint,
	}, p.options...)
}

func (p *pass) reconcile(ctx context.Context, r *row) (*unavez.Outcome, error) {
	return p.client.Reconcile(ctx, r.Key, p.options...)
}

// release lets other passes have what this one does not get to.
func (p *pass) release(ctx context.Context, rows []*row) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTimeout)
	defer cancel()
	for _, r := range rows {
		if err := p.j.do(ctx, "release", &putOff{r.seq, 0}); err != nil {
			return // the reservation ends by itself
		}
	}
}
