-- Machines that people administer from. A row stays when its client is revoked: its number is never reused.
CREATE TABLE clients (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id         INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name            TEXT    NOT NULL,
    enrolled_at     INTEGER NOT NULL,
    renewed_at      INTEGER NOT NULL,
    -- Of its newest certificate, and the root that issued it.
    expires_at      INTEGER NOT NULL,
    root            INTEGER NOT NULL,
    revoked_at      INTEGER
) STRICT;

-- Invitations for one machine each. Only a hash of the secret is kept.
CREATE TABLE client_invitations (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id         INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    secret_hash     TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL,
    used_at         INTEGER,
    wrong_tries     INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Sessions that a client opened end with it.
ALTER TABLE tokens ADD COLUMN client_id INTEGER REFERENCES clients (id);
CREATE INDEX tokens_client ON tokens (client_id) WHERE client_id IS NOT NULL;
