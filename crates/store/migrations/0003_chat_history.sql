-- A chat's page reads its newest messages, however many the inbox has.
CREATE INDEX inbox_chat ON inbox (workspace_id, chat, id);
