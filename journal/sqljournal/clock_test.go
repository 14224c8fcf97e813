package sqljournal_test

import (
	"database/sql/driver"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	driversqlite "modernc.org/sqlite"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/journal/journaltest"
	"github.com/unavez/unavez/sandbox"
)

// TestNoClockOfTheProcess shows that the product reads no clock: what it decides by age or lease it decides by the database's.
func TestNoClockOfTheProcess(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	isProduct := func(info fs.FileInfo) bool { return !strings.HasSuffix(info.Name(), "_test.go") }
	for _, folder := range []string{".", "sqlite", "internal/sqlitedsn"} {
		packages, err := parser.ParseDir(files, folder, isProduct, 0) //nolint:staticcheck // files are enough
		require.NoError(t, err)
		for _, p := range packages {
			ast.Inspect(p, func(node ast.Node) bool {
				selector, ok := node.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if name, ok := selector.X.(*ast.Ident); ok && name.Name == "time" {
					require.NotContains(t, []string{"Now", "Since", "Until"}, selector.Sel.Name, files.Position(selector.Pos()))
				}
				return true
			})
		}
	}
}

// skewed returns a schema of PostgreSQL whose clock is off by d from that of this process.
func skewed(t testing.TB, d time.Duration) place {
	t.Helper()
	p := newPostgreSQL(t)
	_, err := p.db(t).ExecContext(t.Context(), fmt.Sprintf("CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS "+
		"$$ SELECT pg_catalog.clock_timestamp() + interval '%d seconds' $$", int(d.Seconds())))
	require.NoError(t, err)
	p.dsn += ",pg_catalog"
	return p
}

func TestClockSkew(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{-2 * time.Hour, 2 * time.Hour} {
		t.Run("PostgreSQL "+skew.String(), func(t *testing.T) {
			t.Parallel()
			underSkew(t, skew, func(t *testing.T) place { t.Helper(); return skewed(t, skew) })
		})
		t.Run("SQLite "+skew.String(), func(t *testing.T) {
			t.Parallel()
			// A function is replaced for a whole process, so another one does it.
			out, err := child(t, taskSkew, "SKEW="+skew.String(), "DIR="+t.TempDir()).CombinedOutput()
			require.NoError(t, err, string(out))
		})
	}
}

// underSkew runs the whole suite, and a window, against a database whose clock is off.
func underSkew(t *testing.T, skew time.Duration, newPlace func(*testing.T) place) {
	t.Helper()
	t.Run("the clocks differ", func(t *testing.T) {
		t.Parallel()
		journal, _ := newPlace(t).open(t)
		_, err := journal.Begin(t.Context(), journaltest.Intent("k"))
		require.NoError(t, err)
		record, err := journal.Load(t.Context(), journaltest.Intent("k").RecordID)
		require.NoError(t, err)
		require.WithinDuration(t, time.Now().Add(skew), record.FirstSent, time.Minute)
		require.Less(t, record.Age, time.Minute)
		require.Greater(t, record.HeldFor, 50*time.Second)
	})
	t.Run("conformance", func(t *testing.T) {
		t.Parallel()
		journaltest.Run(t, func(t *testing.T, check func(*testing.T, journaltest.Subject)) {
			t.Helper()
			journal, db := newPlace(t).open(t)
			check(t, journaltest.Subject{Journal: journal, Pass: func(t *testing.T, d time.Duration) { t.Helper(); pass(t, db, d) }})
		})
	})
	// Payouts keep a key for 24 h; an hour inside, and an hour past it.
	for age, want := range map[time.Duration]unavez.State{23 * time.Hour: unavez.StateDone, 25 * time.Hour: unavez.StateReview} {
		t.Run("the window at "+age.String(), func(t *testing.T) {
			t.Parallel()
			server := sandbox.Start(t)
			journal, db := newPlace(t).open(t)
			client := newClient(t, atPayouts, server.URL(), journal)
			intent := prepare(t, client, atPayouts, 1)
			intent.Owner, intent.Lease = "dead", time.Minute
			_, err := journal.Begin(t.Context(), intent)
			require.NoError(t, err)
			pass(t, db, age)
			for _, err := range journal.Sweep(t.Context(), client) {
				require.Equal(t, want == unavez.StateReview, err != nil, err)
			}
			record, err := journal.Load(t.Context(), intent.RecordID)
			require.NoError(t, err)
			require.Equal(t, want, record.State)
		})
	}
}

// TestSkewedSQLite runs in a child of TestClockSkew alone, where SQLite's clock is another.
func TestSkewedSQLite(t *testing.T) { //nolint:paralleltest,tparallel // alone in its process
	skew, err := time.ParseDuration(os.Getenv("SKEW"))
	if err != nil {
		t.Skip("runs in a child process of TestClockSkew")
	}
	driversqlite.MustRegisterFunction("unixepoch", &driversqlite.FunctionImpl{
		NArgs: 2, Scalar: func(*driversqlite.FunctionContext, []driver.Value) (driver.Value, error) {
			return float64(time.Now().Add(skew).UnixMilli()) / 1000, nil
		},
	})
	underSkew(t, skew, func(t *testing.T) place { t.Helper(); return newSQLite(t) })
}
