-- unavez journal, version 1, for PostgreSQL 12 or newer.
-- Times are microseconds since 1970-01-01 UTC by the clock of the database; 0 means "none".

-- One row for each version that was applied.
CREATE TABLE unavez_schema (
    version    integer NOT NULL PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- One row for each key of a provider's account. The first record of an identity, the caller's name for the thing at
-- whatever provider, takes slot 0 and so is the only one that needs no look around: two providers that begin one
-- identity at once meet in the unique constraint.
CREATE TABLE unavez_records (
    seq             bigint   GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    provider        text     NOT NULL,
    account         text     NOT NULL,
    idempotency_key text     NOT NULL,
    environment     text     NOT NULL,
    identity        text     NOT NULL,
    slot            integer  NOT NULL,
    operation       text     NOT NULL,
    method          text     NOT NULL,
    path            text     NOT NULL,
    body            bytea,
    body_sealed     smallint NOT NULL DEFAULT 0,
    proof           text     NOT NULL,
    fingerprint     bytea    NOT NULL,
    state           text     NOT NULL, -- queued, open, done, refused or review; a CHECK would be parsed again for every statement
    waiting         smallint NOT NULL,
    owner           text     NOT NULL DEFAULT '',
    lease_until     bigint   NOT NULL DEFAULT 0,
    not_before      bigint   NOT NULL DEFAULT 0,
    first_sent      bigint   NOT NULL DEFAULT 0,
    writes          bigint   NOT NULL DEFAULT 0,
    effect          text     NOT NULL DEFAULT '',
    disposition     text     NOT NULL DEFAULT '',
    reason          text     NOT NULL DEFAULT '',
    next            text     NOT NULL DEFAULT '',
    http_status     integer  NOT NULL DEFAULT 0,
    code            text     NOT NULL DEFAULT '',
    request_id      text     NOT NULL DEFAULT '',
    document        bytea,
    document_sealed smallint NOT NULL DEFAULT 0,
    replayed        smallint NOT NULL DEFAULT 0,
    changes         bigint   NOT NULL DEFAULT 0,
    created_at      bigint   NOT NULL,
    finished_at     bigint   NOT NULL DEFAULT 0,
    UNIQUE (idempotency_key, provider, account),
    UNIQUE (identity, environment, slot)
) WITH (fillfactor = 80);

-- What Drain and Sweep walk, in the order of arrival: waiting is 1 for what is queued, what a call left open, and what was
-- found to be left by a process that died. A record that is new and being sent has 0, so that the usual operation
-- never touches this index.
CREATE INDEX unavez_records_waiting ON unavez_records (provider, account, seq) WHERE waiting = 1;

-- Up to this seq every record that is open has waiting 1. Passes look for the dead beyond it and move it on.
CREATE TABLE unavez_watermark (
    seq bigint NOT NULL
);

INSERT INTO unavez_watermark (seq) VALUES (0);

-- What a person decided, and the bytes that corrected ones replaced.
CREATE TABLE unavez_history (
    id          bigint   GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    record      bigint   NOT NULL REFERENCES unavez_records (seq),
    at          bigint   NOT NULL,
    state       text     NOT NULL,
    fingerprint bytea    NOT NULL,
    body        bytea,
    body_sealed smallint NOT NULL DEFAULT 0,
    decided_by  text     NOT NULL DEFAULT '',
    why         text     NOT NULL DEFAULT ''
);

CREATE INDEX unavez_history_record ON unavez_history (record, id);

-- For people: readable times, and no body.
CREATE VIEW unavez_overview AS
SELECT seq, provider, account, idempotency_key, operation, state, effect, disposition, reason, next, writes,
       http_status, code, request_id, owner,
       CASE WHEN lease_until > 0 THEN to_timestamp(lease_until / 1000000.0) END AS leased_until,
       CASE WHEN not_before > 0 THEN to_timestamp(not_before / 1000000.0) END AS not_before,
       CASE WHEN first_sent > 0 THEN to_timestamp(first_sent / 1000000.0) END AS first_sent,
       to_timestamp(created_at / 1000000.0) AS created_at,
       CASE WHEN finished_at > 0 THEN to_timestamp(finished_at / 1000000.0) END AS finished_at
FROM unavez_records;

INSERT INTO unavez_schema (version) VALUES (1);
