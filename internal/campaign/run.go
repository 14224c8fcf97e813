package campaign

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unavez/unavez"
)

// Mode is how a history is played.
type Mode struct {
	// IsPlain plays every client with its own defaults, and never repeats a record that the program knows to be final: what a
	// comparison of clients needs. Otherwise the steps' options are used and some steps insist.
	IsPlain bool
	// Only leaves out the operations of other kinds, for a client that knows one; empty for all.
	Only Kind
}

// run is a history while it is played.
type run struct {
	history History
	mode    Mode
	maker   Maker
	network *network
	durable *unavez.MemoryJournal
	began   time.Time
	calls   sync.WaitGroup
	// isEnding: every process runs, and none crashes any more.
	isEnding atomic.Bool

	mu        sync.Mutex
	processes []*process // nil while it is down
	lives     []*process
	rows      []row
	broken    []string
	trace     []note
}

// Play plays a history with the clients that maker makes, and reports what came of it. It must be called inside a
// testing/synctest bubble: it sleeps for days.
func Play(history History, mode Mode, maker Maker) (Report, error) {
	r := &run{history: history, mode: mode, maker: maker, began: time.Now()}
	r.network = newNetwork(r)
	defer r.network.close()
	if history.IsDurable {
		r.durable = unavez.NewMemoryJournal(0)
	}
	r.rows = make([]row, len(history.Operations))
	r.processes = make([]*process, len(history.Processes))
	for number := range history.Processes {
		if err := r.start(number); err != nil {
			return Report{}, err
		}
	}
	for _, step := range history.Steps {
		sleep(step.After)
		r.play(step)
	}
	r.calls.Wait()
	r.settle()
	r.checkEnd()
	r.end()
	return r.report(), nil
}

// end ends all processes for good.
func (r *run) end() {
	for _, life := range r.lives {
		life.kill(errCrashed)
		life.base.CloseIdleConnections()
	}
}

// sleep lets virtual time pass.
func sleep(d time.Duration) { <-time.After(d) }

// row is what the program keeps of one of its records, whatever client it uses.
type row struct {
	asked    time.Time // zero if nobody has asked for it yet
	final    time.Time // zero while it is open
	answer   Answer
	answered time.Time
	by       *unavez.MemoryJournal // the journal of the process that gave the answer
	// The program was told an error, and not that the outcome is open, while the provider had done it: by an answer that refuses, or else.
	deniedByAnswer, deniedWithout bool
	isWrong                       bool // a document was returned that is not the record's
	performed                     map[*unavez.MemoryJournal]bool
}

// note is one line of the trace, formatted only if somebody reads it.
type note struct {
	at     time.Duration
	format string
	args   []any
}

func (r *run) logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace = append(r.trace, note{time.Since(r.began), format, args})
}

func (r *run) failf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.logf("VIOLATION: %s", text)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = append(r.broken, text)
}

// arrive counts a write of a life.
func (r *run) arrive(life int) *process {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.lives[life]
	p.arrived++
	return p
}

func (r *run) play(step Step) {
	p := r.up(step.Process)
	if p == nil {
		return // nobody is there
	}
	if step.Kind == StepCrash {
		r.crash(p, step)
		return
	}
	if only := r.mode.Only; only != "" && r.history.Operations[step.Operation].Kind != only {
		return
	}
	if step.RefusedDials > 0 {
		r.network.listener.Refuse(step.RefusedDials)
		p.base.CloseIdleConnections()
	}
	how := step.How
	if r.mode.IsPlain {
		how = How{Awaits: how.Awaits}
	}
	for click := range step.Clicks {
		r.calls.Go(func() {
			sleep(time.Duration(click) * 137 * time.Microsecond)
			insists := step.Insists && !r.mode.IsPlain
			r.call(p, step.Operation, step.Kind, how, step.Deadline, insists)
		})
	}
}

func (r *run) up(number int) *process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.processes[number]
}

// crash kills the process now, or at a point of its next request.
func (r *run) crash(p *process, step Step) {
	p.down.Store(int64(step.Down))
	if step.Point == CrashNow {
		p.crash()
		return
	}
	p.dying.Store(step.Point)
}

// bury takes a dead process out, and starts its successor after a while.
func (r *run) bury(p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.processes[p.number] = nil
	time.AfterFunc(time.Duration(p.down.Load()), func() { r.revive(p.number) })
}

// revive starts a process that is down.
func (r *run) revive(number int) {
	if r.up(number) != nil || r.isEnding.Load() {
		return
	}
	if err := r.start(number); err != nil {
		r.failf("process %d does not start: %v", number, err)
	}
}

// call is one caller in a process. The program does not call for a row that is final, unless it insists.
func (r *run) call(p *process, number int, kind StepKind, how How, deadline time.Duration, insists bool) Answer {
	operation := r.history.Operations[number]
	r.mu.Lock()
	row := &r.rows[number]
	if !row.final.IsZero() && !insists {
		defer r.mu.Unlock()
		return row.answer
	}
	if row.asked.IsZero() {
		row.asked = time.Now()
	}
	if row.performed == nil {
		row.performed = make(map[*unavez.MemoryJournal]bool)
	}
	if kind == StepPerform {
		row.performed[p.journal] = true
	}
	r.mu.Unlock()
	ctx, cancel := p.context(number, how, deadline)
	defer cancel()
	c := &call{process: p, operation: number, kind: kind, start: time.Now()}
	answer, isAnswer := p.do(ctx, operation, kind, how)
	if !isAnswer || p.dead.Load() {
		return Answer{Verdict: Later} // nobody heard it
	}
	c.end, c.answer = time.Now(), answer
	r.hear(c)
	return answer
}

// do makes the call. It is false if the client has no way to ask.
func (p *process) do(ctx context.Context, operation Operation, kind StepKind, how How) (Answer, bool) {
	if kind == StepAsk {
		return p.client.Ask(ctx, operation, how)
	}
	return p.client.Perform(ctx, operation, how), true
}

// context is that of one call. One that waits until the outcome is known has an end in any case.
func (p *process) context(number int, how How, deadline time.Duration) (context.Context, context.CancelFunc) {
	ctx := context.WithValue(p.alive, operationKey{}, number)
	if how.Awaits && deadline == 0 {
		deadline = time.Hour
	}
	if deadline == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, deadline)
}

// call is one call of a client and its answer.
type call struct {
	process    *process
	operation  int
	kind       StepKind
	start, end time.Time
	answer     Answer
}

// hear takes an answer into the program's row and checks it.
func (r *run) hear(c *call) {
	effects := r.network.effects(c.operation)
	r.logf("process %d, operation %d: %s answered %s %s%s %v, %d effects", c.process.number, c.operation, c.kind, c.answer.Verdict,
		c.answer.ID, c.answer.UUID, c.answer.Err, len(effects))
	r.mu.Lock()
	row := &r.rows[c.operation]
	if c.answer.Verdict == Failed && len(effects) > 0 || c.answer.Verdict == Refused && len(effects) > 0 {
		byAnswer := c.answer.Status >= 300 && c.answer.Status < 500
		row.deniedByAnswer = row.deniedByAnswer || byAnswer
		row.deniedWithout = row.deniedWithout || !byAnswer
	}
	row.isWrong = row.isWrong || c.answer.Verdict == Done && !c.answer.isIn(effects)
	if row.answer.Verdict != Done { // a document is a fact, whatever is said afterwards
		row.answer, row.answered, row.by = c.answer, time.Now(), c.process.journal
		row.setFinal(&c.answer)
	}
	r.mu.Unlock()
	r.checkAnswer(c, effects)
}

func (w *row) setFinal(answer *Answer) {
	switch {
	case !answer.isFinal():
		w.final = time.Time{}
	case w.final.IsZero():
		w.final = time.Now()
	}
}

// rounds are those of the end: after each pause the program comes back for every row that is open.
func (r *run) rounds() []time.Duration {
	if r.history.isShort() {
		return []time.Duration{0, 2 * time.Minute, 30 * time.Minute, 150 * time.Minute}
	}
	return []time.Duration{0, 2 * time.Minute, 30 * time.Minute, 4 * time.Hour, 26 * time.Hour, 100 * time.Hour}
}

// settle is the end of a history: nothing goes wrong any more, and the program comes back for what is open.
func (r *run) settle() {
	r.network.calm()
	r.logf("from here on nothing goes wrong")
	for number := range r.history.Processes {
		r.revive(number)
		r.up(number).dying.Store(CrashPoint(""))
	}
	r.isEnding.Store(true)
	for _, pause := range r.rounds() {
		sleep(pause)
		for number := range r.rows {
			if !r.rows[number].asked.IsZero() && r.rows[number].final.IsZero() {
				r.comeBack(number)
			}
		}
	}
}

// comeBack asks for a row, and does it where that is what comes next. It uses the process that was asked before, where there is one.
func (r *run) comeBack(number int) {
	p := r.up(r.homeOf(number))
	answer := r.call(p, number, StepAsk, How{}, 0, false)
	if answer.isFinal() {
		return
	}
	if answer = r.call(p, number, StepPerform, How{}, 0, false); answer.isFinal() {
		return
	}
	if answer.Verdict == Later && answer.RetryAfter > 0 && answer.RetryAfter < 5*time.Minute {
		sleep(answer.RetryAfter)
		r.call(p, number, StepPerform, How{}, 0, false)
	}
}

// homeOf returns a process whose journal knows the row.
func (r *run) homeOf(number int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, p := range r.processes {
		if r.rows[number].performed[p.journal] {
			return i
		}
	}
	return 0
}

// isIn reports whether the ledger's entries of the record have the document.
func (a *Answer) isIn(effects []entry) bool {
	return slices.ContainsFunc(effects, func(e entry) bool {
		if e.Status == "registered" { // the ledger and the answer number it differently
			return a.UUID == "" && a.ID != ""
		}
		return strings.EqualFold(a.UUID, e.UUID) && (a.ID == "" || a.ID == e.ID)
	})
}
