package campaign

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/unavez/unavez"
)

var errCrashed = errors.New("the process is dead")

// process is one life of a replica, from its start to its crash.
type process struct {
	run    *run
	number int
	life   int // its place among all lives of the history
	plan   Process
	client Client
	// journal is the one that it writes to; two processes know of each other only through a shared one.
	journal *unavez.MemoryJournal
	base    *http.Transport
	// alive ends with the process.
	alive context.Context //nolint:containedctx // it is the life of the process
	kill  context.CancelCauseFunc
	dead  atomic.Bool
	dying atomic.Value // the CrashPoint that waits for its next request
	down  atomic.Int64 // how long it stays down, in nanoseconds

	// What its client counted and what arrived, guarded by the mutex of the run.
	counted, answered, arrived int
}

// start begins a life. The journal is lost with the life before it, unless it is durable.
func (r *run) start(number int) error {
	journal := r.durable
	if journal == nil {
		journal = unavez.NewMemoryJournal(0)
	}
	p := &process{run: r, number: number, plan: r.history.Processes[number], journal: journal}
	p.base = &http.Transport{DialContext: r.network.listener.DialContext, IdleConnTimeout: 90 * time.Second}
	p.alive, p.kill = context.WithCancelCause(context.Background())
	client, err := r.maker(Host{
		Name: fmt.Sprintf("process %d", number), Transport: &tap{p}, Journal: mortal{journal, &p.dead}, Observe: p.observe,
	})
	if err != nil {
		return err
	}
	p.client = client
	r.mu.Lock()
	defer r.mu.Unlock()
	p.life = len(r.lives)
	r.lives = append(r.lives, p)
	r.processes[number] = p
	return nil
}

// observe notes an attempt that the client tells of.
func (p *process) observe(attempt unavez.Attempt) {
	if attempt.Kind != unavez.AttemptWrite || attempt.Effect == unavez.NotSent {
		return
	}
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	p.counted++
	if attempt.Err == nil {
		p.answered++
	}
}

// crash ends the process: nothing that it does from now on reaches the journal, the network or a caller.
func (p *process) crash() {
	if p.dead.Swap(true) {
		return
	}
	p.run.logf("process %d crashed", p.number)
	p.kill(errCrashed)
	p.base.CloseIdleConnections()
	p.run.bury(p)
}

// crashAt dies if it was to die at this point.
func (p *process) crashAt(point CrashPoint) {
	if p.dying.CompareAndSwap(point, CrashPoint("")) {
		p.crash()
	}
}

// mortal is a journal in the hands of a process that may be dead.
type mortal struct {
	unavez.Journal

	dead *atomic.Bool
}

func (m mortal) Begin(ctx context.Context, intent unavez.Intent) (unavez.Record, error) {
	if m.dead.Load() {
		return unavez.Record{}, errCrashed
	}
	return m.Journal.Begin(ctx, intent)
}

func (m mortal) Extend(ctx context.Context, claim unavez.Claim, writes int, lease time.Duration) error {
	if m.dead.Load() {
		return errCrashed
	}
	return m.Journal.Extend(ctx, claim, writes, lease)
}

func (m mortal) Finish(ctx context.Context, claim unavez.Claim, result unavez.Result) error {
	if m.dead.Load() {
		return errCrashed
	}
	return m.Journal.Finish(ctx, claim, result)
}

// tap is the network as a process sees it: slow, and gone when the process is.
type tap struct{ process *process }

const (
	operationHeader = "X-Campaign-Operation"
	lifeHeader      = "X-Campaign-Life"
)

type operationKey struct{}

// RoundTrip implements [http.RoundTripper].
func (t *tap) RoundTrip(request *http.Request) (*http.Response, error) {
	p := t.process
	isWrite := request.Method == http.MethodPost
	if isWrite {
		p.crashAt(CrashBeforeSend)
	}
	if err := p.travel(request.Context()); err != nil {
		return nil, err
	}
	number, _ := request.Context().Value(operationKey{}).(int)
	marked := request.Clone(request.Context())
	marked.Header.Set(operationHeader, strconv.Itoa(number))
	marked.Header.Set(lifeHeader, strconv.Itoa(p.life))
	response, err := p.base.RoundTrip(marked)
	if err != nil {
		p.run.logf("process %d, operation %d: %s without an answer: %v", p.number, number, request.Method, err)
		return nil, err
	}
	response.Request = request
	if err := p.travel(request.Context()); err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	p.run.logf("process %d, operation %d: %s answered %d", p.number, number, request.Method, response.StatusCode)
	if response.StatusCode == http.StatusConflict {
		p.run.network.conflict(number)
	}
	p.crashAt(CrashAfterAnswer)
	return response, nil
}

// travel takes the time of the network.
func (p *process) travel(ctx context.Context) error {
	if p.dead.Load() {
		return errCrashed
	}
	if p.plan.Latency == 0 || p.run.network.isQuiet() {
		return nil
	}
	timer := time.NewTimer(p.plan.Latency)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	if p.dead.Load() {
		return errCrashed
	}
	return nil
}
