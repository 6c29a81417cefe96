-- What was found out about a model by trying it, and what the operator says of it: objects of JSON, read and written
-- whole. Empty: it was never tried, and nothing was said.
ALTER TABLE models ADD COLUMN profile TEXT NOT NULL DEFAULT '{}';
ALTER TABLE models ADD COLUMN settings TEXT NOT NULL DEFAULT '{}';
