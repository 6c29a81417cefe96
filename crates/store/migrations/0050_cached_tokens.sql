-- How many of the prompt tokens a provider did not read anew, because it had kept the beginning of an earlier prompt;
-- they are part of prompt_tokens. Nothing where a provider does not say it.
ALTER TABLE usage ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE own_usage ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0;
