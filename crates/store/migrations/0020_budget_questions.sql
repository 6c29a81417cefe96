-- At a limit a person is asked for more: what a yes to the question raises, and by how much.
ALTER TABLE approvals ADD COLUMN raise_task INTEGER REFERENCES tasks (id);
ALTER TABLE approvals ADD COLUMN raise_day TEXT;
ALTER TABLE approvals ADD COLUMN raise_by INTEGER;

-- Tasks that wait for an answer to something that is not asked for them alone.
CREATE TABLE approval_waits (
    approval_id     INTEGER NOT NULL REFERENCES approvals (id) ON DELETE CASCADE,
    task_id         INTEGER NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (approval_id, task_id)
) STRICT, WITHOUT ROWID;

-- What a user may spend on one day beyond their limit, each by somebody's answer.
CREATE TABLE budget_extra (
    user_id         INTEGER NOT NULL REFERENCES users (id),
    day             TEXT    NOT NULL,
    approval_id     INTEGER NOT NULL REFERENCES approvals (id) ON DELETE CASCADE,
    amount          INTEGER NOT NULL,
    PRIMARY KEY (user_id, day, approval_id)
) STRICT, WITHOUT ROWID;
