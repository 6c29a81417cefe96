-- Where a user's executors may go. A rule is text in policy's syntax; one that can't be read allows nothing.
CREATE TABLE egress_rules (
    user_id         INTEGER NOT NULL REFERENCES users (id),
    rule            TEXT    NOT NULL,
    added_by        TEXT    NOT NULL,
    added_at        INTEGER NOT NULL,
    PRIMARY KEY (user_id, rule)
) STRICT, WITHOUT ROWID;

-- What went over the network, per user, day and host.
CREATE TABLE egress_usage (
    user_id         INTEGER NOT NULL REFERENCES users (id),
    day             TEXT    NOT NULL,
    host            TEXT    NOT NULL,
    requests        INTEGER NOT NULL,
    bytes_out       INTEGER NOT NULL,
    bytes_in        INTEGER NOT NULL,
    PRIMARY KEY (user_id, day, host)
) STRICT, WITHOUT ROWID;

-- A task's own list of rules (JSON), which narrows the user's; null: all of the user's.
ALTER TABLE tasks ADD COLUMN hosts TEXT;
