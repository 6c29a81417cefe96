-- Models that people connect for themselves. The key is sealed under its owner's data key, like their secrets.
CREATE TABLE own_models (
    user_id             INTEGER NOT NULL REFERENCES users (id),
    name                TEXT    NOT NULL,
    base_url            TEXT    NOT NULL,
    model               TEXT    NOT NULL,
    -- Nano-dollars per token.
    prompt_price        INTEGER NOT NULL,
    completion_price    INTEGER NOT NULL,
    max_output_tokens   INTEGER NOT NULL,
    profile             TEXT    NOT NULL,
    settings            TEXT    NOT NULL,
    sealed              BLOB,
    created_at          INTEGER NOT NULL,
    PRIMARY KEY (user_id, name)
) STRICT;

-- What was used of them: the person pays, no budget of the platform does.
CREATE TABLE own_usage (
    user_id             INTEGER NOT NULL REFERENCES users (id),
    day                 TEXT    NOT NULL,
    level               TEXT    NOT NULL,
    model               TEXT    NOT NULL,
    calls               INTEGER NOT NULL,
    prompt_tokens       INTEGER NOT NULL,
    completion_tokens   INTEGER NOT NULL,
    cost                INTEGER NOT NULL,
    PRIMARY KEY (user_id, day, level, model)
) STRICT;

-- 1: of a model of the person's own.
ALTER TABLE reservations ADD COLUMN own INTEGER NOT NULL DEFAULT 0;
