-- What a task changed in the documents that steer its agent, with what was there before: so that it can be taken back.
CREATE TABLE task_documents (
    id           INTEGER PRIMARY KEY,
    task_id      INTEGER NOT NULL REFERENCES tasks (id),
    workspace_id INTEGER NOT NULL REFERENCES workspaces (id),
    -- Below the workspace
    path         TEXT    NOT NULL,
    -- Null: there was none
    before       TEXT,
    after        TEXT    NOT NULL,
    changed_at   INTEGER NOT NULL,
    -- When it was taken back, and what that found and left; null there: no document
    undone_at    INTEGER,
    undone_from  TEXT,
    undone_to    TEXT
) STRICT;
CREATE INDEX task_documents_by_task ON task_documents (task_id);
CREATE INDEX task_documents_by_workspace ON task_documents (workspace_id, changed_at);
