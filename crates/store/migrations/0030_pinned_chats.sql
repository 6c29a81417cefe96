-- Chats that a person keeps at the top of their list.
ALTER TABLE chats ADD COLUMN pinned_at INTEGER;
