-- Approvals are plans, effects and proposals. What was asked before was a plan.
CREATE TABLE approvals_general (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    workspace_id    INTEGER NOT NULL REFERENCES workspaces (id),
    chat            INTEGER NOT NULL,
    -- Null: the coordinator itself asks.
    task_id         INTEGER REFERENCES tasks (id),
    -- Whom the asker works for.
    user_id         INTEGER NOT NULL REFERENCES users (id),
    kind            TEXT    NOT NULL CHECK (kind IN ('plan', 'effect', 'proposal')),
    -- Of exactly what was asked; an answer is bound to it.
    digest          TEXT    NOT NULL,
    class           TEXT    NOT NULL,
    reason          TEXT    NOT NULL,
    sources         TEXT    NOT NULL,
    people          INTEGER NOT NULL,
    offered         TEXT    NOT NULL,
    title           TEXT    NOT NULL,
    text            TEXT    NOT NULL,
    -- What a grant would cover, in words and, for "always", as a template; the host it is about.
    describes       TEXT    NOT NULL DEFAULT '',
    template        TEXT,
    host            TEXT,
    -- The call of the task's ledger that waits for it.
    call_id         TEXT,
    -- What is written when it is allowed, and when it was.
    proposal        TEXT,
    applied_at      INTEGER,
    state           TEXT    NOT NULL CHECK (state IN ('pending', 'allowed', 'denied', 'void')),
    answered_by     TEXT,
    asked_at        INTEGER NOT NULL,
    answered_at     INTEGER
) STRICT;
INSERT INTO approvals_general (id, workspace_id, chat, task_id, user_id, kind, digest, class, reason, sources,
    people, offered, title, text, state, answered_by, asked_at, answered_at)
  SELECT a.id, a.workspace_id, a.chat, a.task_id, w.user_id, 'plan', a.text_hash, 'middle',
         'a plan is put to you before anything is changed', '[]', 1, '["allow","deny","deny_and_stop"]',
         a.title, a.text, a.state, a.answered_by, a.asked_at, a.answered_at
    FROM approvals a JOIN workspaces w ON w.id = a.workspace_id;
DROP TABLE approvals;
ALTER TABLE approvals_general RENAME TO approvals;
CREATE INDEX approvals_pending ON approvals (workspace_id, id) WHERE state = 'pending';
CREATE INDEX approvals_task ON approvals (task_id, digest);
CREATE INDEX approvals_unapplied ON approvals (id)
    WHERE kind = 'proposal' AND state = 'allowed' AND applied_at IS NULL;

-- One answer of each person.
CREATE TABLE approval_answers (
    approval_id     INTEGER NOT NULL REFERENCES approvals (id) ON DELETE CASCADE,
    user_id         INTEGER NOT NULL REFERENCES users (id),
    answer          TEXT    NOT NULL,
    at              INTEGER NOT NULL,
    PRIMARY KEY (approval_id, user_id)
) STRICT, WITHOUT ROWID;

-- Remembered permissions: each is one person's answer, and covers what that person saw.
CREATE TABLE grants (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id         INTEGER NOT NULL REFERENCES users (id),
    workspace_id    INTEGER NOT NULL REFERENCES workspaces (id),
    reach           TEXT    NOT NULL CHECK (reach IN ('once', 'task', 'always')),
    task_id         INTEGER REFERENCES tasks (id),
    digest          TEXT    NOT NULL,
    template        TEXT,
    describes       TEXT    NOT NULL,
    approval_id     INTEGER NOT NULL REFERENCES approvals (id) ON DELETE CASCADE,
    given_by        TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    -- Used up, revoked, or its task has ended.
    ended_at        INTEGER,
    ended_by        TEXT
) STRICT;
CREATE INDEX grants_live ON grants (workspace_id, id) WHERE ended_at IS NULL;
CREATE INDEX grants_task ON grants (task_id) WHERE task_id IS NOT NULL;

-- Where content came from. Marks are policy's, as JSON text; rows are only ever added.
CREATE TABLE task_marks (
    task_id         INTEGER NOT NULL REFERENCES tasks (id),
    mark            TEXT    NOT NULL,
    PRIMARY KEY (task_id, mark)
) STRICT, WITHOUT ROWID;
-- Of the files of a chat, and of its history: what was said in it since it was last cleared. Chat 0 stands for
-- what every chat of the workspace reads, such as its memory.
CREATE TABLE chat_marks (
    workspace_id    INTEGER NOT NULL REFERENCES workspaces (id),
    chat            INTEGER NOT NULL,
    part            TEXT    NOT NULL CHECK (part IN ('files', 'history')),
    mark            TEXT    NOT NULL,
    PRIMARY KEY (workspace_id, chat, part, mark)
) STRICT, WITHOUT ROWID;
-- The links that stood in content which a task was handed, and the hosts that it may go back to.
CREATE TABLE task_links (
    task_id         INTEGER NOT NULL REFERENCES tasks (id),
    link            TEXT    NOT NULL,
    PRIMARY KEY (task_id, link)
) STRICT, WITHOUT ROWID;
CREATE TABLE task_hosts (
    task_id         INTEGER NOT NULL REFERENCES tasks (id),
    host            TEXT    NOT NULL,
    PRIMARY KEY (task_id, host)
) STRICT, WITHOUT ROWID;

-- What ran before marks were recorded could have come from anywhere.
INSERT INTO task_marks (task_id, mark)
  SELECT id, '{"from":"unrecorded"}' FROM tasks;
INSERT INTO chat_marks (workspace_id, chat, part, mark)
  SELECT workspace_id, number, part, '{"from":"unrecorded"}'
    FROM chats CROSS JOIN (SELECT 'files' AS part UNION ALL SELECT 'history');

-- A task's own list of secrets (JSON), which narrows the user's; null: all of the user's.
ALTER TABLE tasks ADD COLUMN secrets TEXT;
-- Whom the task works for; null: whoever the workspace belongs to.
ALTER TABLE tasks ADD COLUMN person INTEGER REFERENCES users (id) ON DELETE SET NULL;
