package campaign

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/unavez/unavez/sandbox"
)

// History is everything that is random about one run.
type History struct {
	Seed uint64
	// IsDurable: all processes share one journal, which survives them. Otherwise each has one in memory that dies with it, and
	// the history is shorter than any provider's memory: who forgets the first send cannot know that the provider has forgotten it too.
	IsDurable bool
	// HasLies: the provider also answers against its own page. Then only what was done is checked, and not what was told; and the history is
	// short, since a lie about the first send makes what comes after the provider has forgotten it a second one.
	HasLies    bool
	Operations []Operation
	Processes  []Process
	// Writes and Lookups are the faults of each operation, one for each request that arrives.
	Writes, Lookups [][]Fault
	Steps           []Step
}

// isShort reports that the history ends before any provider forgets a key.
func (h History) isShort() bool { return !h.IsDurable || h.HasLies }

// Process is one replica of the program.
type Process struct {
	// Latency is what its network adds to every request, and to every answer.
	Latency time.Duration
	How     How
}

// StepKind is what happens in a step.
type StepKind string

// The kinds of steps.
const (
	// StepPerform is a user, a job or a restarted program that wants the record done.
	StepPerform StepKind = "perform"
	// StepAsk wants to know what became of the record.
	StepAsk StepKind = "ask"
	// StepCrash kills a process at a moment or at a point of its next request, and starts it again after Down.
	StepCrash StepKind = "crash"
)

// CrashPoint is where a process dies.
type CrashPoint string

// The points.
const (
	CrashNow         CrashPoint = "now"
	CrashBeforeSend  CrashPoint = "before its next write"
	CrashAfterSend   CrashPoint = "while its next write is on the way"
	CrashAfterAnswer CrashPoint = "with the answer to its next request in hand"
)

// Step is one thing that happens to the program. Steps do not wait for each other: what they start may overlap.
type Step struct {
	// After is the pause since the step before.
	After   time.Duration
	Kind    StepKind
	Process int
	// Operation, Clicks and Deadline are those of a call: Clicks callers at almost the same moment. Insists repeats even a
	// record that the program knows to be final.
	Operation, Clicks int
	Deadline          time.Duration
	Insists           bool
	How               How
	// RefusedDials is how many of the next connections are refused.
	RefusedDials int
	Point        CrashPoint
	Down         time.Duration
}

// Fault is a fault of the sandbox with what the campaign has to know of it.
type Fault struct {
	sandbox.Fault
	// IsVerdict: a judgment on the payload. The provider gives it to the first request of an operation or not at all, since two
	// verdicts on one payload would contradict each other.
	IsVerdict bool
	// Settles is how long the outcome stays open; Forever if it never is known.
	Settles time.Duration
	// Is names what an answer with this fault may truly be called by a client.
	Is evidence
}

// evidence is what a fault gives a client reason to say.
type evidence string

const (
	isNothing    evidence = ""
	isForeignRow evidence = "a row of another key"
	isOddWord    evidence = "a status word without a rule"
	isConflict   evidence = "a conflict"
	isLag        evidence = "a list that lags"
	isOpen       evidence = "an outcome that stays open"
)

// String prints the history as a script.
func (h History) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, durable journal: %t, lies: %t\n", h.Seed, h.IsDurable, h.HasLies)
	for i, operation := range h.Operations {
		if !h.uses(i) {
			continue
		}
		fmt.Fprintf(&b, "operation %d: %s\n", i, operation)
		if len(h.Writes[i]) > 0 {
			fmt.Fprintf(&b, "    writes:  %s\n", names(h.Writes[i]))
		}
		if len(h.Lookups[i]) > 0 {
			fmt.Fprintf(&b, "    lookups: %s\n", names(h.Lookups[i]))
		}
	}
	for i, process := range h.Processes {
		fmt.Fprintf(&b, "process %d: latency %s\n", i, process.Latency)
	}
	for _, step := range h.Steps {
		fmt.Fprintf(&b, "after %s: %s\n", step.After, step)
	}
	return b.String()
}

func (h History) uses(operation int) bool {
	return slices.ContainsFunc(h.Steps, func(s Step) bool { return s.Kind != StepCrash && s.Operation == operation })
}

func names(faults []Fault) string {
	texts := make([]string, 0, len(faults))
	for _, fault := range faults {
		texts = append(texts, fault.String())
	}
	return strings.Join(texts, ", ")
}

// String prints a step without its pause.
func (s Step) String() string {
	if s.Kind == StepCrash {
		return fmt.Sprintf("process %d crashes %s and is down for %s", s.Process, s.Point, s.Down)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "process %d: %s operation %d", s.Process, s.Kind, s.Operation)
	if s.Clicks > 1 {
		fmt.Fprintf(&b, ", %d clicks", s.Clicks)
	}
	if s.Deadline > 0 {
		fmt.Fprintf(&b, ", deadline %s", s.Deadline)
	}
	if s.Insists {
		b.WriteString(", whatever is known")
	}
	if s.How.RetriesFailed {
		b.WriteString(", again if it failed")
	}
	if s.RefusedDials > 0 {
		fmt.Fprintf(&b, ", %d dials refused", s.RefusedDials)
	}
	if s.How == (How{}) {
		return b.String()
	}
	fmt.Fprintf(&b, " (timeout %s, attempts %d, max wait %s, jitter %g", s.How.Timeout, s.How.MaxAttempts, s.How.MaxWait, s.How.Jitter)
	if s.Kind == StepAsk {
		fmt.Fprintf(&b, ", awaits %t, lookup only %t, by reference %t", s.How.Awaits, s.How.LookupOnly, s.How.ByReference)
	}
	b.WriteString(")")
	return b.String()
}
