package sqljournal_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/journal/sqljournal"
)

var errNotToday = errors.New("not today")

// idleClient sends nothing: what is measured is the pass.
type idleClient struct{}

func (idleClient) RecordID(key string) unavez.RecordID {
	return unavez.RecordID{Provider: "facty", Account: "acme/test", Key: key}
}

func (idleClient) Send(context.Context, unavez.Intent, ...unavez.CallOption) (*unavez.Outcome, error) {
	return nil, errNotToday
}

func (idleClient) Reconcile(context.Context, string, ...unavez.CallOption) (*unavez.Outcome, error) {
	return nil, errNotToday
}

// TestMemoryIsFlat walks over many records and watches the heap.
//
//	UNAVEZ_RECORDS=1000000 go test -run TestMemoryIsFlat -timeout 60m .
func TestMemoryIsFlat(t *testing.T) { //nolint:paralleltest // it watches the heap of the process
	records, err := strconv.Atoi(os.Getenv("UNAVEZ_RECORDS"))
	if err != nil {
		records = 2_000
	}
	for name, newPlace := range map[string]func(testing.TB) place{"SQLite": newSQLite, "PostgreSQL": newPostgreSQL} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			journal, db := p.open(t)
			series := "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " + strconv.Itoa(records) + ")"
			_, err := db.ExecContext(t.Context(), "INSERT INTO unavez_records (provider, account, idempotency_key, environment, identity, "+
				"slot, operation, method, path, body, proof, fingerprint, state, waiting, created_at) "+series+
				" SELECT 'facty', 'acme/test', 'k:' || i, 'test', 'k:' || i, 0, 'invoices.create', 'POST', '/invoices', "+
				blob(p, 600)+", 'uuid', "+blob(p, 32)+", 'open', 0, 1 FROM n")
			require.NoError(t, err)
			for _, pass := range []struct {
				name string
				walk func() int
			}{
				{"Sweep", func() int {
					return walkOver(t, journal.Sweep(t.Context(), idleClient{}, sqljournal.WithConcurrency(64), sqljournal.WithReservation(time.Microsecond)))
				}},
				{"Drain", func() int {
					return walkOver(t, journal.Drain(t.Context(), idleClient{}, sqljournal.WithConcurrency(64)))
				}},
			} {
				peak := peakHeap(func() { require.Equal(t, records, pass.walk(), pass.name) })
				t.Logf("%s over %d records: the heap grew by up to %d KiB", pass.name, records, peak>>10)
				require.Less(t, peak, uint64(16<<20), "the heap grows with the records")
			}
		})
	}
}

func blob(p place, size int) string {
	if p.dialect == sqljournal.SQLite {
		return fmt.Sprintf("zeroblob(%d)", size)
	}
	return fmt.Sprintf("decode(repeat('00', %d), 'hex')", size)
}

func walkOver(t *testing.T, reports iter.Seq2[sqljournal.Report, error]) (n int) {
	t.Helper()
	for report, err := range reports {
		require.ErrorIs(t, err, errNotToday)
		require.NotEmpty(t, report.Key)
		n++
	}
	return n
}

// peakHeap returns by how much the heap in use grew at most.
func peakHeap(run func()) uint64 {
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var peak uint64
	var wait sync.WaitGroup
	stop := make(chan struct{})
	wait.Go(func() {
		for ticks := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-stop:
				ticks.Stop()
				return
			case <-ticks.C:
				runtime.GC()
				runtime.ReadMemStats(&now)
				peak = max(peak, now.HeapAlloc-min(before.HeapAlloc, now.HeapAlloc))
			}
		}
	})
	run()
	close(stop)
	wait.Wait()
	return peak
}
