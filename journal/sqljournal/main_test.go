package sqljournal_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez/journal/sqljournal"
	"github.com/unavez/unavez/journal/sqljournal/internal/pgtest"
	"github.com/unavez/unavez/journal/sqljournal/sqlite"
)

// postgres is the server of this run, nil with the reason beside it if there is none.
var (
	postgres    *pgtest.Server
	errPostgres error
	schemas     atomic.Int64
)

func TestMain(m *testing.M) {
	if task := os.Getenv(childVariable); task != "" {
		if code := runChild(task); code >= 0 {
			os.Exit(code)
		}
		os.Exit(m.Run())
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	flag.Parse()
	var settings []string
	if bench := flag.Lookup("test.bench"); bench == nil || bench.Value.String() == "" {
		settings = append(settings, "fsync=off") // the tests kill clients, not the machine
	}
	postgres, errPostgres = pgtest.Start(settings...)
	if errPostgres != nil && os.Getenv("CI") == "true" {
		fmt.Fprintln(os.Stderr, "PostgreSQL must run in CI:", errPostgres)
		return 1
	}
	if postgres != nil {
		defer func() {
			if err := postgres.Stop(); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}()
	}
	return m.Run()
}

// place is where a journal can be: a dialect and what opens it.
type place struct {
	dialect sqljournal.Dialect
	dsn     string
}

// places runs the test on a fresh database of each kind.
func places(t *testing.T, test func(t *testing.T, p place)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, newSQLite(t))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, newPostgreSQL(t))
	})
}

func newSQLite(t testing.TB) place {
	t.Helper()
	return place{sqljournal.SQLite, filepath.Join(t.TempDir(), "journal.db")}
}

// newPostgreSQL makes a schema of its own.
func newPostgreSQL(t testing.TB) place {
	t.Helper()
	if errors.Is(errPostgres, pgtest.ErrNotInstalled) {
		t.Skip("no PostgreSQL: ", errPostgres)
	}
	require.NoError(t, errPostgres)
	admin, err := sql.Open("pgx", postgres.DSN)
	require.NoError(t, err)
	defer func() { require.NoError(t, admin.Close()) }()
	name := fmt.Sprintf("journal_%d", schemas.Add(1))
	_, err = admin.ExecContext(t.Context(), "CREATE SCHEMA "+name)
	require.NoError(t, err)
	return place{sqljournal.PostgreSQL, postgres.DSN + "&search_path=" + name}
}

// db opens the database of the place.
func (p place) db(t testing.TB) *sql.DB {
	t.Helper()
	db, err := p.openDB()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func (p place) openDB() (*sql.DB, error) {
	if p.dialect == sqljournal.SQLite {
		return sqlite.OpenDB(p.dsn)
	}
	db, err := sql.Open("pgx", p.dsn)
	if err == nil {
		db.SetMaxOpenConns(20)
		db.SetMaxIdleConns(20)
	}
	return db, err
}

// open opens the journal and its database.
func (p place) open(t testing.TB, options ...sqljournal.Option) (*sqljournal.Journal, *sql.DB) {
	t.Helper()
	db := p.db(t)
	journal, err := sqljournal.New(context.Background(), db, p.dialect, options...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, journal.Close()) })
	return journal, db
}

// pass lets time pass for the journal, by moving what it remembers into the past.
func pass(t testing.TB, db *sql.DB, d time.Duration) {
	t.Helper()
	by := d.Microseconds()
	_, err := db.ExecContext(context.Background(), fmt.Sprintf("UPDATE unavez_records SET "+
		"lease_until = CASE WHEN lease_until > 0 THEN lease_until - %[1]d ELSE 0 END, "+
		"not_before = CASE WHEN not_before > 0 THEN not_before - %[1]d ELSE 0 END, "+
		"first_sent = CASE WHEN first_sent > 0 THEN first_sent - %[1]d ELSE 0 END, "+
		"finished_at = CASE WHEN finished_at > 0 THEN finished_at - %[1]d ELSE 0 END", by))
	require.NoError(t, err)
}
