-- When people were told that what a task did can't be taken back much longer.
CREATE TABLE undo_notices (
    task_id INTEGER PRIMARY KEY REFERENCES tasks (id),
    told_at INTEGER NOT NULL
) STRICT;

-- Files of chats that were put away because nobody used them. The file of a row lies in `retired/`, under the row's id.
CREATE TABLE retired_files (
    id           INTEGER PRIMARY KEY,
    workspace_id INTEGER NOT NULL REFERENCES workspaces (id),
    chat         INTEGER NOT NULL,
    -- Below the chat
    path         TEXT    NOT NULL,
    size         INTEGER NOT NULL,
    retired_at   INTEGER NOT NULL,
    -- moving, kept, gone
    state        TEXT    NOT NULL
) STRICT;
CREATE INDEX retired_files_by_chat ON retired_files (workspace_id, chat, id);
CREATE INDEX retired_files_open ON retired_files (state, id) WHERE state <> 'gone';
