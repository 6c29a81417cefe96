-- A chat that began as a branch of another, and the last row of the inbox that it began with: what stands up to there is
-- a copy of what was said and told in the other.
ALTER TABLE chats ADD COLUMN branched_from INTEGER;
ALTER TABLE chats ADD COLUMN began_with INTEGER;
