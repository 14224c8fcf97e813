package sqljournal_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/sandbox"
)

// kills is how many times the shop of each provider is killed: 20, or as many as the environment says.
//
//	UNAVEZ_KILLS=300 go test -run TestCrash -timeout 60m .
func kills(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("UNAVEZ_KILLS"))
	if err != nil {
		return 20
	}
	return n
}

// TestCrash kills a shop with SIGKILL at every point between the sale and the recorded outcome, and at random times, and
// starts it again each time. In the end the sandbox's ledger has one effect for each sale, and the journal knows it.
func TestCrash(t *testing.T) {
	t.Parallel()
	for i, provider := range allProviders() {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			for name, newPlace := range map[string]func(testing.TB) place{"SQLite": newSQLite, "PostgreSQL": newPostgreSQL} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					crash(t, newPlace(t), provider, (kills(t)+1)/2, uint64(i))
				})
			}
		})
	}
}

func crash(t *testing.T, p place, provider string, kills int, seed uint64) {
	t.Helper()
	server := sandbox.Start(t)
	journal, db := p.open(t)
	_, err := db.ExecContext(t.Context(), "CREATE TABLE sales (idempotency_key TEXT NOT NULL)")
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(4471, seed))
	order := random.Perm(len(points()))
	for n := range kills {
		point := points()[order[n%len(order)]]
		key := fmt.Sprintf("mi-erp:test:op:%d", n)
		if random.IntN(3) == 0 {
			server.ScriptKey(key, lossy()[random.IntN(len(lossy()))])
		}
		wasKilled := live(t, p, provider, server.URL(), n, point, random)
		if !wasKilled {
			require.Contains(t, []string{"any time"}, point, "it lived past the point where it was to die")
		}
		pass(t, db, 2*time.Minute)
		server.Advance(2 * time.Minute)
	}
	settle(t, p, provider, server, db)
	requireOneEffect(t, journal, db, server, provider)
}

// lossy are faults that are mended by coming back.
func lossy() []sandbox.Fault {
	return []sandbox.Fault{
		sandbox.CloseAfter(), sandbox.ResetAfter(), sandbox.CutBody(20), sandbox.CloseBefore(), sandbox.TooMany("1"),
		sandbox.Late(20 * time.Millisecond), sandbox.Slow(20 * time.Millisecond),
	}
}

// live is one life of the shop, and reports whether it was killed.
func live(t *testing.T, p place, provider, url string, sale int, point string, random *rand.Rand) bool {
	t.Helper()
	shop := child(t, taskSell, append(p.environment(provider, url), "SALE="+strconv.Itoa(sale), "POINT="+point)...)
	var output bytes.Buffer
	shop.Stderr = &output
	require.NoError(t, shop.Start())
	if point == "any time" {
		time.AfterFunc(time.Duration(random.IntN(250))*time.Millisecond, func() { _ = shop.Process.Kill() })
	}
	err := shop.Wait()
	if err == nil {
		return false
	}
	status, ok := shop.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok && status.Signaled() && status.Signal() == syscall.SIGKILL, "%v: %s", err, output.String())
	return true
}

// settle lets the shop live until nothing is left to do.
func settle(t *testing.T, p place, provider string, server *sandbox.Server, db *sql.DB) {
	t.Helper()
	for range 10 {
		require.False(t, live(t, p, provider, server.URL(), -1, "", nil))
		var left int
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM unavez_records WHERE state IN ('queued', 'open')").Scan(&left))
		if left == 0 {
			return
		}
		pass(t, db, 2*time.Minute)
		server.Advance(2 * time.Minute)
	}
	require.Fail(t, "some records never came to an end")
}

// requireOneEffect compares three accounts of what happened: the shop's, the journal's and the provider's.
func requireOneEffect(t *testing.T, journal unavez.Journal, db *sql.DB, server *sandbox.Server, provider string) {
	t.Helper()
	sales := salesOf(t, db)
	require.NotEmpty(t, sales)
	var records int
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM unavez_records").Scan(&records))
	require.Len(t, sales, records, "a sale without a record, or a record without a sale")
	for _, entry := range server.Ledger() {
		require.True(t, sales[entry.Key], "an effect without a sale")
	}
	client := newClient(t, provider, server.URL(), journal)
	for key := range sales {
		record, err := journal.Load(t.Context(), client.RecordID(key))
		require.NoError(t, err)
		effects := server.Effects(key)
		switch record.State {
		case unavez.StateDone:
			require.Equal(t, 1, effects, "%s is done", key)
		case unavez.StateReview:
			require.LessOrEqual(t, effects, 1, key)
			require.NotEmpty(t, record.Result.Reason, key)
			if record.Result.Reason == unavez.ReasonNeverArrived || record.Result.Reason == unavez.ReasonFailed {
				require.Zero(t, effects, "%s is said to be %s", key, record.Result.Reason)
			}
		default:
			require.Fail(t, "not at an end", "%s is %s", key, record.State)
		}
	}
}

func salesOf(t *testing.T, db *sql.DB) map[string]bool {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT idempotency_key FROM sales")
	require.NoError(t, err)
	defer rows.Close()
	sales := map[string]bool{}
	for rows.Next() {
		var key string
		require.NoError(t, rows.Scan(&key))
		sales[key] = true
	}
	require.NoError(t, rows.Err())
	return sales
}

// TestReplicas drains one journal with several processes at once, at a provider that loses answers.
//
//	UNAVEZ_OPERATIONS=2000 go test -run TestReplicas -timeout 60m .
func TestReplicas(t *testing.T) {
	t.Parallel()
	operations, err := strconv.Atoi(os.Getenv("UNAVEZ_OPERATIONS"))
	if err != nil {
		operations = 120
	}
	for processes, provider := range map[int]string{2: atFiscalisto, 4: atIpsofactura} {
		t.Run(fmt.Sprint(processes, " processes"), func(t *testing.T) {
			t.Parallel()
			places(t, func(t *testing.T, p place) {
				t.Helper()
				replicas(t, p, provider, processes, operations)
			})
		})
	}
}

func replicas(t *testing.T, p place, provider string, processes, operations int) {
	t.Helper()
	server := sandbox.Start(t)
	journal, db := p.open(t)
	client := newClient(t, provider, server.URL(), journal)
	_, err := db.ExecContext(t.Context(), "CREATE TABLE sales (idempotency_key TEXT NOT NULL)")
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(4471, uint64(processes)))
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	for n := range operations {
		intent := prepare(t, client, provider, n)
		require.NoError(t, journal.Enqueue(t.Context(), tx, intent))
		_, err := tx.ExecContext(t.Context(), "INSERT INTO sales (idempotency_key) VALUES ('"+intent.Key+"')")
		require.NoError(t, err)
		if random.IntN(3) == 0 {
			server.ScriptKey(intent.Key, lossy()[random.IntN(len(lossy()))])
		}
	}
	require.NoError(t, tx.Commit())

	ended := make(chan error, processes)
	for range processes {
		replica := child(t, taskDrain, p.environment(provider, server.URL())...)
		var output bytes.Buffer
		replica.Stderr = &output
		require.NoError(t, replica.Start())
		go func() {
			err := replica.Wait()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, output.String())
			}
			ended <- err
		}()
	}
	for left := processes; left > 0; {
		select {
		case err := <-ended:
			require.NoError(t, err)
			left--
		case <-time.After(200 * time.Millisecond):
			// What was put off becomes due sooner than it would; leases are left alone, their owners live.
			server.Advance(2 * time.Second)
			_, err := db.ExecContext(t.Context(), "UPDATE unavez_records SET not_before = 0 WHERE state = 'open' AND owner = '' AND not_before > 0")
			require.NoError(t, err)
		}
	}
	requireOneEffect(t, journal, db, server, provider)
}
