-- A bot account of ours on a surface. What it logs in with is among the platform's secrets, sealed.
CREATE TABLE connectors (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    surface         TEXT    NOT NULL,
    -- Its id there, such as @cloister:example.org.
    account         TEXT    NOT NULL,
    -- Where the surface's server is.
    address         TEXT    NOT NULL,
    -- The surface's own settings, JSON.
    settings        TEXT    NOT NULL,
    -- How far it has read; moved only after everything before it is stored.
    position        TEXT,
    added_by        TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    UNIQUE (surface, account)
) STRICT;

-- What keeps the conversations of one person together on a surface, such as a Matrix Space.
CREATE TABLE homes (
    connector_id    INTEGER NOT NULL REFERENCES connectors (id) ON DELETE CASCADE,
    user_id         INTEGER NOT NULL REFERENCES users (id),
    external_id     TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    PRIMARY KEY (connector_id, user_id)
) STRICT, WITHOUT ROWID;

-- A room, channel, thread or direct conversation that shows a chat. One without external_id is wanted and
-- not made yet.
CREATE TABLE conversations (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    connector_id    INTEGER NOT NULL REFERENCES connectors (id) ON DELETE CASCADE,
    external_id     TEXT,
    workspace_id    INTEGER NOT NULL REFERENCES workspaces (id),
    chat            INTEGER NOT NULL,
    -- room: made for this chat; door: where a person found the agent first; shared: a community's.
    kind            TEXT    NOT NULL CHECK (kind IN ('room', 'door', 'shared')),
    -- Whom it was made for.
    user_id         INTEGER REFERENCES users (id),
    -- The title and the state that the surface shows now.
    shown_title     TEXT,
    shown_archived  INTEGER NOT NULL DEFAULT 0,
    -- Why nothing can be sent there any more.
    broken          TEXT,
    last_active_at  INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    UNIQUE (connector_id, external_id)
) STRICT;
CREATE INDEX conversations_chat ON conversations (workspace_id, chat);
CREATE UNIQUE INDEX conversations_room ON conversations (connector_id, workspace_id, chat) WHERE kind = 'room';

-- The conversation a message came from, and what the surface wants to know again when it answers (a thread,
-- the message itself). Null: web or terminal.
ALTER TABLE inbox ADD COLUMN conversation INTEGER;
ALTER TABLE inbox ADD COLUMN origin TEXT;
-- The conversation that a row is told in. Null: web or terminal.
ALTER TABLE outbox ADD COLUMN conversation INTEGER;
CREATE INDEX outbox_to_send ON outbox (conversation, id) WHERE delivered_at IS NULL AND conversation IS NOT NULL;
-- Where the person was last active in a chat. Null: web or terminal.
ALTER TABLE chats ADD COLUMN last_conversation INTEGER;

-- What was posted, or is about to be: written before it is sent. The key names one message on the surface.
CREATE TABLE posts (
    conversation    INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    key             TEXT    NOT NULL,
    outbox_id       INTEGER,
    -- Null: it is not known whether it got there.
    external_id     TEXT,
    created_at      INTEGER NOT NULL,
    PRIMARY KEY (conversation, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX posts_external ON posts (conversation, external_id);

-- Who was told that they are not known, and when last.
CREATE TABLE strangers (
    surface         TEXT    NOT NULL,
    external_id     TEXT    NOT NULL,
    told_at         INTEGER NOT NULL,
    PRIMARY KEY (surface, external_id)
) STRICT, WITHOUT ROWID;
