-- unavez journal, version 1, for SQLite 3.42 or newer.
-- Times are microseconds since 1970-01-01 UTC by the clock of the database; 0 means "none".

-- One row for each version that was applied.
CREATE TABLE unavez_schema (
    version    INTEGER NOT NULL PRIMARY KEY,
    applied_at TEXT    NOT NULL DEFAULT CURRENT_TIMESTAMP
) STRICT;

-- One row for each key of a provider's account. The first record of an identity, the caller's name for the thing at
-- whatever provider, takes slot 0 and so is the only one that needs no look around: two providers that begin one
-- identity at once meet in the unique constraint.
CREATE TABLE unavez_records (
    seq             INTEGER PRIMARY KEY,
    provider        TEXT    NOT NULL,
    account         TEXT    NOT NULL,
    idempotency_key TEXT    NOT NULL,
    environment     TEXT    NOT NULL,
    identity        TEXT    NOT NULL,
    slot            INTEGER NOT NULL,
    operation       TEXT    NOT NULL,
    method          TEXT    NOT NULL,
    path            TEXT    NOT NULL,
    body            BLOB,
    body_sealed     INTEGER NOT NULL DEFAULT 0,
    proof           TEXT    NOT NULL,
    fingerprint     BLOB    NOT NULL,
    state           TEXT    NOT NULL CHECK (state IN ('queued', 'open', 'done', 'refused', 'review')),
    waiting         INTEGER NOT NULL,
    owner           TEXT    NOT NULL DEFAULT '',
    lease_until     INTEGER NOT NULL DEFAULT 0,
    not_before      INTEGER NOT NULL DEFAULT 0,
    first_sent      INTEGER NOT NULL DEFAULT 0,
    writes          INTEGER NOT NULL DEFAULT 0,
    effect          TEXT    NOT NULL DEFAULT '',
    disposition     TEXT    NOT NULL DEFAULT '',
    reason          TEXT    NOT NULL DEFAULT '',
    next            TEXT    NOT NULL DEFAULT '',
    http_status     INTEGER NOT NULL DEFAULT 0,
    code            TEXT    NOT NULL DEFAULT '',
    request_id      TEXT    NOT NULL DEFAULT '',
    document        BLOB,
    document_sealed INTEGER NOT NULL DEFAULT 0,
    replayed        INTEGER NOT NULL DEFAULT 0,
    changes         INTEGER NOT NULL DEFAULT 0,
    created_at      INTEGER NOT NULL,
    finished_at     INTEGER NOT NULL DEFAULT 0,
    UNIQUE (idempotency_key, provider, account),
    UNIQUE (identity, environment, slot)
) STRICT;

-- What Drain and Sweep walk, in the order of arrival: waiting is 1 for what is queued, what a call left open, and what was
-- found to be left by a process that died. A record that is new and being sent has 0, so that the usual operation
-- never touches this index.
CREATE INDEX unavez_records_waiting ON unavez_records (provider, account, seq) WHERE waiting = 1;

-- Up to this seq every record that is open has waiting 1. Passes look for the dead beyond it and move it on.
CREATE TABLE unavez_watermark (
    seq INTEGER NOT NULL
) STRICT;

INSERT INTO unavez_watermark (seq) VALUES (0);

-- What a person decided, and the bytes that corrected ones replaced.
CREATE TABLE unavez_history (
    id          INTEGER PRIMARY KEY,
    record      INTEGER NOT NULL REFERENCES unavez_records (seq),
    at          INTEGER NOT NULL,
    state       TEXT    NOT NULL,
    fingerprint BLOB    NOT NULL,
    body        BLOB,
    body_sealed INTEGER NOT NULL DEFAULT 0,
    decided_by  TEXT    NOT NULL DEFAULT '',
    why         TEXT    NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX unavez_history_record ON unavez_history (record, id);

-- For people: readable times, and no body.
CREATE VIEW unavez_overview AS
SELECT seq, provider, account, idempotency_key, operation, state, effect, disposition, reason, next, writes,
       http_status, code, request_id, owner,
       CASE WHEN lease_until > 0 THEN datetime(lease_until / 1000000, 'unixepoch') END AS leased_until,
       CASE WHEN not_before > 0 THEN datetime(not_before / 1000000, 'unixepoch') END AS not_before,
       CASE WHEN first_sent > 0 THEN datetime(first_sent / 1000000, 'unixepoch') END AS first_sent,
       datetime(created_at / 1000000, 'unixepoch') AS created_at,
       CASE WHEN finished_at > 0 THEN datetime(finished_at / 1000000, 'unixepoch') END AS finished_at
FROM unavez_records;

INSERT INTO unavez_schema (version) VALUES (1);
