-- The language a person is spoken to in: what they chose, and what their surface or browser says of them.
ALTER TABLE users ADD COLUMN language TEXT;
ALTER TABLE users ADD COLUMN language_heard TEXT;
