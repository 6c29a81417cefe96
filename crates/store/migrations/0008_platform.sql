-- Emergency stops. At most one is open, and while it is, nothing runs: also after a restart.
CREATE TABLE stops (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    stopped_by      TEXT    NOT NULL,
    reason          TEXT    NOT NULL,
    stopped_at      INTEGER NOT NULL,
    released_by     TEXT,
    released_at     INTEGER,
    CHECK ((released_by IS NULL) = (released_at IS NULL))
) STRICT;

CREATE UNIQUE INDEX one_open_stop ON stops ((released_at IS NULL)) WHERE released_at IS NULL;
