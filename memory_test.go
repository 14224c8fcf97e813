package unavez_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

// memoryBundle is a journal and the records that a test puts into it.
type memoryBundle struct {
	t       *testing.T
	journal *unavez.MemoryJournal
}

func setupMemory(t *testing.T, limit int) *memoryBundle {
	t.Helper()
	return &memoryBundle{t: t, journal: unavez.NewMemoryJournal(limit)}
}

func memoryIntent(provider, key, owner string) unavez.Intent {
	intent := unavez.Intent{
		RecordID: unavez.RecordID{Provider: provider, Account: "acme", Key: key}, Environment: unavez.Test, Identity: key,
		Operation: unavez.InvoiceCreate, Method: "POST", Path: "/invoices", Body: []byte(`{"a":1}`), Owner: owner, Lease: time.Minute,
	}
	intent.Fingerprint = unavez.Fingerprint(intent.Operation, intent.Method, intent.Path, intent.Body)
	return intent
}

func (b *memoryBundle) begin(intent unavez.Intent) unavez.Record {
	b.t.Helper()
	record, err := b.journal.Begin(b.t.Context(), intent)
	require.NoError(b.t, err)
	return record
}

func (b *memoryBundle) finish(record *unavez.Record, state unavez.State, effect unavez.Effect) {
	b.t.Helper()
	result := unavez.Result{State: state, Effect: effect, Writes: 1}
	if state == unavez.StateDone {
		result.Document = []byte(`{"id":"inv_1"}`)
	}
	require.NoError(b.t, b.journal.Finish(b.t.Context(), record.Claim, result))
}

// put leaves a record in a state.
func (b *memoryBundle) put(key string, state unavez.State, effect unavez.Effect) {
	b.t.Helper()
	record := b.begin(memoryIntent("facty", key, "owner"))
	b.finish(&record, state, effect)
}

func (b *memoryBundle) has(key string) bool {
	b.t.Helper()
	_, err := b.journal.Load(b.t.Context(), unavez.RecordID{Provider: "facty", Account: "acme", Key: key})
	if err != nil {
		require.ErrorIs(b.t, err, unavez.ErrNoRecord)
	}
	return err == nil
}

func TestMemoryJournalForgetsWhatWasResolvedLongestAgo(t *testing.T) {
	t.Parallel()
	b := setupMemory(t, 3)
	b.put("one", unavez.StateRefused, unavez.NotExecuted)
	b.put("two", unavez.StateDone, unavez.Executed)
	b.put("open", unavez.StateOpen, unavez.Unknown)
	b.put("three", unavez.StateDone, unavez.Executed)
	require.False(t, b.has("one"), "the first that was resolved goes")
	require.True(t, b.has("two") && b.has("open") && b.has("three"))

	b.put("four", unavez.StateDone, unavez.Executed)
	require.False(t, b.has("two"))
	require.True(t, b.has("open") && b.has("three") && b.has("four"))
}

func TestMemoryJournalCountsFromTheTimeOfTheResolution(t *testing.T) {
	t.Parallel()
	b := setupMemory(t, 2)
	late := b.begin(memoryIntent("facty", "late", "owner"))
	b.put("early", unavez.StateDone, unavez.Executed)
	b.finish(&late, unavez.StateDone, unavez.Executed)
	b.put("new", unavez.StateDone, unavez.Executed)
	require.False(t, b.has("early"), "resolved first, though begun second")
	require.True(t, b.has("late"))
}

func TestMemoryJournalNeverForgetsWhatIsUnresolved(t *testing.T) {
	t.Parallel()
	b := setupMemory(t, 3)
	b.put("open", unavez.StateOpen, unavez.Unknown)
	b.put("review", unavez.StateReview, unavez.Unknown)
	b.begin(memoryIntent("facty", "claimed", "owner"))
	_, err := b.journal.Begin(t.Context(), memoryIntent("facty", "more", "owner"))
	require.ErrorIs(t, err, unavez.ErrJournalFull)
	require.False(t, b.has("more"))
	require.True(t, b.has("open") && b.has("review") && b.has("claimed"))

	again := b.begin(memoryIntent("facty", "open", "owner"))
	require.Equal(t, unavez.AdmitResume, again.Admission, "a full journal still answers for the keys that it has")
	b.finish(&again, unavez.StateDone, unavez.Executed)
	require.Equal(t, unavez.AdmitSend, b.begin(memoryIntent("facty", "more", "owner")).Admission)
	require.False(t, b.has("open"))
}

func TestMemoryJournalReclaimedRecordIsNotForgotten(t *testing.T) {
	t.Parallel()
	b := setupMemory(t, 2)
	b.put("refused", unavez.StateRefused, unavez.NotExecuted)
	again := b.begin(memoryIntent("facty", "refused", "owner"))
	require.Equal(t, unavez.AdmitSend, again.Admission)
	b.put("other", unavez.StateDone, unavez.Executed)
	b.put("third", unavez.StateDone, unavez.Executed)
	require.True(t, b.has("refused"), "it is at work again")
	require.False(t, b.has("other"))
}

func TestMemoryJournalIsBoundedByItsDefault(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{0, -1} {
		b := setupMemory(t, limit)
		for i := range unavez.DefaultMemoryRecords + 5 {
			b.put(fmt.Sprintf("key-%d", i), unavez.StateDone, unavez.Executed)
		}
		require.False(t, b.has("key-4"))
		require.True(t, b.has("key-5"))
	}
}

func TestMemoryJournalDropsTheBodyOfWhatIsResolved(t *testing.T) {
	t.Parallel()
	b := setupMemory(t, 0)
	for state, effect := range map[unavez.State]unavez.Effect{
		unavez.StateDone: unavez.Executed, unavez.StateRefused: unavez.NotExecuted, unavez.StateOpen: unavez.Unknown, unavez.StateReview: unavez.Unknown,
	} {
		b.put(string(state), state, effect)
		record, err := b.journal.Load(t.Context(), unavez.RecordID{Provider: "facty", Account: "acme", Key: string(state)})
		require.NoError(t, err)
		require.Equal(t, record.Resolved(), record.Body == nil, state)
		require.Equal(t, memoryIntent("facty", string(state), "").Fingerprint, record.Fingerprint, "the fingerprint stays")
	}
}

func TestMemoryJournalBeginIsWonOnce(t *testing.T) {
	t.Parallel()
	b := setupMemory(t, 0)
	var won, held atomic.Int32
	var callers sync.WaitGroup
	for i := range 64 {
		callers.Go(func() {
			record, err := b.journal.Begin(t.Context(), memoryIntent("facty", "key", fmt.Sprintf("owner-%d", i)))
			switch {
			case err != nil:
				t.Error(err)
			case record.Admission == unavez.AdmitSend:
				won.Add(1)
			case record.Admission == unavez.AdmitHeld:
				held.Add(1)
			}
		})
	}
	callers.Wait()
	require.Equal(t, int32(1), won.Load())
	require.Equal(t, int32(63), held.Load())
}

func TestMemoryJournalHoldsARecordUntilTheLeaseEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setupMemory(t, 0)
		first := b.begin(memoryIntent("facty", "key", "first"))
		time.Sleep(time.Minute - time.Second)
		record := b.begin(memoryIntent("facty", "key", "second"))
		require.Equal(t, unavez.AdmitHeld, record.Admission)
		require.Equal(t, time.Second, record.HeldFor)

		require.NoError(t, b.journal.Extend(t.Context(), first.Claim, 1, time.Minute))
		time.Sleep(time.Minute - 1)
		require.Equal(t, unavez.AdmitHeld, b.begin(memoryIntent("facty", "key", "second")).Admission)
		time.Sleep(time.Nanosecond)
		record = b.begin(memoryIntent("facty", "key", "second"))
		require.Equal(t, unavez.AdmitResume, record.Admission, "nobody knows what the first one did")
		require.Equal(t, 1, record.Writes)

		require.ErrorIs(t, b.journal.Extend(t.Context(), first.Claim, 2, time.Minute), unavez.ErrClaimLost)
		lost := unavez.Result{State: unavez.StateRefused, Effect: unavez.NotExecuted}
		require.ErrorIs(t, b.journal.Finish(t.Context(), first.Claim, lost), unavez.ErrClaimLost)
		b.finish(&first, unavez.StateDone, unavez.Executed) // a document is a fact whoever saw it
		require.Equal(t, unavez.AdmitAnswer, b.begin(memoryIntent("facty", "key", "third")).Admission)
	})
}

func TestMemoryJournalMeasuresTheAgeOfTheFirstSend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setupMemory(t, 0)
		b.put("key", unavez.StateOpen, unavez.Unknown)
		time.Sleep(25 * time.Hour)
		record := b.begin(memoryIntent("facty", "key", "owner"))
		require.Equal(t, 25*time.Hour, record.Age)
		b.finish(&record, unavez.StateOpen, unavez.Unknown)
		time.Sleep(time.Hour)
		require.Equal(t, 26*time.Hour, b.begin(memoryIntent("facty", "key", "owner")).Age, "resuming does not make it younger")
	})
}

// What never arrived may have been on its way when the provider was asked, so the window does not start anew.
func TestMemoryJournalKeepsTheAgeWhileTheOutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setupMemory(t, 0)
		record := b.begin(memoryIntent("facty", "key", "owner"))
		result := unavez.Result{State: unavez.StateReview, Effect: unavez.Unknown, Reason: unavez.ReasonNeverArrived, Next: unavez.NextResend}
		require.NoError(t, b.journal.Finish(t.Context(), record.Claim, result))
		time.Sleep(20 * time.Hour)
		record = b.begin(memoryIntent("facty", "key", "owner"))
		require.Equal(t, unavez.AdmitSend, record.Admission)
		b.finish(&record, unavez.StateOpen, unavez.Unknown)
		require.Equal(t, 20*time.Hour, b.begin(memoryIntent("facty", "key", "owner")).Age)
	})
}

func TestMemoryJournalHasNoAgeForWhatWasNeverSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setupMemory(t, 0)
		b.put("key", unavez.StateOpen, unavez.NotSent)
		time.Sleep(30 * time.Hour)
		record := b.begin(memoryIntent("facty", "key", "owner"))
		require.Equal(t, unavez.AdmitSend, record.Admission)
		require.Zero(t, record.Age)
	})
}

func TestMemoryJournalRefusesWhatIsUnresolvedAtAnotherProvider(t *testing.T) {
	t.Parallel()
	for state, want := range map[unavez.State]unavez.Admission{
		unavez.StateOpen: unavez.AdmitElsewhere, unavez.StateReview: unavez.AdmitElsewhere, unavez.StateDone: unavez.AdmitSend, unavez.StateRefused: unavez.AdmitSend,
	} {
		b := setupMemory(t, 0)
		b.put("key", state, unavez.Unknown)
		require.Equal(t, want, b.begin(memoryIntent("fiscalisto", "key", "owner")).Admission, state)
		require.Equal(t, unavez.AdmitSend, b.begin(memoryIntent("fiscalisto", "other", "owner")).Admission)
		other := memoryIntent("payouts", "key", "owner")
		other.Environment = unavez.Production
		require.Equal(t, unavez.AdmitSend, b.begin(other).Admission, "another environment is another record")
	}
}

func TestMemoryJournalKnowsARecordByItsIdentityWhateverTheKey(t *testing.T) {
	t.Parallel()
	b := setupMemory(t, 0)
	short := memoryIntent("ipsofactura", "short~hash", "owner")
	short.Identity = "the key at full length"
	record := b.begin(short)
	b.finish(&record, unavez.StateOpen, unavez.Unknown)
	full := memoryIntent("payouts", "the key at full length", "owner")
	require.Equal(t, unavez.AdmitElsewhere, b.begin(full).Admission)
}

func TestMemoryJournalAccountsOfOneProviderAreApart(t *testing.T) {
	t.Parallel()
	b := setupMemory(t, 0)
	b.put("key", unavez.StateOpen, unavez.Unknown)
	other := memoryIntent("facty", "key", "owner")
	other.Account = "globex"
	require.Equal(t, unavez.AdmitSend, b.begin(other).Admission)
}

func TestMemoryJournalAskingCreatesNothing(t *testing.T) {
	t.Parallel()
	b := setupMemory(t, 0)
	question := unavez.Intent{RecordID: unavez.RecordID{Provider: "facty", Account: "acme", Key: "key"}, Reconciling: true, Owner: "owner"}
	require.Equal(t, unavez.AdmitNothing, b.begin(question).Admission)
	require.False(t, b.has("key"))
}

func TestMemoryJournalResolveEndsAReviewAndNothingElse(t *testing.T) {
	t.Parallel()
	resolution := unavez.Resolution{Decision: unavez.DecideResend, By: "ana", Why: "support says it never came"}
	id := unavez.RecordID{Provider: "facty", Account: "acme", Key: "key"}
	b := setupMemory(t, 0)
	require.ErrorIs(t, b.journal.Resolve(t.Context(), id, resolution), unavez.ErrNoRecord)
	for _, state := range []unavez.State{unavez.StateOpen, unavez.StateDone, unavez.StateRefused} {
		b := setupMemory(t, 0)
		b.put("key", state, unavez.Unknown)
		require.ErrorIs(t, b.journal.Resolve(t.Context(), id, resolution), unavez.ErrNotInReview, state)
	}

	b.put("key", unavez.StateReview, unavez.Unknown)
	require.Error(t, b.journal.Resolve(t.Context(), id, unavez.Resolution{Decision: unavez.DecideResend}), "nobody and no grounds")
	require.NoError(t, b.journal.Resolve(t.Context(), id, resolution))
	require.ErrorIs(t, b.journal.Resolve(t.Context(), id, resolution), unavez.ErrNotInReview, "it is decided once")

	record, err := b.journal.Load(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, unavez.StateOpen, record.State)
	require.Equal(t, []byte(`{"a":1}`), record.Body, "the bytes are still there to be sent")
	last := record.History[len(record.History)-1]
	require.Equal(t, "ana", last.By)
	require.Equal(t, "support says it never came", last.Why)
	require.Equal(t, unavez.AdmitSend, b.begin(memoryIntent("facty", "key", "owner")).Admission)
}

func TestMemoryJournalResolveWaitsForWhoIsAtWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setupMemory(t, 0)
		b.put("key", unavez.StateReview, unavez.Unknown)
		question := memoryIntent("facty", "key", "somebody")
		question.Reconciling = true
		require.Equal(t, unavez.AdmitResume, b.begin(question).Admission)
		resolution := unavez.Resolution{Decision: unavez.DecideNothingHappened, By: "ana", Why: "looked"}
		require.ErrorIs(t, b.journal.Resolve(t.Context(), question.RecordID, resolution), unavez.ErrNotInReview)
		time.Sleep(time.Minute)
		require.NoError(t, b.journal.Resolve(t.Context(), question.RecordID, resolution), "a claim that ran out stops nobody")
	})
}

func TestMemoryJournalRespectsAnEndedContext(t *testing.T) {
	t.Parallel()
	b := setupMemory(t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	intent := memoryIntent("facty", "key", "owner")
	_, err := b.journal.Begin(ctx, intent)
	require.ErrorIs(t, err, context.Canceled)
	_, err = b.journal.Load(ctx, intent.RecordID)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, b.journal.Resolve(ctx, intent.RecordID, unavez.Resolution{}), context.Canceled)
	require.False(t, b.has("key"), "nothing was recorded")
}

func TestMemoryJournalUnknownClaimsAreRefused(t *testing.T) {
	t.Parallel()
	b := setupMemory(t, 0)
	claim := unavez.Claim{RecordID: unavez.RecordID{Provider: "facty", Account: "acme", Key: "key"}, Owner: "owner"}
	require.ErrorIs(t, b.journal.Extend(t.Context(), claim, 1, time.Minute), unavez.ErrNoRecord)
	require.ErrorIs(t, b.journal.Finish(t.Context(), claim, unavez.Result{State: unavez.StateDone}), unavez.ErrNoRecord)
}
