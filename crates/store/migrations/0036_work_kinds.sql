-- The chain of a kind of work that is no level's own, in order; without rows its level's serves it.
CREATE TABLE kind_chains (
    kind            TEXT    NOT NULL CHECK (kind IN ('summarise', 'research', 'vision')),
    position        INTEGER NOT NULL,
    model           TEXT    NOT NULL,
    PRIMARY KEY (kind, position)
) STRICT;

-- Models that people may choose without being anybody's fallback.
CREATE TABLE offered_models (
    model           TEXT    PRIMARY KEY
) STRICT;

-- The model that answers first in a chat of a workspace, and for which kind of work; chat 0 is all of them, and no
-- kind is every kind.
CREATE TABLE model_choices_by_kind (
    workspace_id    INTEGER NOT NULL REFERENCES workspaces (id),
    chat            INTEGER NOT NULL,
    kind            TEXT    NOT NULL,
    model           TEXT    NOT NULL,
    PRIMARY KEY (workspace_id, chat, kind)
) STRICT;
INSERT INTO model_choices_by_kind (workspace_id, chat, kind, model)
SELECT workspace_id, chat, '', model FROM model_choices;
DROP TABLE model_choices;
ALTER TABLE model_choices_by_kind RENAME TO model_choices;
