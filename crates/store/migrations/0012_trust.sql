-- What must not be forgotten for words to stay between those they are for.

-- Places on surfaces that were encrypted once. There is no way back, whatever a server says later.
CREATE TABLE encrypted_places (
    surface         TEXT    NOT NULL,
    -- The surface's own id.
    place           TEXT    NOT NULL,
    since           INTEGER NOT NULL,
    PRIMARY KEY (surface, place)
) STRICT, WITHOUT ROWID;

-- Events that were refused for who wrote them: they are not taken when they come again.
CREATE TABLE refused_events (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    connector_id    INTEGER NOT NULL REFERENCES connectors (id) ON DELETE CASCADE,
    -- The surface's own id.
    event           TEXT    NOT NULL,
    UNIQUE (connector_id, event)
) STRICT;
