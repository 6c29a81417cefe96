-- What a person chose that a message of theirs does to the answer they still wait for; none: what the installation says.
ALTER TABLE users ADD COLUMN second_message TEXT;
