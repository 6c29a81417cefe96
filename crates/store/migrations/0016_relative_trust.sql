-- Trust has become relative: what a member of a community had kept in mind counts as theirs alone. Whose it is was
-- not recorded so far, so what is there is of unrecorded origin to everybody.
INSERT INTO chat_marks (workspace_id, chat, part, mark)
SELECT w.id, 0, 'files', '{"from":"unrecorded"}'
FROM workspaces w JOIN users u ON u.id = w.user_id
WHERE u.kind = 'community'
  AND NOT EXISTS (SELECT 1 FROM chat_marks c WHERE c.workspace_id = w.id AND c.chat = 0
                  AND c.part = 'files' AND c.mark = '{"from":"unrecorded"}');
