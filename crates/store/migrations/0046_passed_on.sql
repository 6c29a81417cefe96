-- Whether a message passes on what others wrote; null: its words were not looked at yet. As long as it is in a chat's
-- history, it counts for all that is begun there.
ALTER TABLE inbox ADD COLUMN passes_on INTEGER;
