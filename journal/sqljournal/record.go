package sqljournal

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/unavez/unavez"
)

const (
	recordColumns = "seq, provider, account, idempotency_key, environment, identity, operation, method, path, " +
		"body, body_sealed, proof, fingerprint, state, " +
		"CASE WHEN owner <> '' AND lease_until > {now} THEN lease_until - {now} ELSE 0 END, " +
		"first_sent, CASE WHEN first_sent > 0 AND {now} > first_sent THEN {now} - first_sent ELSE 0 END, writes, " +
		"effect, disposition, reason, next, http_status, code, request_id, document, document_sealed, replayed, changes"
	historyColumns = "at, state, fingerprint, decided_by, why"
)

// row is a record as it is stored.
type row struct {
	unavez.Record

	seq     int64
	changes int64
	// unreadable says why the body or the document could not be opened.
	unreadable error
}

type scanner interface {
	Scan(dest ...any) error
}

// scanRow reads [recordColumns]. Ages and leases were computed by the database. The row is returned with [ErrSealed] too.
func (b box) scanRow(source scanner) (*row, error) {
	var (
		r                                    row
		body, fingerprint, document          []byte
		held, firstSent, age                 int64
		bodySealed, documentSealed, replayed int
	)
	err := source.Scan(
		&r.seq, &r.Provider, &r.Account, &r.Key, &r.Environment, &r.Identity, &r.Operation, &r.Method, &r.Path,
		&body, &bodySealed, &r.Proof, &fingerprint, &r.State, &held, &firstSent, &age, &r.Writes,
		&r.Result.Effect, &r.Result.Disposition, &r.Result.Reason, &r.Result.Next, &r.Result.HTTPStatus, &r.Result.Code,
		&r.Result.RequestID, &document, &documentSealed, &replayed, &r.changes,
	)
	if err != nil {
		return nil, err
	}
	if copy(r.Fingerprint[:], fingerprint) != len(fingerprint) || len(fingerprint) != len(r.Fingerprint) {
		return nil, fmt.Errorf("%w: a fingerprint has %d bytes, expected %d", ErrSchemaForeign, len(fingerprint), len(r.Fingerprint))
	}
	r.HeldFor, r.Age = micros(held), micros(age)
	r.Result.State, r.Result.Writes, r.Result.Replayed = r.State, r.Writes, replayed != 0
	if firstSent > 0 {
		r.FirstSent = time.UnixMicro(firstSent).UTC()
	}
	if r.Body, err = b.open(r.RecordID, purposeBody, body, bodySealed); err == nil {
		r.Result.Document, err = b.open(r.RecordID, purposeDocument, document, documentSealed)
	}
	return &r, err
}

// loadHistory fills in what happened to the record, which for nearly every record is nothing.
func (r *row) loadHistory(ctx context.Context, run runner) error {
	if r.changes == 0 {
		return nil
	}
	rows, err := run.query(ctx, selectHistory, r.seq)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // reading; rows.Err is checked
	for rows.Next() {
		var (
			entry       unavez.HistoryEntry
			at          int64
			fingerprint []byte
		)
		if err := rows.Scan(&at, &entry.State, &fingerprint, &entry.By, &entry.Why); err != nil {
			return err
		}
		entry.At = time.UnixMicro(at).UTC()
		copy(entry.Fingerprint[:], fingerprint)
		r.History = append(r.History, entry)
	}
	return rows.Err()
}

func micros(n int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Microsecond)
	return time.Duration(min(n, most)) * time.Microsecond
}

// storable makes a text that came from outside fit a text column: PostgreSQL refuses NUL and invalid UTF-8, and an outcome must
// not be lost over a provider's odd request id.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
