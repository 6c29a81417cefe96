-- A button on a message of ours. The surface is handed a token, and gives it back when it is pressed; only
-- its hash is kept.
CREATE TABLE buttons (
    hash            TEXT    PRIMARY KEY,
    -- Where it can be pressed, and nowhere else.
    conversation    INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    -- Who alone may press it. Null: whoever the policies let.
    user_id         INTEGER REFERENCES users (id),
    -- What pressing it does, JSON.
    press           TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL,
    used_at         INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX buttons_conversation ON buttons (conversation, created_at);
CREATE INDEX buttons_expiry ON buttons (expires_at);

-- Where the person of a private workspace was last active in any of its chats. Null: web or terminal.
ALTER TABLE workspaces ADD COLUMN last_conversation INTEGER;
UPDATE workspaces SET last_conversation =
    (SELECT conversation FROM inbox WHERE inbox.workspace_id = workspaces.id
       AND json_extract(inbox.cause, '$.cause') = 'message' ORDER BY inbox.id DESC LIMIT 1);
