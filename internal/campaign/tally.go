package campaign

import (
	"slices"
	"time"
)

// Tally counts what came of histories, in terms that mean the same for every client.
type Tally struct {
	Histories, Operations, Requests int
	// Double is how many records have more than one effect.
	Double int
	// DeniedByAnswer and DeniedWithout are how many records were done while the program was told an error that does not say that the
	// outcome is open: because of an answer of 300 to 499, and for any other cause, such as a timeout or a 5xx.
	DeniedByAnswer, DeniedWithout int
	// Forgotten is how many records the provider has in the end while the program holds them for failed.
	Forgotten int
	// Wrong is how many records were answered with a document that is not theirs.
	Wrong int
	// Done, Refused, Review and Open are how the program's rows end.
	Done, Refused, Review, Open int
	// Times is how long each record took from the first call to the final answer.
	Times []time.Duration
}

func (r *run) tally() Tally {
	t := Tally{Histories: 1, Requests: r.network.requests}
	for number := range r.rows {
		if row := &r.rows[number]; !row.asked.IsZero() {
			t.count(row, r.network.effects(number))
		}
	}
	return t
}

func (t *Tally) count(row *row, effects []entry) {
	t.Operations++
	t.Double += one(len(effects) > 1)
	t.DeniedByAnswer += one(row.deniedByAnswer)
	t.DeniedWithout += one(row.deniedWithout && !row.deniedByAnswer)
	t.Wrong += one(row.isWrong)
	verdict := row.answer.Verdict
	t.Forgotten += one(len(effects) > 0 && (verdict == Failed || verdict == Refused))
	switch {
	case verdict == Done:
		t.Done++
	case verdict == Review && row.answer.isFinal():
		t.Review++
	case verdict == Refused || verdict == Failed:
		t.Refused++
	default:
		t.Open++
	}
	if !row.final.IsZero() {
		t.Times = append(t.Times, row.final.Sub(row.asked))
	}
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// Add adds the tally of further histories.
func (t *Tally) Add(other Tally) {
	t.Histories += other.Histories
	t.Operations += other.Operations
	t.Requests += other.Requests
	t.Double += other.Double
	t.DeniedByAnswer += other.DeniedByAnswer
	t.DeniedWithout += other.DeniedWithout
	t.Forgotten += other.Forgotten
	t.Wrong += other.Wrong
	t.Done += other.Done
	t.Refused += other.Refused
	t.Review += other.Review
	t.Open += other.Open
	t.Times = append(t.Times, other.Times...)
}

// Percentile returns the time within which so many of a hundred records had their final answer, of those that got one.
func (t *Tally) Percentile(percent int) time.Duration {
	if len(t.Times) == 0 {
		return 0
	}
	slices.Sort(t.Times)
	return t.Times[min(len(t.Times)*percent/100, len(t.Times)-1)]
}
