-- A door is the one way out of a sandbox. Where a person found the agent, and sees one of their chats at a time, is a
-- lobby. SQLite changes no CHECK: the column is made anew.
DROP INDEX conversations_room;
ALTER TABLE conversations ADD COLUMN now_kind TEXT NOT NULL DEFAULT 'room'
    CHECK (now_kind IN ('room', 'lobby', 'shared'));
UPDATE conversations SET now_kind = CASE kind WHEN 'door' THEN 'lobby' ELSE kind END;
ALTER TABLE conversations DROP COLUMN kind;
ALTER TABLE conversations RENAME COLUMN now_kind TO kind;
CREATE UNIQUE INDEX conversations_room ON conversations (connector_id, workspace_id, chat) WHERE kind = 'room';

-- What was heard there is known by the conversation: what comes again after the change is no other message.
UPDATE inbox SET external_id = substr(external_id, 1, instr(external_id, ':')) || 'lobby' ||
                               substr(external_id, instr(external_id, ':') + 5)
WHERE substr(external_id, instr(external_id, ':')) GLOB ':door[0-9]*:*';
UPDATE requests SET scope = 'lobby' || substr(scope, 5) WHERE scope GLOB 'door [0-9]*';
