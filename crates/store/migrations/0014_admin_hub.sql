-- The one conversation of a connector where operators are told things. Null, or one that is gone: there is none.
ALTER TABLE connectors ADD COLUMN admin_hub INTEGER;
-- Up to which row of the outbox it was looked for what staff and the agent said to each other.
ALTER TABLE connectors ADD COLUMN mirrored_to INTEGER NOT NULL DEFAULT 0;
-- What operators were told is wrong with it; null: it works, as far as they know.
ALTER TABLE connectors ADD COLUMN trouble_told TEXT;

-- Who was told that what they say with the agent is shown in an admin hub, and when. What was said before that
-- is shown to nobody.
CREATE TABLE mirror_told (
    -- The admin hub.
    conversation    INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    user_id         INTEGER NOT NULL REFERENCES users (id),
    told_at         INTEGER NOT NULL,
    PRIMARY KEY (conversation, user_id)
) STRICT, WITHOUT ROWID;

-- Whose words a row of the outbox holds that is told in an admin hub: it goes when they are erased.
CREATE TABLE mirrors (
    outbox_id       INTEGER PRIMARY KEY REFERENCES outbox (id) ON DELETE CASCADE,
    user_id         INTEGER NOT NULL REFERENCES users (id)
) STRICT;
