-- The audit chain. What was recorded before it is taken into the platform's chain when the database is opened.
ALTER TABLE audit RENAME TO audit_unchained;

-- One row per entry of a chain ('platform' or a user's id). The names (actor, subject) and the detail can be
-- erased: the chain is over their salted hashes, and stays whole.
CREATE TABLE audit_entries (
    id              INTEGER PRIMARY KEY,
    chain           TEXT    NOT NULL,
    seq             INTEGER NOT NULL,
    at              INTEGER NOT NULL,
    action          TEXT    NOT NULL,
    actor           TEXT,
    subject         TEXT,
    names_salt      BLOB,
    names_hash      BLOB    NOT NULL,
    detail          TEXT,
    detail_salt     BLOB,
    detail_hash     BLOB    NOT NULL,
    prev            BLOB    NOT NULL,
    hash            BLOB    NOT NULL,
    UNIQUE (chain, seq)
) STRICT;

-- How far each chain is in segments.
CREATE TABLE audit_chains (
    chain           TEXT    PRIMARY KEY,
    sealed_to       INTEGER NOT NULL DEFAULT 0,
    segments        INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- Segments: planned before the file is written, written after it is on disk.
CREATE TABLE audit_segments (
    chain           TEXT    NOT NULL,
    number          INTEGER NOT NULL,
    first           INTEGER NOT NULL,
    last            INTEGER NOT NULL,
    written         INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (chain, number)
) STRICT, WITHOUT ROWID;

-- Checkpoints that are in the file, and the newest entry each looked at.
CREATE TABLE audit_checkpoints (
    number          INTEGER PRIMARY KEY,
    hash            BLOB    NOT NULL,
    last_entry      INTEGER NOT NULL,
    at              INTEGER NOT NULL
) STRICT;

-- Which checkpoint each witness has last confirmed.
CREATE TABLE audit_witnesses (
    name            TEXT    PRIMARY KEY,
    number          INTEGER NOT NULL,
    at              INTEGER NOT NULL
) STRICT;

-- Redactions that are done here and not yet in every segment.
CREATE TABLE audit_redactions (
    id              INTEGER PRIMARY KEY,
    chain           TEXT    NOT NULL,
    extent          TEXT    NOT NULL CHECK (extent IN ('detail', 'all')),
    ranges          TEXT    NOT NULL
) STRICT;

-- The master keys that data keys are sealed under: their ids, never the keys.
CREATE TABLE master_keys (
    id              TEXT    PRIMARY KEY,
    state           TEXT    NOT NULL CHECK (state IN ('current', 'incoming', 'retired')),
    created_at      INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX master_keys_current ON master_keys (state) WHERE state <> 'retired';

-- One data key per owner ('platform' or a user's id), sealed under a master key.
CREATE TABLE data_keys (
    owner           TEXT    PRIMARY KEY,
    master          TEXT    NOT NULL REFERENCES master_keys (id),
    sealed          BLOB    NOT NULL,
    created_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX data_keys_master ON data_keys (master);

-- Versions of secrets; values are sealed, and bound to all else in their row. The newest is in use, those
-- before it until they expire.
CREATE TABLE secrets (
    owner           TEXT    NOT NULL REFERENCES data_keys (owner),
    name            TEXT    NOT NULL,
    version         INTEGER NOT NULL,
    binding         TEXT    NOT NULL,
    sealed          BLOB    NOT NULL,
    set_by          TEXT    NOT NULL,
    set_at          INTEGER NOT NULL,
    expires_at      INTEGER,
    PRIMARY KEY (owner, name, version)
) STRICT, WITHOUT ROWID;
-- The next version of each name, which only grows: a version is never used twice.
CREATE TABLE secret_names (
    owner           TEXT    NOT NULL,
    name            TEXT    NOT NULL,
    next_version    INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;
