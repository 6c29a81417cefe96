-- How many bits a task, with those below it, has chosen by itself in what it asked a host for. Restarting or
-- parking it changes nothing about what that host has been told.
CREATE TABLE task_choices (
    task_id         INTEGER NOT NULL REFERENCES tasks (id),
    host            TEXT    NOT NULL,
    bits            INTEGER NOT NULL,
    PRIMARY KEY (task_id, host)
) STRICT, WITHOUT ROWID;

-- Where a host was found (a JSON list of addresses) when a task wanted something there that people are asked about:
-- what they allow goes to these, whatever the name leads to later.
CREATE TABLE task_addresses (
    task_id         INTEGER NOT NULL REFERENCES tasks (id),
    host            TEXT    NOT NULL,
    addresses       TEXT    NOT NULL,
    -- Whether a person is shown them; otherwise they were looked up after the answer.
    shown           INTEGER NOT NULL,
    PRIMARY KEY (task_id, host)
) STRICT, WITHOUT ROWID;
