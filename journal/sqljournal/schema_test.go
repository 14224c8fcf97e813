package sqljournal_test

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez/journal/journaltest"
	"github.com/unavez/unavez/journal/sqljournal"
)

func TestSchema(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	make1 := func(t *testing.T, p place, options ...sqljournal.Option) error {
		t.Helper()
		journal, err := sqljournal.New(ctx, p.db(t), p.dialect, options...)
		if err == nil {
			require.NoError(t, journal.Close())
		}
		return err
	}
	run := func(t *testing.T, p place, statements string) {
		t.Helper()
		_, err := p.db(t).ExecContext(ctx, statements)
		require.NoError(t, err)
	}

	t.Run("is made once, and found again", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			require.NoError(t, make1(t, p))
			require.NoError(t, make1(t, p))
			require.NoError(t, make1(t, p, sqljournal.WithoutMigration()))
		})
	})

	t.Run("is made once by many at once", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			var wait sync.WaitGroup
			errs := make([]error, 8)
			for i := range errs {
				db := p.db(t)
				wait.Go(func() { _, errs[i] = sqljournal.New(ctx, db, p.dialect) })
			}
			wait.Wait()
			for _, err := range errs {
				require.NoError(t, err)
			}
		})
	})

	t.Run("can be made with another tool", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			text, err := sqljournal.Schema(p.dialect)
			require.NoError(t, err)
			run(t, p, text)
			journal, _ := p.open(t, sqljournal.WithoutMigration())
			_, err = journal.Begin(ctx, journaltest.Intent("k"))
			require.NoError(t, err)
		})
	})

	t.Run("is not made without leave", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			require.ErrorIs(t, make1(t, p, sqljournal.WithoutMigration()), sqljournal.ErrSchemaMissing)
		})
	})

	t.Run("that is newer is left alone", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			require.NoError(t, make1(t, p))
			run(t, p, "INSERT INTO unavez_schema (version) VALUES (99)")
			require.ErrorIs(t, make1(t, p), sqljournal.ErrSchemaNewer)
		})
	})

	for name, statements := range map[string]string{
		"tables of somebody else":   "CREATE TABLE unavez_records (id INTEGER)",
		"a version table of theirs": "CREATE TABLE unavez_schema (name TEXT)",
		"a version table without a version": "CREATE TABLE unavez_schema (version INTEGER); " +
			"CREATE TABLE unavez_records (id INTEGER)",
		"a version and other tables": "CREATE TABLE unavez_schema (version INTEGER); INSERT INTO unavez_schema VALUES (1); " +
			"CREATE TABLE unavez_records (id INTEGER)",
	} {
		t.Run("that is foreign is left alone: "+name, func(t *testing.T) {
			t.Parallel()
			places(t, func(t *testing.T, p place) {
				t.Helper()
				run(t, p, statements)
				require.ErrorIs(t, make1(t, p), sqljournal.ErrSchemaForeign)
			})
		})
	}

	t.Run("has a view for people", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			journal, db := p.open(t)
			_, err := journal.Begin(ctx, journaltest.Intent("k"))
			require.NoError(t, err)
			var key, firstSent string
			require.NoError(t, db.QueryRowContext(ctx, "SELECT idempotency_key, CAST(first_sent AS TEXT) FROM unavez_overview").Scan(&key, &firstSent))
			require.Equal(t, "k", key)
			require.Regexp(t, `^\d{4}-\d\d-\d\d `, firstSent)
		})
	})

	t.Run("of an unknown dialect is none", func(t *testing.T) {
		t.Parallel()
		_, err := sqljournal.Schema("oracle")
		require.ErrorContains(t, err, "unknown dialect")
		_, err = sqljournal.New(ctx, newSQLite(t).db(t), "oracle")
		require.ErrorContains(t, err, "unknown dialect")
	})
}

func TestNewRefusesWhatIsNotDurable(t *testing.T) {
	t.Parallel()
	for name, pragma := range map[string]string{"NORMAL": "NORMAL", "OFF": "OFF"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newSQLite(t).db(t)
			_, err := db.ExecContext(t.Context(), "PRAGMA synchronous="+pragma)
			require.NoError(t, err)
			_, err = sqljournal.New(t.Context(), db, sqljournal.SQLite)
			require.ErrorIs(t, err, sqljournal.ErrNotDurable)
		})
	}
}

func TestOpenSQLite(t *testing.T) {
	t.Parallel()

	t.Run("keeps what it recorded", func(t *testing.T) {
		t.Parallel()
		// A path may hold what means something in an address.
		path := t.TempDir() + "/a b?c#d%20.db"
		journal, err := sqljournal.OpenSQLite(path)
		require.NoError(t, err)
		_, err = journal.Begin(t.Context(), journaltest.Intent("k"))
		require.NoError(t, err)
		require.NoError(t, journal.Close())
		require.FileExists(t, path)

		journal, err = sqljournal.OpenSQLite(path)
		require.NoError(t, err)
		defer journal.Close()
		_, err = journal.Load(t.Context(), journaltest.Intent("k").RecordID)
		require.NoError(t, err)
	})

	for _, path := range []string{"", ":memory:", "file:x.db"} {
		t.Run("refuses "+path, func(t *testing.T) {
			t.Parallel()
			_, err := sqljournal.OpenSQLite(path)
			require.ErrorContains(t, err, "expected the path of a file")
		})
	}

	t.Run("refuses a file that is no database", func(t *testing.T) {
		t.Parallel()
		path := t.TempDir() + "/text"
		require.NoError(t, os.WriteFile(path, []byte("this is a text and not a database, and long enough to look at"), 0o600))
		_, err := sqljournal.OpenSQLite(path)
		require.Error(t, err)
	})

	t.Run("refuses calls once it is closed", func(t *testing.T) {
		t.Parallel()
		journal, err := sqljournal.OpenSQLite(t.TempDir() + "/x.db")
		require.NoError(t, err)
		require.NoError(t, journal.Close())
		require.NoError(t, journal.Close())
		_, err = journal.Begin(context.Background(), journaltest.Intent("k"))
		require.ErrorIs(t, err, sqljournal.ErrClosed)
	})
}
