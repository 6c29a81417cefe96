-- What a person is called, in any script; empty: by their name.
ALTER TABLE users ADD COLUMN display_name TEXT NOT NULL DEFAULT '';
