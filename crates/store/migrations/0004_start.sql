-- When the guided start was first offered to a user; 0: they have used or skipped it.
ALTER TABLE users ADD COLUMN start_offered_at INTEGER;
