-- What a task does to the files of its chat is kept apart until it lands: which folders hold it, and how far that is.
CREATE TABLE layers (
    task_id      INTEGER PRIMARY KEY REFERENCES tasks (id),
    workspace_id INTEGER NOT NULL REFERENCES workspaces (id),
    chat         INTEGER NOT NULL,
    -- open, landing, landed, kept (ended without landing), joined (to that of the task above), undoing, undone, redoing, gone
    state        TEXT NOT NULL,
    -- JSON: the folders, the oldest first
    stack        TEXT NOT NULL,
    -- When it was begun, as the file system counts, in nanoseconds
    begun_ns     INTEGER NOT NULL,
    -- JSON: how the task ends once it has landed
    ending       TEXT,
    changed_at   INTEGER NOT NULL
);
CREATE INDEX layers_by_workspace ON layers (workspace_id, state);
