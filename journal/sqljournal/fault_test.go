package sqljournal_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/journal/journaltest"
	"github.com/unavez/unavez/journal/sqljournal"
	"github.com/unavez/unavez/sandbox"
)

// requireNothingSent asserts that a call whose intent cannot be recorded says so, and puts nothing on the wire.
func requireNothingSent(t *testing.T, journal unavez.Journal) {
	t.Helper()
	server := sandbox.Start(t)
	client := newClient(t, atFiscalisto, server.URL(), journal)
	_, err := client.Send(t.Context(), prepare(t, client, atFiscalisto, 1))
	require.ErrorIs(t, err, unavez.ErrNotRecorded)
	require.ErrorIs(t, err, unavez.ErrRetryLater)
	require.Empty(t, server.Requests())
}

func TestNothingIsSentWithoutARecord(t *testing.T) {
	t.Parallel()

	t.Run("disk full", func(t *testing.T) {
		t.Parallel()
		journal, db := newSQLite(t).open(t)
		_, err := db.ExecContext(t.Context(), "PRAGMA max_page_count = 1")
		require.NoError(t, err)
		for i := 0; err == nil; i++ {
			_, err = journal.Begin(t.Context(), journaltest.Intent(fmt.Sprint("filler-", i)))
		}
		require.ErrorContains(t, err, "full")
		requireNothingSent(t, journal)
	})

	t.Run("read-only file", func(t *testing.T) {
		t.Parallel()
		p := newSQLite(t)
		p.open(t)
		db, err := sql.Open("sqlite", "file:"+p.dsn+"?mode=ro")
		require.NoError(t, err)
		defer db.Close()
		journal, err := sqljournal.New(t.Context(), db, sqljournal.SQLite)
		require.NoError(t, err)
		defer journal.Close()
		requireNothingSent(t, journal)
	})

	t.Run("file locked by somebody else", func(t *testing.T) {
		t.Parallel()
		p := newSQLite(t)
		journal, db := p.open(t)
		_, err := db.ExecContext(t.Context(), "PRAGMA busy_timeout = 50")
		require.NoError(t, err)
		lock, err := p.db(t).BeginTx(t.Context(), nil)
		require.NoError(t, err)
		defer lock.Rollback()
		requireNothingSent(t, journal)
	})

	t.Run("file damaged", func(t *testing.T) {
		t.Parallel()
		p := newSQLite(t)
		journal, err := sqljournal.OpenSQLite(p.dsn)
		require.NoError(t, err)
		require.NoError(t, journal.Close())
		size := fileSize(t, p.dsn)
		file, err := os.OpenFile(p.dsn, os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = file.WriteAt(make([]byte, size-4096), 4096)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		journal, err = sqljournal.OpenSQLite(p.dsn)
		if err != nil {
			return // seen before anything could be sent
		}
		defer journal.Close()
		requireNothingSent(t, journal)
	})

	t.Run("tables dropped while it runs", func(t *testing.T) {
		t.Parallel()
		places(t, func(t *testing.T, p place) {
			t.Helper()
			journal, _ := p.open(t)
			_, err := p.db(t).ExecContext(t.Context(), "DROP VIEW unavez_overview; DROP TABLE unavez_history; DROP TABLE unavez_records")
			require.NoError(t, err)
			requireNothingSent(t, journal)
		})
	})

	t.Run("connection lost", func(t *testing.T) {
		t.Parallel()
		p, cable := newCable(t)
		journal, _ := p.open(t)
		cable.cut()
		requireNothingSent(t, journal)
	})
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Size()
}

// after calls its function when the answer of the provider has arrived and before the client sees it.
type after struct {
	next http.RoundTripper
	then func()
}

func (a after) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := a.next.RoundTrip(request)
	a.then()
	return response, err
}

func TestDocumentSurvivesAJournalThatFails(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, p place, fail, mend func()) {
		t.Helper()
		server := sandbox.Start(t)
		db, err := p.openDB()
		require.NoError(t, err)
		journal, err := sqljournal.New(t.Context(), db, p.dialect)
		require.NoError(t, err)
		if fail == nil {
			fail = func() { db.Close() }
		}
		client := newClient(t, atFiscalisto, server.URL(), journal, unavez.WithHTTPClient(&http.Client{
			Transport: after{http.DefaultTransport, sync.OnceFunc(fail)},
		}))
		intent := prepare(t, client, atFiscalisto, 1)
		outcome, err := client.Send(t.Context(), intent)
		require.ErrorIs(t, err, unavez.ErrNotRecorded)
		require.NotNil(t, outcome, "the document exists, so the caller gets it")
		require.NotEmpty(t, outcome.Invoice.UUID)
		db.Close()
		mend()

		// The next start finds it.
		again, db := p.open(t)
		pass(t, db, time.Hour)
		done, errs := collect(t, again.Sweep(t.Context(), newClient(t, atFiscalisto, server.URL(), again)))
		require.Empty(t, errs)
		require.Equal(t, 1, done)
		require.Equal(t, 1, server.Effects(intent.Key))
	}

	t.Run("SQLite closed", func(t *testing.T) {
		t.Parallel()
		check(t, newSQLite(t), nil, func() {})
	})

	t.Run("PostgreSQL unreachable", func(t *testing.T) {
		t.Parallel()
		p, cable := newCable(t)
		check(t, p, cable.cut, cable.mend)
	})
}

// cable is a network cable to PostgreSQL that can be cut.
type cable struct {
	target   string
	mu       sync.Mutex
	isCut    bool
	carrying []net.Conn
}

func newCable(t *testing.T) (place, *cable) {
	t.Helper()
	p := newPostgreSQL(t)
	address, err := url.Parse(p.dsn)
	require.NoError(t, err)
	c := &cable{target: address.Host}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close(); c.cut() })
	address.Host = listener.Addr().String()
	p.dsn = address.String()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			c.carry(conn)
		}
	}()
	return p, c
}

func (c *cable) carry(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isCut {
		conn.Close()
		return
	}
	far, err := net.Dial("tcp", c.target)
	if err != nil {
		conn.Close()
		return
	}
	c.carrying = append(c.carrying, conn, far)
	for _, pair := range [][2]net.Conn{{conn, far}, {far, conn}} {
		go func() {
			io.Copy(pair[0], pair[1]) //nolint:errcheck // a cut cable is the point
			pair[0].Close()
		}()
	}
}

func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCut = true
	for _, conn := range c.carrying {
		conn.Close()
	}
}

func (c *cable) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCut = false
}

func TestGroupCommit(t *testing.T) {
	t.Parallel()

	t.Run("one refused operation spoils no other", func(t *testing.T) {
		t.Parallel()
		p := newSQLite(t)
		journal, db := p.open(t)
		_, err := db.ExecContext(t.Context(), "CREATE TRIGGER poison BEFORE INSERT ON unavez_records "+
			"WHEN NEW.idempotency_key = 'poison' BEGIN SELECT RAISE(ABORT, 'poisoned'); END")
		require.NoError(t, err)
		lock, err := p.db(t).BeginTx(t.Context(), nil)
		require.NoError(t, err)
		keys := []string{"first", "a", "poison", "b", "c"}
		errs := make([]error, len(keys))
		var wait sync.WaitGroup
		for i, key := range keys {
			wait.Go(func() { _, errs[i] = journal.Begin(t.Context(), journaltest.Intent(key)) })
		}
		time.Sleep(50 * time.Millisecond) // they line up behind the lock
		require.NoError(t, lock.Rollback())
		wait.Wait()
		for i, key := range keys {
			if key == "poison" {
				require.ErrorContains(t, errs[i], "poisoned")
				continue
			}
			require.NoError(t, errs[i], key)
			_, err := journal.Load(t.Context(), journaltest.Intent(key).RecordID)
			require.NoError(t, err, key)
		}
	})

	t.Run("a caller that leaves holds nothing", func(t *testing.T) {
		t.Parallel()
		p := newSQLite(t)
		journal, db := p.open(t)
		lock, err := p.db(t).BeginTx(t.Context(), nil)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		var wait sync.WaitGroup
		for _, key := range []string{"first", "in line"} {
			wait.Go(func() {
				if _, err := journal.Begin(ctx, journaltest.Intent(key)); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Begin: %v", err)
				}
			})
		}
		time.Sleep(100 * time.Millisecond)
		require.NoError(t, lock.Rollback())
		wait.Wait()
		require.Eventually(t, func() bool {
			var held int
			err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM unavez_records WHERE owner <> ''").Scan(&held)
			return err == nil && held == 0
		}, 5*time.Second, 10*time.Millisecond)
		record, err := journal.Begin(t.Context(), journaltest.Intent("in line"))
		require.NoError(t, err)
		require.Equal(t, unavez.AdmitSend, record.Admission)
	})
}
