package sqljournal_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/journal/journaltest"
)

func TestEnqueue(t *testing.T) {
	t.Parallel()
	ctx := t.Context()

	t.Run("commits with the sale", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			journal, db := p.open(t)
			_, err := db.ExecContext(ctx, "CREATE TABLE sales (folio TEXT)")
			require.NoError(t, err)
			tx, err := db.BeginTx(ctx, nil)
			require.NoError(t, err)
			_, err = tx.ExecContext(ctx, "INSERT INTO sales VALUES ('4471')")
			require.NoError(t, err)
			require.NoError(t, journal.Enqueue(ctx, tx, journaltest.Intent("k")))
			require.NoError(t, tx.Commit())

			record, err := journal.Load(ctx, journaltest.Intent("k").RecordID)
			require.NoError(t, err)
			require.Equal(t, unavez.StateQueued, record.State)
			require.Equal(t, journaltest.Intent("k").Body, record.Body)
			require.True(t, record.FirstSent.IsZero())
		})
	})

	t.Run("is undone with the sale", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			journal, db := p.open(t)
			tx, err := db.BeginTx(ctx, nil)
			require.NoError(t, err)
			require.NoError(t, journal.Enqueue(ctx, tx, journaltest.Intent("k")))
			require.NoError(t, tx.Rollback())

			_, err = journal.Load(ctx, journaltest.Intent("k").RecordID)
			require.ErrorIs(t, err, unavez.ErrNoRecord)
		})
	})

	t.Run("twice is once", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			journal, db := p.open(t)
			require.NoError(t, enqueue(ctx, journal, db, journaltest.Intent("k")))
			require.NoError(t, enqueue(ctx, journal, db, journaltest.Intent("k")))
		})
	})

	t.Run("leaves what is done", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			journal, db := p.open(t)
			finishWith(t, journal, journaltest.Intent("k"), unavez.Result{State: unavez.StateDone, Effect: unavez.Executed, Document: []byte(`{"uuid":"u"}`)})
			require.NoError(t, enqueue(ctx, journal, db, journaltest.Intent("k")))
			requireState(t, journal, unavez.StateDone)
		})
	})

	t.Run("puts what was refused back in line", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			journal, db := p.open(t)
			finishWith(t, journal, journaltest.Intent("k"), unavez.Result{State: unavez.StateRefused, Effect: unavez.NotExecuted, Code: "NO_FUNDS"})
			require.NoError(t, enqueue(ctx, journal, db, journaltest.Intent("k")))
			requireState(t, journal, unavez.StateQueued)
		})
	})

	t.Run("brings back what never arrived, within its window", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			b := newPass(t, p, 1)
			intent := b.intents[0]
			intent.Owner, intent.Lease = "one", time.Minute
			finishWith(t, b.journal, intent, unavez.Result{
				State: unavez.StateReview, Effect: unavez.Unknown, Reason: unavez.ReasonNeverArrived, Next: unavez.NextResend,
			})
			pass(t, b.db, time.Hour)
			done, errs := collect(t, b.journal.Drain(t.Context(), b.client))
			require.Zero(t, done+len(errs), "nobody asked for it")
			require.NoError(t, enqueue(t.Context(), b.journal, b.db, intent))
			record, err := b.journal.Load(t.Context(), intent.RecordID)
			require.NoError(t, err)
			require.GreaterOrEqual(t, record.Age, time.Hour)
			done, errs = collect(t, b.journal.Drain(t.Context(), b.client))
			require.Empty(t, errs)
			require.Equal(t, 1, done)
		})
	})

	t.Run("refuses other bytes under the key", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			journal, db := p.open(t)
			require.NoError(t, enqueue(ctx, journal, db, journaltest.Intent("k")))
			err := enqueue(ctx, journal, db, withBody(journaltest.Intent("k"), `{"total":1}`))
			require.ErrorIs(t, err, unavez.ErrKeyReused)
			require.ErrorIs(t, err, unavez.ErrNeedsManualReview)
		})
	})

	t.Run("takes corrected bytes where the key allows it", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			journal, db := p.open(t)
			finishWith(t, journal, journaltest.Intent("k"), unavez.Result{
				State: unavez.StateRefused, Writes: 1, Effect: unavez.NotExecuted, Next: unavez.NextFixSameKey,
			})
			corrected := withBody(journaltest.Intent("k"), `{"total":1}`)
			require.NoError(t, enqueue(ctx, journal, db, corrected))
			record, err := journal.Load(ctx, corrected.RecordID)
			require.NoError(t, err)
			require.Equal(t, corrected.Body, record.Body)
			require.Len(t, record.History, 1)
		})
	})

	t.Run("refuses what is unresolved at another provider", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			journal, db := p.open(t)
			require.NoError(t, enqueue(ctx, journal, db, journaltest.Intent("k")))
			elsewhere := journaltest.Intent("k")
			elsewhere.Provider = "payouts"
			err := enqueue(ctx, journal, db, elsewhere)
			var e *unavez.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, unavez.ReasonOtherProvider, e.Reason)
		})
	})

	t.Run("refuses bytes that were changed", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			journal, db := p.open(t)
			intent := journaltest.Intent("k")
			intent.Body = []byte(`{"total":9}`)
			require.ErrorContains(t, enqueue(ctx, journal, db, intent), "not those that were prepared")
		})
	})
}

func withBody(intent unavez.Intent, body string) unavez.Intent {
	intent.Body = []byte(body)
	intent.Fingerprint = unavez.Fingerprint(intent.Operation, intent.Method, intent.Path, intent.Body)
	return intent
}

func finishWith(t *testing.T, journal unavez.Journal, intent unavez.Intent, result unavez.Result) {
	t.Helper()
	record, err := journal.Begin(t.Context(), intent)
	require.NoError(t, err)
	require.True(t, record.Admission.Claims(), record.Admission)
	require.NoError(t, journal.Finish(t.Context(), record.Claim, result))
}

func requireState(t *testing.T, journal unavez.Journal, want unavez.State) {
	t.Helper()
	record, err := journal.Load(t.Context(), journaltest.Intent("k").RecordID)
	require.NoError(t, err)
	require.Equal(t, want, record.State)
}
