-- The model that answers first in a chat of a workspace; chat 0 is all of them.
CREATE TABLE model_choices (
    workspace_id    INTEGER NOT NULL REFERENCES workspaces (id),
    chat            INTEGER NOT NULL,
    model           TEXT    NOT NULL,
    PRIMARY KEY (workspace_id, chat)
) STRICT;
