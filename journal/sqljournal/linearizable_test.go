package sqljournal_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/journal/journaltest"
)

// modelRecord is a record of the sequential model. No lease ends within the test.
type modelRecord struct {
	exists bool
	state  unavez.State
	bytes  byte
	owner  string
	result modelResult
}

type modelResult struct {
	state  unavez.State
	effect unavez.Effect
	next   unavez.Next
	reason unavez.Reason
}

// modelState is one business record: at two providers.
type modelState [2]modelRecord

type modelInput struct {
	kind     string
	identity int
	provider int
	bytes    byte
	owner    string
	result   modelResult
}

type modelOutput struct {
	admission unavez.Admission
	err       error
}

// model is the journal as one would write it for one caller at a time. It asks the core's Admit, as the interface demands.
func model() porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			parts := map[int][]porcupine.Operation{}
			for _, operation := range history {
				input, _ := operation.Input.(modelInput)
				identity := input.identity
				parts[identity] = append(parts[identity], operation)
			}
			var all [][]porcupine.Operation
			for _, part := range parts {
				all = append(all, part)
			}
			return all
		},
		Init: func() any { return modelState{} },
		Step: func(state, input, output any) (bool, any) {
			before, _ := state.(modelState)
			in, _ := input.(modelInput)
			got, _ := output.(modelOutput)
			want, next := step(before, in)
			return got.admission == want.admission && errors.Is(got.err, want.err), next
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %+v", input, output) },
	}
}

func step(state modelState, in modelInput) (modelOutput, modelState) {
	own := &state[in.provider]
	if in.kind == "finish" {
		switch {
		case !own.exists:
			return modelOutput{err: unavez.ErrNoRecord}, state
		case own.owner != in.owner && (in.result.state != unavez.StateDone || in.bytes != own.bytes):
			return modelOutput{err: unavez.ErrClaimLost}, state
		case own.owner != in.owner && own.state == unavez.StateDone:
			return modelOutput{}, state
		}
		own.state, own.result, own.owner = in.result.state, in.result, ""
		return modelOutput{}, state
	}
	other := state[1-in.provider]
	isElsewhere := other.exists && other.state != unavez.StateDone && other.state != unavez.StateRefused
	admission := unavez.AdmitSend
	if own.exists {
		record := unavez.Record{State: own.state, Fingerprint: [32]byte{own.bytes}, Result: unavez.Result{
			Effect: own.result.effect, Next: own.result.next, Reason: own.result.reason,
		}}
		if own.owner != "" {
			record.HeldFor = time.Hour
		}
		admission = unavez.Admit(&record, &unavez.Intent{Fingerprint: [32]byte{in.bytes}})
	}
	if admission == unavez.AdmitSend && isElsewhere {
		admission = unavez.AdmitElsewhere
	}
	switch admission {
	case unavez.AdmitSend:
		*own = modelRecord{exists: true, state: unavez.StateOpen, bytes: in.bytes, owner: in.owner}
	case unavez.AdmitResume:
		own.state, own.owner = unavez.StateOpen, in.owner
	case unavez.AdmitAnswer, unavez.AdmitHeld, unavez.AdmitReused, unavez.AdmitElsewhere, unavez.AdmitNothing:
	}
	return modelOutput{admission: admission}, state
}

func modelResults() []modelResult {
	return []modelResult{
		{state: unavez.StateDone, effect: unavez.Executed},
		{state: unavez.StateRefused, effect: unavez.NotExecuted, next: unavez.NextFixSameKey},
		{state: unavez.StateRefused, effect: unavez.NotExecuted, next: unavez.NextFixNewKey},
		{state: unavez.StateOpen, effect: unavez.Unknown, next: unavez.NextReconcile},
		{state: unavez.StateOpen, effect: unavez.NotSent, next: unavez.NextResend},
		{state: unavez.StateReview, effect: unavez.Unknown, next: unavez.NextReview, reason: unavez.ReasonConflict},
	}
}

// TestLinearizable records what many callers did at once, and asks porcupine for an order in which one caller could have.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	places(t, func(t *testing.T, p place) {
		t.Helper()
		const callers, each, identities = 8, 60, 5
		var (
			wait    sync.WaitGroup
			mu      sync.Mutex
			history []porcupine.Operation
			start   = time.Now()
		)
		for caller := range callers {
			journal, _ := p.open(t) // as if each were a process
			wait.Go(func() {
				random := rand.New(rand.NewPCG(4471, uint64(caller)))
				for n := range each {
					in := modelInput{
						kind: "begin", identity: random.IntN(identities), provider: random.IntN(2), bytes: byte(random.IntN(3) / 2),
						owner: fmt.Sprintf("%d-%d", caller, n),
					}
					out := observe(&mu, &history, caller, start, in, func() modelOutput { return performModel(t.Context(), journal, in) })
					if !out.admission.Claims() {
						continue
					}
					in.kind, in.result = "finish", modelResults()[random.IntN(6)]
					observe(&mu, &history, caller, start, in, func() modelOutput { return performModel(t.Context(), journal, in) })
					if random.IntN(4) == 0 { // late, after the claim was given back
						in.result = modelResults()[random.IntN(6)]
						observe(&mu, &history, caller, start, in, func() modelOutput { return performModel(t.Context(), journal, in) })
					}
				}
			})
		}
		wait.Wait()
		for _, operation := range history {
			out, _ := operation.Output.(modelOutput)
			if out.err != nil {
				require.ErrorIs(t, out.err, unavez.ErrClaimLost, "the only error there can be")
			}
		}
		result, _ := porcupine.CheckOperationsVerbose(model(), history, time.Minute)
		require.Equal(t, porcupine.Ok, result)
		require.Greater(t, len(history), callers*each)
	})
}

func observe(
	mu *sync.Mutex, history *[]porcupine.Operation, caller int, start time.Time, in modelInput, perform func() modelOutput,
) modelOutput {
	call := time.Since(start).Nanoseconds()
	out := perform()
	end := time.Since(start).Nanoseconds()
	mu.Lock()
	defer mu.Unlock()
	*history = append(*history, porcupine.Operation{ClientId: caller, Input: in, Call: call, Output: out, Return: end})
	return out
}

func performModel(ctx context.Context, journal unavez.Journal, in modelInput) modelOutput {
	intent := journaltest.Intent(fmt.Sprint("k", in.identity))
	intent.Provider, intent.Owner, intent.Lease, intent.Fingerprint = fmt.Sprint("p", in.provider), in.owner, time.Hour, [32]byte{in.bytes}
	if in.kind == "begin" {
		record, err := journal.Begin(ctx, intent)
		return modelOutput{admission: record.Admission, err: err}
	}
	return modelOutput{err: journal.Finish(ctx, unavez.Claim{
		RecordID: intent.RecordID, Owner: in.owner, Fingerprint: intent.Fingerprint,
	}, unavez.Result{
		State: in.result.state, Effect: in.result.effect, Next: in.result.next, Reason: in.result.reason,
	})}
}

// TestModelIsStrict plants what must never happen, to see that the checker sees it.
func TestModelIsStrict(t *testing.T) {
	t.Parallel()
	twoAdmitted := []porcupine.Operation{
		{ClientId: 0, Input: modelInput{kind: "begin", owner: "a"}, Call: 0, Output: modelOutput{admission: unavez.AdmitSend}, Return: 10},
		{ClientId: 1, Input: modelInput{kind: "begin", owner: "b", provider: 1}, Call: 5, Output: modelOutput{admission: unavez.AdmitSend}, Return: 15},
	}
	require.False(t, porcupine.CheckOperations(model(), twoAdmitted))
}
