package sqljournal_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
	"github.com/unavez/unavez/journal/sqljournal"
)

// BenchmarkOperation measures one operation, which is two durable writes: the intent and the outcome. The raw limit beside it is
// the same two writes by hand, with prepared statements and one transaction each, in a table of their own in the same
// database, in turns with the journal so that both see the same disk. The metric ×raw is the journal's rate over the raw one.
//
//	go test -run '^$' -bench Operation -benchtime 4000x
func BenchmarkOperation(b *testing.B) {
	for name, newPlace := range map[string]func(testing.TB) place{"SQLite": newSQLite, "PostgreSQL": newPostgreSQL} {
		for _, workers := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%s/workers=%d", name, workers), func(b *testing.B) {
				compare(b, newPlace(b), workers)
			})
		}
	}
}

func compare(b *testing.B, p place, workers int) {
	b.Helper()
	journal, db := p.open(b)
	byHand := newRaw(b, p, db)
	const turns = 8
	var journalTook, rawTook time.Duration
	var next atomic.Int64
	b.ResetTimer()
	for range turns {
		each := max(b.N/turns, 1)
		journalTook += atOnce(b, workers, each, func() error { return operate(journal, next.Add(1)) })
		rawTook += atOnce(b, workers, each, func() error { return byHand.operate(next.Add(1)) })
	}
	done := float64(max(b.N/turns, 1) * turns)
	b.ReportMetric(done/journalTook.Seconds(), "op/s")
	b.ReportMetric(done/rawTook.Seconds(), "raw-op/s")
	b.ReportMetric(rawTook.Seconds()/journalTook.Seconds(), "×raw")
}

// atOnce does n operations with so many workers and returns how long they took.
func atOnce(b *testing.B, workers, n int, operate func() error) time.Duration {
	b.Helper()
	var (
		wait sync.WaitGroup
		left atomic.Int64
	)
	left.Store(int64(n))
	errs := make(chan error, workers)
	start := time.Now()
	for range workers {
		wait.Go(func() {
			for left.Add(-1) >= 0 {
				if err := operate(); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wait.Wait()
	took := time.Since(start)
	close(errs)
	require.NoError(b, <-errs)
	return took
}

const (
	benchBody     = `{"serie":"A","folio":"4471","receptor":{"rfc":"XAXX010101000"},"conceptos":[{"cantidad":"1","precio":"100.00"}],"idempotencyKey":"k"}`
	benchDocument = `{"id":"inv_1","uuid":"0b1f3c64-6c1f-4c5e-9a77-2f1f7f4f4471","status":"stamped","total":"116.00","stampedAt":"2026-11-30T14:00:00Z"}`
)

func benchIntent(n int64) unavez.Intent {
	key := fmt.Sprintf("bench:test:factura:%d", n)
	intent := unavez.Intent{
		RecordID:    unavez.RecordID{Provider: "facty", Account: "acme/test", Key: key},
		Environment: unavez.Test, Identity: key, Operation: unavez.InvoiceCreate, Method: "POST",
		Path: "/authenticated/acme/invoices", Body: []byte(benchBody), Proof: unavez.ProofUUID, Owner: "owner", Lease: time.Minute,
	}
	intent.Fingerprint = unavez.Fingerprint(intent.Operation, intent.Method, intent.Path, intent.Body)
	return intent
}

func operate(journal *sqljournal.Journal, n int64) error {
	ctx := context.Background()
	record, err := journal.Begin(ctx, benchIntent(n))
	if err != nil {
		return err
	}
	return finishBench(journal, record.Claim)
}

func finishBench(journal *sqljournal.Journal, claim unavez.Claim) error {
	return journal.Finish(context.Background(), claim, unavez.Result{
		State: unavez.StateDone, Writes: 1, Effect: unavez.Executed, HTTPStatus: 201, RequestID: "req_4471",
		Document: json.RawMessage(benchDocument),
	})
}

// raw is the journal that one would write by hand, without a guard, a lease or a history.
type raw struct{ insert, update *sql.Stmt }

func newRaw(b testing.TB, p place, db *sql.DB) raw {
	b.Helper()
	table := "CREATE TABLE by_hand (id INTEGER PRIMARY KEY, idempotency_key TEXT NOT NULL UNIQUE, fingerprint BLOB NOT NULL, " +
		"body BLOB NOT NULL, state TEXT NOT NULL, document BLOB, created_at INTEGER NOT NULL)"
	insert := "INSERT INTO by_hand (idempotency_key, fingerprint, body, state, created_at) VALUES (?, ?, ?, 'open', unixepoch())"
	update := "UPDATE by_hand SET state = 'done', document = ? WHERE idempotency_key = ?"
	if p.dialect == sqljournal.PostgreSQL {
		table = "CREATE TABLE by_hand (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, idempotency_key text NOT NULL UNIQUE, " +
			"fingerprint bytea NOT NULL, body bytea NOT NULL, state text NOT NULL, document bytea, created_at timestamptz NOT NULL)"
		insert = "INSERT INTO by_hand (idempotency_key, fingerprint, body, state, created_at) VALUES ($1, $2, $3, 'open', now())"
		update = "UPDATE by_hand SET state = 'done', document = $1 WHERE idempotency_key = $2"
	}
	_, err := db.ExecContext(b.Context(), table)
	require.NoError(b, err)
	var r raw
	r.insert, err = db.PrepareContext(b.Context(), insert)
	require.NoError(b, err)
	r.update, err = db.PrepareContext(b.Context(), update)
	require.NoError(b, err)
	return r
}

func (r raw) operate(n int64) error {
	if err := r.first(n); err != nil {
		return err
	}
	return r.second(n)
}

func (r raw) first(n int64) error {
	fingerprint := sha256.Sum256([]byte(benchBody))
	_, err := r.insert.ExecContext(context.Background(), fmt.Sprintf("bench:test:factura:%d", n), fingerprint[:], []byte(benchBody))
	return err
}

func (r raw) second(n int64) error {
	_, err := r.update.ExecContext(context.Background(), []byte(benchDocument), fmt.Sprintf("bench:test:factura:%d", n))
	return err
}
