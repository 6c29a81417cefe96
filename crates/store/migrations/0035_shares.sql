-- Who said it: in a community each person has a share of what may wait for an answer.
ALTER TABLE inbox ADD COLUMN sender TEXT;
-- Since when a conversation shows its chat's title: what its surface tells late of an older name does not count.
ALTER TABLE conversations ADD COLUMN shown_at INTEGER;
