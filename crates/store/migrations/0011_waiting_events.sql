-- Events on a surface that could not be taken yet: their key has not come, too much waits already, a file is
-- to be fetched. They are taken later, in the order in which they came.
CREATE TABLE waiting_events (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    connector_id    INTEGER NOT NULL REFERENCES connectors (id) ON DELETE CASCADE,
    -- The surface's own ids of the room and of the event.
    place           TEXT    NOT NULL,
    event           TEXT    NOT NULL,
    why             TEXT    NOT NULL CHECK (why IN ('key', 'busy', 'file')),
    -- The event as it came, if it is encrypted; what can be read is not kept twice.
    sealed          TEXT,
    since           INTEGER NOT NULL,
    -- Whether the person knows.
    told            INTEGER NOT NULL DEFAULT 0,
    UNIQUE (connector_id, place, event)
) STRICT;
