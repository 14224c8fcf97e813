package sqljournal

import (
	"context"
	"sync"
	"sync/atomic"
)

// maxGroup bounds one transaction, and so the longest wait of the first caller in it.
const maxGroup = 256

// group commits for many callers at once. SQLite has one writer, and a commit costs a write to the disk whatever is in it:
// while one commit is under way, the operations that arrive line up and share the next. No caller returns before the
// commit with its operation is durable.
//
// A caller who finds nobody at work does its own operation at once; one goroutine, from New to Close, does what lines up
// meanwhile.
type group struct {
	mu     sync.Mutex
	queue  []*request
	isBusy bool // somebody is at work; if it is a caller, the goroutine is woken when it ends
	closed bool
	wake   chan struct{}
	ended  chan struct{}
}

// request is one caller's operation in line.
type request struct {
	operation operation
	err       error
	done      chan struct{}
	stage     atomic.Int32
}

// The stages of a request. A caller whose context ends leaves it in stageGone: if it was waiting it is not performed,
// if it was taken the claim that it won is given back.
const (
	stageWaiting = iota
	stageTaken
	stageFinished
	stageGone
)

func (g *group) start(j *Journal) {
	g.wake, g.ended = make(chan struct{}, 2), make(chan struct{})
	go g.run(j)
}

// do performs the operation, or lines it up and waits for it.
func (g *group) do(ctx context.Context, j *Journal, o operation) error {
	r, err := g.enter(o)
	switch {
	case err != nil:
		return err
	case r == nil:
		defer g.leave()
		return j.single(ctx, o)
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
	}
	if r.stage.CompareAndSwap(stageWaiting, stageGone) || r.stage.CompareAndSwap(stageTaken, stageGone) {
		return context.Cause(ctx)
	}
	<-r.done
	return r.err
}

// enter returns no request if the caller is to do the operation itself, and leave afterwards.
func (g *group) enter(o operation) (*request, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return nil, ErrClosed
	case !g.isBusy:
		g.isBusy = true
		return nil, nil //nolint:nilnil // the caller's own work
	}
	r := &request{operation: o, done: make(chan struct{})}
	g.queue = append(g.queue, r)
	return r, nil
}

// leave hands what has lined up to the goroutine.
func (g *group) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) == 0 && !g.closed {
		g.isBusy = false
		return
	}
	g.wake <- struct{}{}
}

// close lets what is in line finish.
func (g *group) close() {
	if g.wake == nil {
		return
	}
	g.mu.Lock()
	g.closed = true
	if !g.isBusy {
		g.wake <- struct{}{}
	}
	g.mu.Unlock()
	<-g.ended
}

// run works each time it is woken until nothing is in line.
func (g *group) run(j *Journal) {
	defer close(g.ended)
	for range g.wake {
		for batch := g.take(); len(batch) > 0; batch = g.take() {
			j.commit(batch)
		}
		if g.rest() {
			return
		}
	}
}

// rest reports whether the group was closed. What lined up since the last look wakes the goroutine again.
func (g *group) rest() (closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case len(g.queue) > 0:
		g.wake <- struct{}{}
		return false
	case g.closed:
		return true
	}
	g.isBusy = false
	return false
}

// take takes what is in line and still wanted.
func (g *group) take() []*request {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.queue), maxGroup)
	batch := make([]*request, 0, n)
	for _, r := range g.queue[:n] {
		if r.stage.CompareAndSwap(stageWaiting, stageTaken) {
			batch = append(batch, r)
		}
	}
	g.queue = append([]*request(nil), g.queue[n:]...)
	return batch
}

// commit performs the operations and lets their callers go. It does not run under a caller's context: others share it.
func (j *Journal) commit(batch []*request) {
	ctx := context.Background()
	if len(batch) == 1 {
		batch[0].err = j.single(ctx, batch[0].operation)
	} else {
		j.shared(ctx, batch)
	}
	for _, r := range batch {
		if r.stage.CompareAndSwap(stageTaken, stageFinished) {
			close(r.done)
			continue
		}
		j.giveBack(ctx, r)
	}
}

// single needs no more statements than the same change by hand.
func (j *Journal) single(ctx context.Context, o operation) error {
	done, err := o.quick(ctx, j.pool())
	if !done && err == nil {
		err = j.alone(ctx, o)
	}
	if b, isBegin := o.(*begin); isBegin && ctx.Err() != nil && err != nil {
		b.undo(ctx)
	}
	return err
}

// shared performs all operations in one transaction. If the database refuses one of them, the transaction is undone and each
// is performed alone, so that the refusal meets its own caller only.
func (j *Journal) shared(ctx context.Context, batch []*request) {
	tx, err := j.db.BeginTx(ctx, nil)
	if err == nil {
		if _, err = j.within(tx).exec(ctx, takeWriteLock); err != nil {
			err = rollback(tx, err)
		}
	}
	if err != nil {
		failAll(batch, err)
		return
	}
	run := j.within(tx)
	for _, r := range batch {
		r.err = perform(ctx, run, r.operation)
		if r.err != nil && !isRefusal(r.err) {
			_ = tx.Rollback()
			for _, r := range batch {
				r.err = j.single(ctx, r.operation)
			}
			return
		}
	}
	if err := tx.Commit(); err != nil {
		failAll(batch, err)
	}
}

func perform(ctx context.Context, run runner, o operation) error {
	done, err := o.quick(ctx, run)
	if done || err != nil {
		return err
	}
	return o.full(ctx, run)
}

func failAll(batch []*request, err error) {
	for _, r := range batch {
		r.err = err
	}
}

// giveBack returns a claim that nobody waits for any more. If that fails too, the lease ends it.
func (j *Journal) giveBack(ctx context.Context, r *request) {
	if b, ok := r.operation.(*begin); ok && r.err == nil && b.record.Admission.Claims() {
		_ = b.abandon(ctx, j.pool())
	}
}
