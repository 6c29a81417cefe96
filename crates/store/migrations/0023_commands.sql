-- Whether a message is a command, as it was decided when it came in: {"name":…,"rest":…}, or null where it is words for
-- the agent. Without a value: it was stored before that was kept.
ALTER TABLE inbox ADD COLUMN command TEXT;
