-- Messages that take the place of earlier ones (an edited question, an answer asked for again) are found without reading
-- the whole chat.
CREATE INDEX inbox_instead ON inbox (workspace_id, chat, id) WHERE json_extract(cause, '$.instead') IS NOT NULL;
