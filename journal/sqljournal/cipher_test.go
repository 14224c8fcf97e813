package sqljournal_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/journal/journaltest"
	"github.com/unavez/unavez/journal/sqljournal"
)

func TestBodyCipher(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	const secret = "URE180429TM6"
	intent := withBody(journaltest.Intent("k"), `{"rfc":"`+secret+`"}`)
	doneWith := unavez.Result{State: unavez.StateDone, Effect: unavez.Executed, Document: []byte(`{"uuid":"u","rfc":"` + secret + `"}`)}

	t.Run("leaves nothing readable", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			journal, db := p.open(t, sqljournal.WithBodyCipher(newCipher(t, 1)))
			finishWith(t, journal, intent, doneWith)
			var body, document []byte
			require.NoError(t, db.QueryRowContext(ctx, "SELECT body, document FROM unavez_records").Scan(&body, &document))
			require.NotContains(t, string(body), secret)
			require.NotContains(t, string(document), secret)
		})
	})

	t.Run("opens what it sealed", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			journal, _ := p.open(t, sqljournal.WithBodyCipher(newCipher(t, 1)))
			finishWith(t, journal, intent, doneWith)
			record, err := journal.Load(ctx, intent.RecordID)
			require.NoError(t, err)
			require.Equal(t, intent.Body, record.Body)
			require.Equal(t, doneWith.Document, record.Result.Document)
		})
	})

	t.Run("reads what was written without it", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			plain, _ := p.open(t)
			record, err := plain.Begin(ctx, intent)
			require.NoError(t, err)
			sealed, _ := p.open(t, sqljournal.WithBodyCipher(newCipher(t, 1)))
			require.NoError(t, sealed.Finish(ctx, record.Claim, doneWith))
			got, err := sealed.Load(ctx, intent.RecordID)
			require.NoError(t, err)
			require.Equal(t, intent.Body, got.Body)
			require.Equal(t, doneWith.Document, got.Result.Document)
		})
	})

	t.Run("sends nothing that it cannot open", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			sealed, db := p.open(t, sqljournal.WithBodyCipher(newCipher(t, 1)))
			require.NoError(t, enqueue(ctx, sealed, db, intent))
			for _, options := range [][]sqljournal.Option{nil, {sqljournal.WithBodyCipher(newCipher(t, 2))}} {
				other, _ := p.open(t, options...)
				_, err := other.Begin(ctx, intent)
				require.ErrorIs(t, err, sqljournal.ErrSealed)
				require.NotContains(t, err.Error(), secret)
			}
		})
	})

	t.Run("does not open a body that was moved to another record", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			journal, db := p.open(t, sqljournal.WithBodyCipher(newCipher(t, 1)))
			other := journaltest.Intent("other")
			for _, one := range []unavez.Intent{intent, other} {
				_, err := journal.Begin(ctx, one)
				require.NoError(t, err)
			}
			_, err := db.ExecContext(ctx, "UPDATE unavez_records SET body = (SELECT body FROM unavez_records WHERE idempotency_key = 'k')")
			require.NoError(t, err)
			_, err = journal.Load(ctx, other.RecordID)
			require.ErrorIs(t, err, sqljournal.ErrSealed)
		})
	})

	t.Run("must be one", func(t *testing.T) {
		t.Parallel()
		_, err := sqljournal.New(ctx, newSQLite(t).db(t), sqljournal.SQLite, sqljournal.WithBodyCipher(nil))
		require.ErrorContains(t, err, "nil")
	})
}

func TestPruneBodies(t *testing.T) {
	t.Parallel()
	ctx := t.Context()

	t.Run("drops finished bodies of that age, and no other", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			journal, db := p.open(t)
			finishWith(t, journal, journaltest.Intent("old"), unavez.Result{State: unavez.StateDone, Effect: unavez.Executed, Document: []byte(`{"a":1}`)})
			_, err := journal.Begin(ctx, journaltest.Intent("open"))
			require.NoError(t, err)
			finishWith(t, journal, journaltest.Intent("review"), unavez.Result{State: unavez.StateReview, Effect: unavez.Unknown})
			pass(t, db, time.Hour)
			finishWith(t, journal, journaltest.Intent("new"), unavez.Result{State: unavez.StateDone, Effect: unavez.Executed, Document: []byte(`{"a":1}`)})

			pruned, err := journal.PruneBodies(ctx, time.Minute)
			require.NoError(t, err)
			require.EqualValues(t, 1, pruned)
			for key, want := range map[string]bool{"old": false, "open": true, "review": true, "new": true} {
				record, err := journal.Load(ctx, journaltest.Intent(key).RecordID)
				require.NoError(t, err)
				require.Equal(t, want, record.Body != nil, key)
			}
		})
	})

	t.Run("keeps the answer and the fingerprint", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			journal, _ := p.open(t)
			finishWith(t, journal, journaltest.Intent("k"), unavez.Result{State: unavez.StateDone, Effect: unavez.Executed, Document: []byte(`{"a":1}`)})
			_, err := journal.PruneBodies(ctx, 0)
			require.NoError(t, err)
			again := journaltest.Intent("k")
			record, err := journal.Begin(ctx, again)
			require.NoError(t, err)
			require.Equal(t, unavez.AdmitAnswer, record.Admission)
			require.JSONEq(t, `{"a":1}`, string(record.Result.Document))
			record, err = journal.Begin(ctx, withBody(again, `{"total":9}`))
			require.NoError(t, err)
			require.Equal(t, unavez.AdmitReused, record.Admission)
		})
	})

	t.Run("drops the bodies that were replaced", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			journal, db := p.open(t)
			refused := unavez.Result{State: unavez.StateRefused, Writes: 1, Effect: unavez.NotExecuted, Next: unavez.NextFixSameKey}
			finishWith(t, journal, journaltest.Intent("k"), refused)
			finishWith(t, journal, withBody(journaltest.Intent("k"), `{"total":9}`), refused)
			var kept int
			count := "SELECT count(*) FROM unavez_history WHERE body IS NOT NULL"
			require.NoError(t, db.QueryRowContext(ctx, count).Scan(&kept))
			require.Equal(t, 1, kept)
			_, err := journal.PruneBodies(ctx, 0)
			require.NoError(t, err)
			require.NoError(t, db.QueryRowContext(ctx, count).Scan(&kept))
			require.Zero(t, kept)
		})
	})

	t.Run("goes on past one transaction", func(t *testing.T) {
		t.Parallel()
		p := newSQLite(t)
		journal, db := p.open(t)
		tx, err := db.BeginTx(ctx, nil)
		require.NoError(t, err)
		for i := range 1203 {
			require.NoError(t, journal.Enqueue(ctx, tx, journaltest.Intent(fmt.Sprint("k", i))))
		}
		_, err = tx.ExecContext(ctx, "UPDATE unavez_records SET state = 'done', finished_at = 1")
		require.NoError(t, err)
		require.NoError(t, tx.Commit())
		pruned, err := journal.PruneBodies(ctx, time.Hour)
		require.NoError(t, err)
		require.EqualValues(t, 1203, pruned)
	})

	t.Run("refuses a negative age", func(t *testing.T) {
		t.Parallel()
		journal, _ := newSQLite(t).open(t)
		_, err := journal.PruneBodies(ctx, -1)
		require.ErrorContains(t, err, "expected")
	})
}
