package sqljournal

import (
	"context"
	"database/sql"
)

// statement names one of the statements below, in both dialects.
type statement int

const (
	// takeWriteLock changes nothing. SQLite takes its write lock for it at once, and waits for it, which a transaction
	// that began with a read could not.
	takeWriteLock statement = iota
	insertOpen
	insertQueued
	nextSlot
	selectRecord
	loadRecord
	selectElsewhere
	lockIdentity
	claimSend
	claimResume
	claimReconcile
	extendClaim
	finishClaim
	finishLate
	settleReview
	requeue
	recall
	abandonSend
	abandonResume
	insertHistory
	selectHistory
	maxSequence
	watermark
	adoptDead
	firstUnsettled
	moveWatermark
	reserveDrain
	reserveSweep
	postpone
	pruneRecords
	pruneHistory
	statements
)

const (
	whereID     = " WHERE provider = ? AND account = ? AND idempotency_key = ?"
	whereClaim  = whereID + " AND owner = ?"
	newRequest  = "operation = ?, method = ?, path = ?, body = ?, body_sealed = ?, proof = ?, fingerprint = ?"
	clearResult = "effect = '', disposition = '', reason = '', next = '', http_status = 0, code = '', request_id = '', " +
		"document = NULL, document_sealed = 0, replayed = 0, finished_at = 0"
	setResult = "state = ?, waiting = ?, writes = ?, effect = ?, disposition = ?, reason = ?, next = ?, http_status = ?, code = ?, request_id = ?, " +
		"document = ?, document_sealed = ?, replayed = ?, first_sent = first_sent * ?, finished_at = {now} * ?"
	dropClaim = "owner = '', lease_until = 0, not_before = 0"
	// due is what one pass of Drain or Sweep may take: of this account, after the last one seen, known before the pass
	// began, held by nobody, and not put off.
	due = "provider = ? AND account = ? AND waiting = 1 AND seq > ? AND seq <= ? " +
		"AND lease_until <= {now} AND not_before <= {now}"
	// doubtful narrows it to what may have been executed.
	doubtful = " AND state = 'open' AND effect NOT IN ('not_sent', 'not_executed')"
)

// reserve puts a page of due records off for a while, so that other replicas pass them over, and returns them.
func reserve(which string) string {
	return "WITH page AS (SELECT seq FROM unavez_records WHERE " + which +
		" ORDER BY seq LIMIT ? {skiplocked}) " +
		"UPDATE unavez_records SET not_before = {now} + ? WHERE seq IN (SELECT seq FROM page) RETURNING " + recordColumns
}

// statementTexts returns all statements in the dialect; empty where the dialect does not need one.
func statementTexts(dialect Dialect) *[statements]string { //nolint:funlen // one table
	const (
		claim  = "owner = ?, lease_until = {now} + ?"
		insert = "INSERT INTO unavez_records (provider, account, idempotency_key, environment, identity, operation, method, path, " +
			"body, body_sealed, proof, fingerprint, slot, state, waiting, owner, lease_until, first_sent, created_at) " +
			"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
		update    = "UPDATE unavez_records SET "
		atRecord  = " WHERE seq = ?"
		withEntry = ", changes = changes + 1"
	)
	texts := [statements]string{
		insertOpen:   insert + "'open', 0, ?, {now} + ?, {now}, {now}) ON CONFLICT {arbiter} DO NOTHING",
		insertQueued: insert + "'queued', 1, '', 0, 0, {now}) ON CONFLICT DO NOTHING",
		nextSlot:     "SELECT coalesce(max(slot) + 1, 0) FROM unavez_records WHERE identity = ? AND environment = ?",
		selectRecord: "SELECT " + recordColumns + " FROM unavez_records" + whereID + " {lock}",
		loadRecord:   "SELECT " + recordColumns + " FROM unavez_records" + whereID,

		selectElsewhere: "SELECT count(*) FROM (SELECT 1 FROM unavez_records WHERE identity = ? AND environment = ? AND provider <> ? " +
			"AND state NOT IN ('done', 'refused') LIMIT 1) AS elsewhere",

		claimSend: update + "state = 'open', waiting = 1, " + claim + ", " + newRequest + ", " + clearResult +
			", first_sent = CASE WHEN ? = 1 THEN first_sent ELSE {now} END, changes = changes + ?" + atRecord,
		claimResume:    update + "state = 'open', waiting = 1, " + claim + atRecord,
		claimReconcile: update + "waiting = CASE WHEN state = 'open' THEN 1 ELSE waiting END, " + claim + atRecord,
		extendClaim:    update + "writes = ?, lease_until = {now} + ?" + whereClaim,
		finishClaim:    update + setResult + ", " + dropClaim + whereClaim,
		finishLate:     update + setResult + ", " + dropClaim + withEntry + atRecord,
		settleReview:   update + setResult + ", " + dropClaim + withEntry + atRecord,
		requeue: update + "state = 'queued', waiting = 1, " + dropClaim + ", " + newRequest + ", " + clearResult +
			", first_sent = first_sent * ?, changes = changes + ?" + atRecord,
		recall: update + "waiting = 1, not_before = 0" + atRecord,
		abandonSend: update + "waiting = 1, " + dropClaim + ", effect = 'not_sent', disposition = 'retry_later', next = 'resend', first_sent = 0" +
			whereClaim,
		abandonResume: update + "waiting = CASE WHEN state = 'open' THEN 1 ELSE waiting END, " + dropClaim + whereClaim,

		insertHistory: "INSERT INTO unavez_history (record, at, state, fingerprint, body, body_sealed, decided_by, why) " +
			"SELECT seq, {now}, CAST(? AS TEXT), fingerprint, body, body_sealed, CAST(? AS TEXT), CAST(? AS TEXT) " +
			"FROM unavez_records" + atRecord,
		selectHistory: "SELECT " + historyColumns + " FROM unavez_history WHERE record = ? ORDER BY id",

		maxSequence: "SELECT coalesce(max(seq), 0) FROM unavez_records",
		watermark:   "SELECT seq FROM unavez_watermark",
		adoptDead:   update + "waiting = 1 WHERE waiting = 0 AND seq > ? AND seq <= ? AND state = 'open' AND lease_until <= {now}",
		firstUnsettled: "SELECT coalesce(min(seq), 0) FROM unavez_records WHERE waiting = 0 AND seq > ? AND seq <= ? " +
			"AND (state = 'open' OR created_at > {now} - ?)",
		moveWatermark: "UPDATE unavez_watermark SET seq = ? WHERE seq < ?",
		reserveDrain:  reserve(due),
		reserveSweep:  reserve(due + doubtful),
		postpone:      update + "not_before = {now} * ? + ?" + atRecord + " AND waiting = 1",
		pruneRecords: update + "body = NULL, body_sealed = 0 WHERE seq IN (SELECT seq FROM unavez_records WHERE seq > ? " +
			"AND body IS NOT NULL AND state IN ('done', 'refused') AND finished_at BETWEEN 1 AND {now} - ? " +
			"ORDER BY seq LIMIT ?) RETURNING seq",
		pruneHistory: "UPDATE unavez_history SET body = NULL, body_sealed = 0 WHERE record = ? AND body IS NOT NULL",
	}
	switch dialect {
	case SQLite:
		texts[takeWriteLock] = "UPDATE unavez_schema SET version = version WHERE version < 0"
	case PostgreSQL:
		texts[lockIdentity] = "SELECT pg_advisory_xact_lock(hashtextextended(? || ':' || ?, 4471))"
	}
	for i := range texts {
		texts[i] = dialect.render(texts[i])
	}
	return &texts
}

// runner runs the statements of this package on a pool or in a transaction.
type runner interface {
	exec(ctx context.Context, s statement, args ...any) (int64, error)
	row(ctx context.Context, s statement, args ...any) *sql.Row
	query(ctx context.Context, s statement, args ...any) (*sql.Rows, error)
}

// texts runs statements by their text, and leaves it to the driver to prepare them (or not, behind a pooler).
type texts struct {
	on interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}
	text *[statements]string
}

func (t texts) exec(ctx context.Context, s statement, args ...any) (int64, error) {
	result, err := t.on.ExecContext(ctx, t.text[s], args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (t texts) row(ctx context.Context, s statement, args ...any) *sql.Row {
	return t.on.QueryRowContext(ctx, t.text[s], args...)
}

func (t texts) query(ctx context.Context, s statement, args ...any) (*sql.Rows, error) {
	return t.on.QueryContext(ctx, t.text[s], args...)
}

// prepared runs statements that were prepared once; tx is nil outside of a transaction.
type prepared struct {
	statements *[statements]*sql.Stmt
	tx         *sql.Tx
}

func (p prepared) statement(ctx context.Context, s statement) *sql.Stmt {
	if p.tx == nil {
		return p.statements[s]
	}
	return p.tx.StmtContext(ctx, p.statements[s])
}

func (p prepared) exec(ctx context.Context, s statement, args ...any) (int64, error) {
	result, err := p.statement(ctx, s).ExecContext(ctx, args...) //nolint:sqlclosecheck // closed with the journal or the transaction
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (p prepared) row(ctx context.Context, s statement, args ...any) *sql.Row {
	return p.statement(ctx, s).QueryRowContext(ctx, args...) //nolint:sqlclosecheck // as in exec
}

func (p prepared) query(ctx context.Context, s statement, args ...any) (*sql.Rows, error) {
	return p.statement(ctx, s).QueryContext(ctx, args...) //nolint:sqlclosecheck // as in exec
}
