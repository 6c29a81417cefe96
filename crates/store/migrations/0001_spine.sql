-- Times are milliseconds since 1970 (UTC). Money is in nano-dollars. Ids that people see carry their
-- letter only outside the database.

CREATE TABLE users (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    name            TEXT    NOT NULL UNIQUE,
    created_at      INTEGER NOT NULL,
    quota_bytes     INTEGER NOT NULL,
    max_executors   INTEGER NOT NULL,
    daily_budget    INTEGER NOT NULL,
    task_budget     INTEGER NOT NULL
) STRICT;

-- One private workspace per user; its chats are numbered by next_chat, which only grows.
CREATE TABLE workspaces (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id         INTEGER NOT NULL UNIQUE REFERENCES users (id),
    next_chat       INTEGER NOT NULL DEFAULT 1,
    over_quota      INTEGER NOT NULL DEFAULT 0,
    -- When a task of it was last started: the queue serves who has waited longest.
    task_started_at INTEGER NOT NULL DEFAULT 0,
    created_at      INTEGER NOT NULL
) STRICT;

CREATE TABLE chats (
    workspace_id    INTEGER NOT NULL REFERENCES workspaces (id),
    number          INTEGER NOT NULL,
    title           TEXT    NOT NULL,
    archived_at     INTEGER,
    created_at      INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, number)
) STRICT;

-- Everything that starts a turn. (source, external_id) is unique: a duplicate is dropped here.
CREATE TABLE inbox (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    source          TEXT    NOT NULL,
    external_id     TEXT    NOT NULL,
    workspace_id    INTEGER NOT NULL REFERENCES workspaces (id),
    chat            INTEGER NOT NULL,
    cause           TEXT    NOT NULL,
    -- accepted: stored here; journaled: in the chat's journal; answered: its end is in the outbox.
    state           TEXT    NOT NULL CHECK (state IN ('accepted', 'journaled', 'answered')),
    received_at     INTEGER NOT NULL,
    answered_at     INTEGER,
    UNIQUE (source, external_id)
) STRICT;
CREATE INDEX inbox_open ON inbox (workspace_id, id) WHERE state <> 'answered';

-- Everything a person is told. (workspace, turn, seq) is unique: nothing is said twice.
CREATE TABLE outbox (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    workspace_id    INTEGER NOT NULL REFERENCES workspaces (id),
    chat            INTEGER NOT NULL,
    turn            TEXT    NOT NULL,
    seq             INTEGER NOT NULL,
    frame           TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    delivered_at    INTEGER,
    UNIQUE (workspace_id, turn, seq)
) STRICT;
CREATE INDEX outbox_chat ON outbox (workspace_id, chat, id);
CREATE INDEX outbox_waiting ON outbox (workspace_id, chat, id) WHERE delivered_at IS NULL;

CREATE TABLE tasks (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    workspace_id    INTEGER NOT NULL REFERENCES workspaces (id),
    chat            INTEGER NOT NULL,
    parent_id       INTEGER REFERENCES tasks (id),
    depth           INTEGER NOT NULL,
    -- The turn that asked for it: its tasks are reported together.
    turn            TEXT    NOT NULL,
    title           TEXT    NOT NULL,
    instructions    TEXT    NOT NULL,
    request         TEXT    NOT NULL,
    files           TEXT    NOT NULL,
    plan_first      INTEGER NOT NULL,
    state           TEXT    NOT NULL
        CHECK (state IN ('queued', 'running', 'waiting', 'done', 'failed', 'cancelled')),
    attempts        INTEGER NOT NULL DEFAULT 0,
    result          TEXT    NOT NULL DEFAULT '',
    not_shown       TEXT    NOT NULL DEFAULT '[]',
    budget          INTEGER NOT NULL,
    spent           INTEGER NOT NULL DEFAULT 0,
    created_at      INTEGER NOT NULL,
    started_at      INTEGER,
    ended_at        INTEGER,
    -- The person has been (or is being) told of the end: a trigger for it is in the inbox.
    reported        INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX tasks_open ON tasks (state, id) WHERE state IN ('queued', 'running', 'waiting');
CREATE INDEX tasks_turn ON tasks (workspace_id, turn);
CREATE INDEX tasks_parent ON tasks (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX tasks_chat ON tasks (workspace_id, chat, id);

-- The ledger of a task: append-only.
CREATE TABLE task_steps (
    task_id         INTEGER NOT NULL REFERENCES tasks (id),
    seq             INTEGER NOT NULL,
    step            TEXT    NOT NULL,
    at              INTEGER NOT NULL,
    PRIMARY KEY (task_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE approvals (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    workspace_id    INTEGER NOT NULL REFERENCES workspaces (id),
    chat            INTEGER NOT NULL,
    task_id         INTEGER NOT NULL REFERENCES tasks (id),
    title           TEXT    NOT NULL,
    -- What exactly was asked; the answer is bound to its hash.
    text            TEXT    NOT NULL,
    text_hash       TEXT    NOT NULL,
    state           TEXT    NOT NULL CHECK (state IN ('pending', 'allowed', 'denied', 'void')),
    answered_by     TEXT,
    asked_at        INTEGER NOT NULL,
    answered_at     INTEGER,
    UNIQUE (task_id, text_hash)
) STRICT;
CREATE INDEX approvals_pending ON approvals (workspace_id, id) WHERE state = 'pending';

-- Requests of agents that had an effect, with what was answered: the same id again gets the same answer.
CREATE TABLE requests (
    scope           TEXT    NOT NULL,
    id              TEXT    NOT NULL,
    reply           TEXT    NOT NULL,
    at              INTEGER NOT NULL,
    PRIMARY KEY (scope, id)
) STRICT, WITHOUT ROWID;

-- Files as they were when they were sent; the bytes are in the object store.
CREATE TABLE artifacts (
    id              TEXT    PRIMARY KEY,
    workspace_id    INTEGER NOT NULL REFERENCES workspaces (id),
    name            TEXT    NOT NULL,
    mime            TEXT    NOT NULL,
    size            INTEGER NOT NULL,
    created_at      INTEGER NOT NULL
) STRICT;

CREATE TABLE models (
    name                TEXT    PRIMARY KEY,
    base_url            TEXT    NOT NULL,
    model               TEXT    NOT NULL,
    -- Where the key is, never the key: '' | 'env:VAR' | 'file:NAME'.
    key_ref             TEXT    NOT NULL,
    -- Nano-dollars per token.
    prompt_price        INTEGER NOT NULL,
    completion_price    INTEGER NOT NULL,
    max_output_tokens   INTEGER NOT NULL,
    created_at          INTEGER NOT NULL
) STRICT;

-- The chain of each level, in order.
CREATE TABLE model_chains (
    level           TEXT    NOT NULL CHECK (level IN ('coordinator', 'executor')),
    position        INTEGER NOT NULL,
    model           TEXT    NOT NULL,
    PRIMARY KEY (level, position)
) STRICT;

CREATE TABLE usage (
    user_id             INTEGER NOT NULL REFERENCES users (id),
    day                 TEXT    NOT NULL,
    level               TEXT    NOT NULL,
    model               TEXT    NOT NULL,
    calls               INTEGER NOT NULL,
    prompt_tokens       INTEGER NOT NULL,
    completion_tokens   INTEGER NOT NULL,
    cost                INTEGER NOT NULL,
    PRIMARY KEY (user_id, day, level, model)
) STRICT;

-- What model calls under way may still cost. A row that outlives its call is settled at its full
-- amount when the control plane starts again: spending is never under-counted.
CREATE TABLE reservations (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id         INTEGER NOT NULL REFERENCES users (id),
    task_id         INTEGER REFERENCES tasks (id),
    day             TEXT    NOT NULL,
    level           TEXT    NOT NULL,
    model           TEXT    NOT NULL,
    amount          INTEGER NOT NULL,
    created_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX reservations_user ON reservations (user_id, day);

-- Tokens are kept as hashes.
CREATE TABLE tokens (
    hash            TEXT    PRIMARY KEY,
    kind            TEXT    NOT NULL CHECK (kind IN ('session', 'login')),
    user_id         INTEGER NOT NULL REFERENCES users (id),
    expires_at      INTEGER NOT NULL,
    used_at         INTEGER,
    created_at      INTEGER NOT NULL
) STRICT;

CREATE TABLE audit (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    at              INTEGER NOT NULL,
    actor           TEXT    NOT NULL,
    action          TEXT    NOT NULL,
    subject         TEXT    NOT NULL,
    detail          TEXT    NOT NULL
) STRICT;
