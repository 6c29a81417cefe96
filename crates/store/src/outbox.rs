//! The outbox: everything a person is told, stored before it is sent.

use cloister_protocol::{AgentFrame, ChatId, TurnId, WorkspaceId};

use sqlx::FromRow;

use crate::audit::{self, SqliteQuery, write_entry};
use crate::beside::Deed;
use crate::conversations::{ConversationId, last_place};
use crate::db::{Follows, Outlives, Tx};
use crate::error::{StoreError, Tried, corrupt};
use crate::history::Measured;
use crate::{inbox, tasks};

#[derive(Clone, Debug)]
pub struct OutboxItem {
    pub id: i64,
    pub workspace: WorkspaceId,
    pub chat: ChatId,
    pub turn: TurnId,
    pub frame: AgentFrame,
    pub created_at: i64,
    /// Where on a surface it is told; none: web or terminal.
    pub conversation: Option<ConversationId>,
}

pub(crate) struct Row {
    id: i64,
    workspace_id: u32,
    chat: u32,
    turn: String,
    frame: String,
    created_at: i64,
    conversation: Option<i64>,
}

from_row!(Row { id, workspace_id, chat, turn, frame, created_at, conversation });

pub(crate) const SELECT: &str =
    "SELECT id, workspace_id, chat, turn, frame, created_at, conversation FROM outbox";

impl Measured for Row {
    fn number(&self) -> i64 {
        self.id
    }

    fn bytes(&self) -> usize {
        self.frame.len()
    }
}

impl Row {
    pub(crate) fn into_item(self) -> Result<OutboxItem, StoreError> {
        Ok(OutboxItem {
            id: self.id,
            workspace: WorkspaceId::from_number(self.workspace_id),
            chat: ChatId::from_number(self.chat),
            turn: TurnId::kept(self.turn),
            frame: serde_json::from_str(&self.frame).map_err(|e| corrupt("outbox frame", e))?,
            created_at: self.created_at,
            conversation: self.conversation.map(ConversationId::from_number),
        })
    }
}

/// Three statements in one trip to the writer; the second does nothing unless the first did something. Where
/// the message's conversation was forgotten since, the chat's own room is told. A cell ends what was said to it:
/// no command, and no clear. A row is what is told, if it is; the last says where the audit chain ends, and whether the
/// turn has tasks.
const END_TURN: &str = "\
    UPDATE inbox SET state = 'answered', answered_at = ?1 \
      WHERE id = ?2 AND workspace_id = ?3 AND chat = ?4 AND state <> 'answered' \
        AND (?7 = 0 OR ((command IS NULL OR command = 'null') AND source <> 'clear')); \
    INSERT INTO outbox (workspace_id, chat, turn, seq, frame, created_at, conversation) \
      SELECT ?3, ?4, ?5, (SELECT coalesce(max(seq) + 1, 0) FROM outbox \
                          WHERE workspace_id = ?3 AND turn = ?5), ?6, ?1, \
             (SELECT coalesce(c.id, r.id) FROM inbox i \
                LEFT JOIN conversations c ON c.id = i.conversation \
                LEFT JOIN conversations r ON r.workspace_id = ?3 AND r.chat = ?4 AND r.kind = 'room' \
                                         AND r.broken IS NULL \
              WHERE i.id = ?2 AND i.conversation IS NOT NULL LIMIT 1) \
      WHERE changes() = 1 AND ?6 IS NOT NULL RETURNING id, conversation, NULL, NULL; \
    SELECT w.user_id, e.seq, e.hash, EXISTS (SELECT 1 FROM tasks WHERE workspace_id = ?3 AND turn = ?5) \
      FROM workspaces w LEFT JOIN audit_entries e ON e.chain = 'u' || w.user_id WHERE w.id = ?3 \
      ORDER BY e.seq DESC LIMIT 1";

/// A row of it.
type TurnEndRow = (i64, Option<i64>, Option<Vec<u8>>, Option<i64>);

/// Appends a row. What belongs to the turn of a message is told where that was written; everything else where
/// the person was last active.
const PUSH: &str = concat!(
    "\
    INSERT INTO outbox (workspace_id, chat, turn, seq, frame, created_at, conversation) \
    SELECT ?1, ?2, ?3, coalesce(max(seq) + 1, 0), ?4, ?5, \
           CASE WHEN ?3 LIKE 't-m%' \
                THEN (SELECT coalesce(c.id, r.id) FROM inbox i \
                        LEFT JOIN conversations c ON c.id = i.conversation \
                        LEFT JOIN conversations r ON r.workspace_id = ?1 AND r.chat = ?2 \
                                                 AND r.kind = 'room' AND r.broken IS NULL \
                      WHERE i.id = CAST(substr(?3, 4) AS INTEGER) AND i.conversation IS NOT NULL LIMIT 1) \
                ELSE ",
    last_place!(),
    " END \
    FROM outbox WHERE workspace_id = ?1 AND turn = ?3 RETURNING id, conversation"
);

/// What storing the end of a turn did.
#[derive(Debug)]
pub struct TurnEnded {
    /// The row for the person; none when the turn had ended before, or has nothing to say.
    pub told: Option<OutboxItem>,
    /// A new trigger: every task of this turn had already ended.
    pub woke: Option<inbox::InboxItem>,
}

/// What a turn says at its end, and where.
#[derive(Clone)]
struct SaidAtEnd {
    chat: (WorkspaceId, ChatId),
    turn: TurnId,
    frame: Option<AgentFrame>,
    now: i64,
}

/// What is known when the end of a turn was stored.
struct AtEnd {
    told: Option<OutboxItem>,
    /// What the audit trail has of it.
    entry: Option<SqliteQuery>,
    has_tasks: bool,
}

impl SaidAtEnd {
    /// None where there is no such workspace.
    fn look_at(&self, mut rows: Vec<TurnEndRow>) -> Result<Option<AtEnd>, StoreError> {
        let Some((user, seq, hash, has_tasks)) = rows.pop() else { return Ok(None) };
        let mut found = AtEnd { told: None, entry: None, has_tasks: has_tasks == Some(1) };
        let (chat, turn, now) = (self.chat, &self.turn, self.now);
        if let (Some(&(id, conversation, ..)), Some(frame)) = (rows.first(), &self.frame) {
            let out = audit::Entry::of_cell((chat.0, None), "message.out", chat.1)
                .with(format!("{turn}, {}", audit::said(words(frame))));
            let writing = sqlx::query(write_entry!());
            found.entry = Some(audit::next_entry(writing, (user, seq, hash), now, out)?);
            found.told = Some(OutboxItem {
                id,
                workspace: chat.0,
                chat: chat.1,
                turn: turn.clone(),
                frame: frame.clone(),
                created_at: now,
                conversation: conversation.map(ConversationId::from_number),
            });
        }
        Ok(Some(found))
    }
}

/// What a frame says to a person.
fn words(frame: &AgentFrame) -> &str {
    match frame {
        AgentFrame::End(end) => &end.text,
        AgentFrame::TextChunk(chunk) => &chunk.text,
        AgentFrame::Error(error) => &error.message,
        AgentFrame::Accepted { .. }
        | AgentFrame::ToolCall(_)
        | AgentFrame::ToolResult(_)
        | AgentFrame::Update(_)
        | AgentFrame::Ask(_)
        | AgentFrame::SendFile(_) => "",
    }
}

/// One line of a chat's transcript.
#[derive(Clone, Debug, serde::Serialize)]
pub struct TranscriptLine {
    pub at: i64,
    pub from: String,
    pub text: String,
}

table! {
    /// What is to be told, and where it was.
    pub struct Outbox;
}

impl Outbox {
    /// Stores the end of the turn that an inbox row started, and marks the row as answered. Done
    /// before, it does nothing.
    pub async fn end_turn(
        &self,
        inbox_id: i64,
        chat: (WorkspaceId, ChatId),
        turn: &TurnId,
        frame: Option<&AgentFrame>,
    ) -> Result<TurnEnded, StoreError> {
        self.end(inbox_id, chat, (turn, frame), false).await
    }

    /// The same in the words of a cell. Of a row that is for the control plane itself, it does nothing.
    pub async fn end_turn_of_cell(
        &self,
        inbox_id: i64,
        chat: (WorkspaceId, ChatId),
        turn: &TurnId,
        frame: Option<&AgentFrame>,
    ) -> Result<TurnEnded, StoreError> {
        self.end(inbox_id, chat, (turn, frame), true).await
    }

    async fn end(
        &self,
        inbox_id: i64,
        chat: (WorkspaceId, ChatId),
        (turn, frame): (&TurnId, Option<&AgentFrame>),
        by_cell: bool,
    ) -> Result<TurnEnded, StoreError> {
        let now = self.store.clock.now_ms();
        let json = frame.map(serde_json::to_string).transpose();
        let json = json.map_err(|e| corrupt("outbox frame", e))?;
        let ending = move |turn: &TurnId| {
            sqlx::query(END_TURN)
                .bind(now)
                .bind(inbox_id)
                .bind(chat.0.number())
                .bind(chat.1.number())
                .bind(turn.as_str().to_owned())
                .bind(json.clone())
                .bind(by_cell)
        };
        let said = SaidAtEnd { chat, turn: turn.clone(), frame: frame.cloned(), now };
        let what = (Outlives::PowerCuts, "store the end of a turn");
        let ended = self.store.write_turn(what, ending(turn), {
            let said = said.clone();
            move |rows: Vec<TurnEndRow>| match said.look_at(rows)? {
                None => Ok((Follows::Undo, Some(None))),
                Some(AtEnd { has_tasks: true, .. }) => Ok((Follows::Undo, None)),
                Some(AtEnd { told, entry, .. }) => {
                    Ok((entry.map_or(Follows::Commit, Follows::Last), Some(told)))
                }
            }
        });
        match ended.await? {
            Some(told) => Ok(TurnEnded { told, woke: None }),
            None => self.end_with_tasks(ending(turn), &said).await,
        }
    }

    /// The end of a turn that has tasks: they may all have ended.
    async fn end_with_tasks(
        &self,
        ending: SqliteQuery,
        said: &SaidAtEnd,
    ) -> Result<TurnEnded, StoreError> {
        let mut tx = self.store.begin_turn().await?;
        let rows = ending.fetch_all(&mut *tx).await.tried("store the end of a turn")?;
        let rows = rows.iter().map(TurnEndRow::from_row).collect::<Result<_, _>>();
        let Some(AtEnd { told, entry, .. }) =
            said.look_at(rows.tried("store the end of a turn")?)?
        else {
            return Ok(TurnEnded { told: None, woke: None });
        };
        if let Some(entry) = entry {
            entry.execute(&mut *tx).await.tried("write an audit entry")?;
        }
        let woke = tasks::report_turn(&mut tx, said.chat.0, &said.turn, said.now).await?;
        tx.commit().await.tried("store the end of a turn")?;
        Ok(TurnEnded { told, woke })
    }

    /// Tells a person something once per key; none if that was done before.
    pub async fn notify(
        &self,
        chat: (WorkspaceId, ChatId),
        key: &str,
        frame: &AgentFrame,
    ) -> Result<Option<OutboxItem>, StoreError> {
        let turn = TurnId::of_notice(key);
        let mut tx = self.store.begin().await?;
        let known: bool = sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM outbox WHERE workspace_id = ? AND turn = ?)",
        )
        .bind(chat.0.number())
        .bind(turn.as_str())
        .fetch_one(&mut *tx)
        .await
        .tried("look for a notice")?;
        if known {
            return Ok(None);
        }
        let item = push(&mut tx, chat, &turn, frame, self.store.clock.now_ms()).await?;
        tx.commit().await.tried("store a notice")?;
        Ok(Some(item))
    }

    /// Rows of a chat for web and terminal that no client has been sent yet, and those that wait where nothing can
    /// be sent now.
    pub async fn undelivered(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<Vec<OutboxItem>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "{SELECT} WHERE workspace_id = ? AND chat = ? AND delivered_at IS NULL \
             AND (conversation IS NULL OR conversation IN \
                  (SELECT id FROM conversations WHERE broken IS NOT NULL)) ORDER BY id LIMIT 1000"
        )))
        .bind(workspace.number())
        .bind(chat.number())
        .fetch_all(self.store.reader())
        .await
        .tried("list what is to be sent")?;
        rows.into_iter().map(Row::into_item).collect()
    }

    /// Rows of a chat after a row that the client has.
    pub async fn outbox_after(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        after: i64,
    ) -> Result<Vec<OutboxItem>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "{SELECT} WHERE workspace_id = ? AND chat = ? AND id > ? ORDER BY id LIMIT 1000"
        )))
        .bind(workspace.number())
        .bind(chat.number())
        .bind(after)
        .fetch_all(self.store.reader())
        .await
        .tried("list what was said")?;
        rows.into_iter().map(Row::into_item).collect()
    }

    /// What a turn has told the person so far.
    pub async fn outbox_of_turn(
        &self,
        workspace: WorkspaceId,
        turn: &TurnId,
    ) -> Result<Vec<OutboxItem>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "{SELECT} WHERE workspace_id = ? AND turn = ? ORDER BY id"
        )))
        .bind(workspace.number())
        .bind(turn.as_str())
        .fetch_all(self.store.reader())
        .await
        .tried("list what a turn said")?;
        rows.into_iter().map(Row::into_item).collect()
    }

    pub async fn mark_delivered(&self, ids: &[i64]) -> Result<(), StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = match ids {
            [] => return Ok(()),
            [_] => self.store.begin_one().await?,
            _ => self.store.begin().await?,
        };
        for id in ids {
            sqlx::query("UPDATE outbox SET delivered_at = ? WHERE id = ? AND delivered_at IS NULL")
                .bind(now)
                .bind(id)
                .execute(&mut *tx)
                .await
                .tried("mark a row as sent")?;
        }
        tx.commit().await.tried("mark rows as sent")
    }

    /// A client of the web or the terminal was sent these rows. What is to be told in a conversation is delivered there,
    /// whoever else has seen it, unless nothing can be sent there now.
    pub async fn mark_shown(&self, ids: &[i64]) -> Result<(), StoreError> {
        self.store.beside.note(Deed::Shown(ids.to_vec()), "mark rows as shown").await
    }

    /// What was said in a chat, by both sides, the last `count` lines in order.
    pub async fn transcript(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        count: u32,
    ) -> Result<Vec<TranscriptLine>, StoreError> {
        let rows: Vec<(i64, String, String)> = sqlx::query_as(
            "SELECT at, who, text FROM ( \
               SELECT received_at AS at, 0 AS side, id, json_extract(cause, '$.from') AS who, \
                      json_extract(cause, '$.text') AS text \
                 FROM inbox WHERE workspace_id = ?1 AND chat = ?2 \
                  AND json_extract(cause, '$.cause') = 'message' \
               UNION ALL \
               SELECT created_at, 1, id, 'agent', json_extract(frame, '$.text') \
                 FROM outbox WHERE workspace_id = ?1 AND chat = ?2 \
                  AND json_extract(frame, '$.type') = 'end' \
               ORDER BY at DESC, side DESC, id DESC LIMIT ?3 \
             ) ORDER BY at, side, id",
        )
        .bind(workspace.number())
        .bind(chat.number())
        .bind(count)
        .fetch_all(self.store.reader())
        .await
        .tried("read a transcript")?;
        Ok(rows.into_iter().map(|(at, from, text)| TranscriptLine { at, from, text }).collect())
    }
}

/// Appends a row; its `seq` is the next of its turn.
pub(crate) async fn push(
    tx: &mut Tx,
    chat: (WorkspaceId, ChatId),
    turn: &TurnId,
    frame: &AgentFrame,
    now: i64,
) -> Result<OutboxItem, StoreError> {
    let json = serde_json::to_string(frame).map_err(|e| corrupt("outbox frame", e))?;
    let (id, conversation): (i64, Option<i64>) = sqlx::query_as(PUSH)
        .bind(chat.0.number())
        .bind(chat.1.number())
        .bind(turn.as_str())
        .bind(json)
        .bind(now)
        .fetch_one(&mut *tx)
        .await
        .tried("store what a person is told")?;
    Ok(OutboxItem {
        id,
        workspace: chat.0,
        chat: chat.1,
        turn: turn.clone(),
        frame: frame.clone(),
        created_at: now,
        conversation: conversation.map(ConversationId::from_number),
    })
}
