-- The agents of a workspace beside its first one, number 1, which has no row: who that is say the workspace's own files.
-- A number is given to nobody else; what was removed is kept, and can be taken back.
CREATE TABLE agents (
    workspace_id    INTEGER NOT NULL REFERENCES workspaces (id),
    number          INTEGER NOT NULL CHECK (number > 1),
    name            TEXT    NOT NULL,
    -- The name without capital letters, in any script.
    folded          TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    removed_at      INTEGER,
    PRIMARY KEY (workspace_id, number)
) STRICT;
CREATE UNIQUE INDEX agents_by_name ON agents (workspace_id, folded) WHERE removed_at IS NULL;

-- Which agent of its workspace answers in a chat.
ALTER TABLE chats ADD COLUMN agent INTEGER NOT NULL DEFAULT 1;

-- The model that answers first in a chat, or in all chats of an agent (chat 0), and for which kind of work; no kind is
-- every kind.
CREATE TABLE model_choices_by_agent (
    workspace_id    INTEGER NOT NULL REFERENCES workspaces (id),
    agent           INTEGER NOT NULL,
    chat            INTEGER NOT NULL,
    kind            TEXT    NOT NULL,
    model           TEXT    NOT NULL,
    PRIMARY KEY (workspace_id, agent, chat, kind)
) STRICT;
INSERT INTO model_choices_by_agent (workspace_id, agent, chat, kind, model)
SELECT workspace_id, 1, chat, kind, model FROM model_choices;
DROP TABLE model_choices;
ALTER TABLE model_choices_by_agent RENAME TO model_choices;
