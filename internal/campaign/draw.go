package campaign

import (
	"math/rand/v2"
	"time"
)

// draw draws the parts of a history.
type draw struct{ *rand.Rand }

// Shape limits what is drawn.
type Shape struct {
	// Providers are those that the accounts are at; all if empty.
	Providers []string
	// IsHonest leaves out the histories in which a provider answers against its own page.
	IsHonest bool
}

// Draw returns the history of a seed: the same one for ever, as long as this code does not change.
func Draw(seed uint64, shape Shape) History {
	d := draw{rand.New(rand.NewPCG(seed, 0x756e6176657a))} //nolint:gosec // it must be repeatable
	providers := shape.Providers
	if len(providers) == 0 {
		providers = Providers()
	}
	h := History{Seed: seed, IsDurable: !d.chance(4)}
	h.HasLies = d.chance(10) && !shape.IsHonest
	accounts := make([]Account, 0, 4)
	for i := range 1 + d.IntN(4) {
		accounts = append(accounts, Account{Provider: pick(d, providers...), Number: i})
	}
	for i := range 1 + d.IntN(6) {
		account := pick(d, accounts...)
		h.Operations = append(h.Operations, Operation{Number: i, Account: account, Kind: pick(d, kindsOf(account.Provider)...)})
		writes, lookups := d.faults(account.Provider, h.HasLies)
		h.Writes, h.Lookups = append(h.Writes, writes), append(h.Lookups, lookups)
	}
	for range 1 + d.IntN(4) {
		h.Processes = append(h.Processes, d.process())
	}
	h.Steps = d.steps(&h)
	return h
}

func (d draw) chance(n int) bool { return d.IntN(n) == 0 }

func pick[T any](d draw, from ...T) T { return from[d.IntN(len(from))] }

func (d draw) process() Process {
	return Process{
		Latency: pick(d, 0, 0, 20*time.Millisecond, 300*time.Millisecond, 2*time.Second, 12*time.Second),
		How:     d.how(),
	}
}

func (d draw) how() How {
	if d.chance(2) {
		return How{}
	}
	return How{
		Timeout:     pick(d, 30*time.Second, 30*time.Second, time.Second, 5*time.Second, 61*time.Second),
		MaxWait:     pick(d, 30*time.Second, 0, 3*time.Second, 90*time.Second, time.Hour),
		MaxAttempts: pick(d, 5, 5, 1, 2, 3, 8),
		Jitter:      pick(d, 0, 0, 0.5),
	}
}

// longestShort is how long a short history may be, up to its end.
const longestShort = 16 * time.Hour

// steps asks for every record once, in some order, and then goes on at random.
func (d draw) steps(h *History) []Step {
	var steps []Step
	for _, operation := range d.Perm(len(h.Operations)) {
		step := d.call(h, operation)
		step.Kind, step.Insists = StepPerform, false
		steps = append(steps, step)
	}
	for range d.IntN(10) {
		at := d.IntN(len(steps) + 1)
		step := d.crash(h)
		if !d.chance(4) {
			step = d.call(h, d.IntN(len(h.Operations)))
		}
		steps = append(steps[:at], append([]Step{step}, steps[at:]...)...)
	}
	var total time.Duration
	for i := range steps {
		steps[i].After = d.pause(h.isShort())
		if total += steps[i].After; h.isShort() && total > longestShort {
			total -= steps[i].After
			steps[i].After = time.Second
		}
		steps[i].After += time.Duration(d.IntN(1_000_000)) // no two steps at one moment
	}
	return steps
}

func (d draw) pause(isShort bool) time.Duration {
	if !isShort && d.chance(8) {
		return pick(d, 13*time.Hour, 23*time.Hour, 25*time.Hour, 50*time.Hour, 73*time.Hour, 97*time.Hour, 120*time.Hour)
	}
	return pick(d, 0, 0, 0, 40*time.Millisecond, 700*time.Millisecond, 4*time.Second, 20*time.Second, time.Minute, 3*time.Minute,
		20*time.Minute, 2*time.Hour, 4*time.Hour)
}

func (d draw) call(h *History, operation int) Step {
	step := Step{
		Kind: StepPerform, Process: d.IntN(len(h.Processes)), Operation: operation, Clicks: 1, Insists: d.chance(3), How: d.how(),
	}
	if d.chance(3) {
		step.Kind = StepAsk
		step.How.Awaits, step.How.LookupOnly, step.How.ByReference = d.chance(3), d.chance(4), d.chance(3)
	}
	if d.chance(4) {
		step.Clicks = 2 + d.IntN(3)
	}
	if d.chance(4) {
		step.Deadline = pick(d, 5*time.Millisecond, 900*time.Millisecond, 1500*time.Millisecond, 8*time.Second, 31*time.Second, 3*time.Minute)
	}
	if d.chance(8) {
		step.RefusedDials = 1 + d.IntN(6)
	}
	if o := h.Operations[operation]; o.Account.Provider == Facty && o.Kind == Invoice && step.Kind == StepPerform && d.chance(4) {
		step.How.RetriesFailed, step.Insists = true, true
	}
	return step
}

func (d draw) crash(h *History) Step {
	return Step{
		Kind: StepCrash, Process: d.IntN(len(h.Processes)),
		Point: pick(d, CrashNow, CrashNow, CrashBeforeSend, CrashAfterSend, CrashAfterAnswer),
		Down:  pick(d, 0, time.Second, 30*time.Second, 2*time.Minute, time.Hour),
	}
}
