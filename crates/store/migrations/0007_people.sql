-- A community has its own account: limits, budget, allowlist, secrets and audit chain as a user has, and
-- nobody who could log in as it.
ALTER TABLE users ADD COLUMN kind TEXT NOT NULL DEFAULT 'person' CHECK (kind IN ('person', 'community'));

-- An account of a person on a surface. The id there is the identity; the name shown there is decoration.
CREATE TABLE identities (
    surface         TEXT    NOT NULL,
    external_id     TEXT    NOT NULL,
    user_id         INTEGER NOT NULL REFERENCES users (id),
    display_name    TEXT    NOT NULL,
    linked_by       TEXT    NOT NULL,
    linked_at       INTEGER NOT NULL,
    PRIMARY KEY (surface, external_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX identities_user ON identities (user_id);

-- Who holds which role where. A scope is text in policy's syntax; one that can't be read gives nothing.
CREATE TABLE roles (
    user_id         INTEGER NOT NULL REFERENCES users (id),
    role            TEXT    NOT NULL,
    scope           TEXT    NOT NULL,
    given_by        TEXT    NOT NULL,
    given_at        INTEGER NOT NULL,
    PRIMARY KEY (user_id, role, scope)
) STRICT, WITHOUT ROWID;
CREATE INDEX roles_scope ON roles (scope, role);
INSERT INTO roles (user_id, role, scope, given_by, given_at)
    SELECT user_id, 'member', 'workspace:w' || id, 'cloister', created_at FROM workspaces;
INSERT INTO roles (user_id, role, scope, given_by, given_at)
    SELECT id, 'overlord', 'platform', 'cloister', created_at FROM users WHERE id = 1;

-- Codes that wait to be entered by who may link; kept as hashes, gone when used or expired.
CREATE TABLE pairing_codes (
    hash            TEXT    PRIMARY KEY,
    surface         TEXT    NOT NULL,
    external_id     TEXT    NOT NULL,
    display_name    TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX pairing_codes_identity ON pairing_codes (surface, external_id, created_at);

-- Policy boundaries inside of a workspace. The one named 'workspace' is around all others; lists are JSON,
-- and null is no limit of its own.
CREATE TABLE contexts (
    workspace_id    INTEGER NOT NULL REFERENCES workspaces (id),
    name            TEXT    NOT NULL,
    inherits        TEXT    NOT NULL,
    prompt          TEXT    NOT NULL,
    tools           TEXT,
    models          TEXT,
    skills          TEXT,
    -- The room, channel, thread or direct conversation it is, if it is one.
    surface         TEXT,
    conversation    TEXT,
    chat            INTEGER,
    created_at      INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, name),
    UNIQUE (surface, conversation)
) STRICT;

-- The context a chat is in; null: the workspace as a whole.
ALTER TABLE chats ADD COLUMN context TEXT;
