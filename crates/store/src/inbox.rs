//! The inbox: everything that starts a turn, stored before it is acknowledged.

use cloister_protocol::link::Cause;
pub use cloister_protocol::surface::HeardIn;
use cloister_protocol::{ChatId, MessageId, WorkspaceId};

pub use crate::meant::{Meant, TypedCommand};

use crate::actor::Actor;
use crate::audit::{self, ChainEnd, end_of_chain, write_entry};
use crate::beside::Deed;
use crate::conversations::ConversationId;
use crate::db::{Follows, Outlives, Tx};
use crate::error::{StoreError, Tried, corrupt};
use crate::history::Measured;

/// Something to be stored.
#[derive(Clone, Debug)]
pub struct Inbound {
    /// The surface or the part of control that it came from.
    pub source: String,
    /// Unique within the source.
    pub external_id: String,
    pub workspace: WorkspaceId,
    pub chat: ChatId,
    pub cause: Cause,
    pub meant: Meant,
    /// Where on a surface it was heard; none: web, terminal, or the control plane itself.
    pub heard_in: Option<HeardIn>,
}

#[derive(Clone, Debug)]
pub struct InboxItem {
    pub id: i64,
    pub external_id: String,
    pub workspace: WorkspaceId,
    pub chat: ChatId,
    pub cause: Cause,
    pub meant: Meant,
    pub state: InboxState,
    pub received_at: i64,
    /// Where on a surface it was heard; none: web, terminal, or the control plane itself.
    pub conversation: Option<ConversationId>,
}

impl InboxItem {
    /// The name the agent knows it by.
    pub fn trigger(&self) -> Result<MessageId, StoreError> {
        trigger_id(self.id)
    }
}

pub fn trigger_id(inbox_id: i64) -> Result<MessageId, StoreError> {
    format!("m{inbox_id}").parse().map_err(|e| corrupt("inbox id", e))
}

/// The inbox row of a trigger's name, if it is one.
pub fn inbox_id(trigger: &str) -> Option<i64> {
    trigger.strip_prefix('m')?.parse().ok()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InboxState {
    Accepted,
    Journaled,
    Answered,
}

pub(crate) struct Row {
    id: i64,
    external_id: String,
    workspace_id: u32,
    chat: u32,
    cause: String,
    command: Option<String>,
    state: String,
    received_at: i64,
    conversation: Option<i64>,
}

from_row!(Row {
    id,
    external_id,
    workspace_id,
    chat,
    cause,
    command,
    state,
    received_at,
    conversation,
});

pub(crate) const SELECT: &str = "SELECT id, external_id, workspace_id, chat, cause, command, state, received_at, conversation \
     FROM inbox";

impl Measured for Row {
    fn number(&self) -> i64 {
        self.id
    }

    fn bytes(&self) -> usize {
        self.cause.len()
    }
}

impl Row {
    pub(crate) fn into_item(self) -> Result<InboxItem, StoreError> {
        let state = match self.state.as_str() {
            "accepted" => InboxState::Accepted,
            "journaled" => InboxState::Journaled,
            "answered" => InboxState::Answered,
            other => return Err(corrupt("inbox state", other)),
        };
        Ok(InboxItem {
            id: self.id,
            external_id: self.external_id,
            workspace: WorkspaceId::from_number(self.workspace_id),
            chat: ChatId::from_number(self.chat),
            cause: serde_json::from_str(&self.cause).map_err(|e| corrupt("inbox cause", e))?,
            meant: Meant::of_column(self.command.as_deref())?,
            state,
            received_at: self.received_at,
            conversation: self.conversation.map(ConversationId::from_number),
        })
    }
}

/// What became of `accept`.
#[derive(Clone, Debug)]
pub struct Accepted {
    pub item: InboxItem,
    /// It had been accepted before; nothing was stored now.
    pub duplicate: bool,
}

/// What became of a person's message.
#[derive(Clone, Debug)]
pub enum Taken {
    Stored(Box<Accepted>),
    /// Its chat is archived.
    Archived,
    /// So many messages of its workspace, or of its sender there, wait for an answer already.
    TooMany(i64),
    /// So many messages of everybody wait for an answer already.
    Full(i64),
}

/// How many unanswered messages there may be for one more to be taken.
#[derive(Clone, Copy, Debug)]
pub struct MostOpen {
    /// Of one person in a workspace.
    pub of_person: i64,
    pub in_workspace: i64,
    pub in_all: i64,
}

/// One trip to the writer, and the checks hold at that moment. A row is what was stored, if it was; the last says where
/// the audit chain ends.
const TAKE: &str = concat!(
    "\
    INSERT INTO inbox (source, external_id, workspace_id, chat, cause, state, received_at, \
                       conversation, origin, command, sender) \
    SELECT ?1, ?2, ?3, ?4, ?5, 'accepted', ?6, ?9, ?10, ?11, ?12 FROM chats \
    WHERE workspace_id = ?3 AND number = ?4 AND archived_at IS NULL \
      AND (SELECT count(*) FROM inbox WHERE workspace_id = ?3 AND state <> 'answered') < ?7 \
      AND (SELECT count(*) FROM inbox WHERE workspace_id = ?3 AND state <> 'answered' AND sender = ?12) < ?13 \
      AND (SELECT count(*) FROM inbox WHERE state <> 'answered') < ?8 \
    ON CONFLICT (source, external_id) DO NOTHING RETURNING id, NULL, NULL; ",
    end_of_chain!("?3"),
);

/// What follows from a message that was stored just now: that it came, and where its person is. What has no answer of its own goes from now on to where the person wrote last. Only what was stored just now
/// moves it, never a repetition.
const TAKEN: &str = concat!(
    "UPDATE chats SET last_conversation = ?3 \
       WHERE workspace_id = ?1 AND number = ?2 AND last_conversation IS NOT ?3; \
     UPDATE workspaces SET last_conversation = ?3 WHERE id = ?1 AND last_conversation IS NOT ?3; \
     UPDATE conversations SET last_active_at = ?4 WHERE id = ?3; ",
    write_entry!(after 4),
);

/// How many messages wait to be answered, and since when the oldest does.
#[derive(Clone, Copy, Debug)]
pub struct Backlog {
    pub open: i64,
    pub oldest_at: Option<i64>,
}

from_row!(Backlog { open, oldest_at });

table! {
    /// What came in, and what it became.
    pub struct Inbox;
}

impl Inbox {
    /// Stores an inbound item; a duplicate is found, not stored.
    pub async fn accept(&self, inbound: Inbound) -> Result<Accepted, StoreError> {
        let mut tx = self.store.begin().await?;
        let accepted = accept_in(&mut tx, inbound, self.store.clock.now_ms()).await?;
        tx.commit().await.tried("store a message")?;
        Ok(accepted)
    }

    /// Has a chat's context start anew, once per key.
    pub async fn clear(
        &self,
        actor: &Actor,
        (workspace, chat): (WorkspaceId, ChatId),
        key: &str,
    ) -> Result<(), StoreError> {
        let inbound = Inbound {
            source: "clear".to_owned(),
            external_id: format!("{workspace}:{chat}:{key}"),
            workspace,
            chat,
            cause: Cause::Clear,
            meant: Meant::Words,
            heard_in: None,
        };
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        if !accept_in(&mut tx, inbound, now).await?.duplicate {
            let entry = audit::Entry::new(actor, "chat.clear", chat).of_workspace(workspace);
            audit::record(&mut tx, now, entry).await?;
        }
        tx.commit().await.tried("clear a chat")
    }

    /// Stores a person's message, if its chat takes messages and not too many wait.
    pub async fn take_message(
        &self,
        inbound: Inbound,
        most: MostOpen,
    ) -> Result<Taken, StoreError> {
        let now = self.store.clock.now_ms();
        let cause = serde_json::to_string(&inbound.cause).map_err(|e| corrupt("inbox cause", e))?;
        let take = sqlx::query(TAKE)
            .bind(inbound.source.clone())
            .bind(inbound.external_id.clone())
            .bind(inbound.workspace.number())
            .bind(inbound.chat.number())
            .bind(cause)
            .bind(now)
            .bind(most.in_workspace)
            .bind(most.in_all)
            .bind(inbound.heard_in.as_ref().map(|heard| heard.conversation.number()))
            .bind(inbound.heard_in.as_ref().and_then(|heard| heard.origin.clone()))
            .bind(inbound.meant.column()?)
            .bind(sender(&inbound.cause).map(str::to_owned))
            .bind(most.of_person);
        let what = (Outlives::PowerCuts, "store a message");
        let taken = self.store.write_turn(what, take, move |mut rows: Vec<ChainEnd>| {
            let end = rows.pop();
            let (Some(&(id, _, _)), Some(end)) = (rows.first(), end) else {
                return Ok((Follows::Undo, Err(inbound)));
            };
            let heard = inbound.heard_in.as_ref().map(|heard| heard.conversation.number());
            let taken = sqlx::query(TAKEN)
                .bind(inbound.workspace.number())
                .bind(inbound.chat.number())
                .bind(heard)
                .bind(now);
            let taken = audit::next_entry(taken, end, now, came_in(id, &inbound))?;
            Ok((Follows::Last(taken), Ok(new_item(id, inbound, now))))
        });
        match taken.await? {
            Ok(item) => Ok(Taken::Stored(Box::new(Accepted { item, duplicate: false }))),
            Err(inbound) => self.why_not_taken(&inbound, most).await,
        }
    }

    /// What was stored from this source under this id before.
    pub async fn stored_before(
        &self,
        source: &str,
        external_id: &str,
    ) -> Result<Option<InboxItem>, StoreError> {
        let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "{SELECT} WHERE source = ? AND external_id = ?"
        )))
        .bind(source)
        .bind(external_id)
        .fetch_optional(self.store.reader())
        .await
        .tried("find a duplicate message")?;
        row.map(Row::into_item).transpose()
    }

    async fn why_not_taken(&self, inbound: &Inbound, most: MostOpen) -> Result<Taken, StoreError> {
        if let Some(item) = self.stored_before(&inbound.source, &inbound.external_id).await? {
            return Ok(Taken::Stored(Box::new(Accepted { item, duplicate: true })));
        }
        if self.store.chats().chat(inbound.workspace, inbound.chat).await?.archived {
            return Ok(Taken::Archived);
        }
        let own = self.open_in(inbound.workspace).await?;
        if own >= most.in_workspace {
            return Ok(Taken::TooMany(own));
        }
        let of_sender = self.open_of(inbound.workspace, sender(&inbound.cause)).await?;
        if of_sender >= most.of_person {
            return Ok(Taken::TooMany(of_sender));
        }
        let all = self.backlog().await?.open;
        Ok(if all >= most.in_all { Taken::Full(all) } else { Taken::TooMany(own) })
    }

    /// How many messages of one person in a workspace wait to be answered.
    async fn open_of(
        &self,
        workspace: WorkspaceId,
        sender: Option<&str>,
    ) -> Result<i64, StoreError> {
        sqlx::query_scalar(
            "SELECT count(*) FROM inbox WHERE workspace_id = ? AND state <> 'answered' AND sender = ?",
        )
        .bind(workspace.number())
        .bind(sender)
        .fetch_one(self.store.reader())
        .await
        .tried("count the open messages of a person")
    }

    /// The agent has it in its journal.
    pub async fn mark_journaled(&self, id: i64) -> Result<(), StoreError> {
        self.store.beside.note(Deed::Journaled(id), "mark a message as journaled").await
    }

    /// What a workspace still owes an answer to, oldest first.
    pub async fn unanswered(&self, workspace: WorkspaceId) -> Result<Vec<InboxItem>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "{SELECT} WHERE workspace_id = ? AND state <> 'answered' ORDER BY id LIMIT 1000"
        )))
        .bind(workspace.number())
        .fetch_all(self.store.reader())
        .await
        .tried("list unanswered messages")?;
        rows.into_iter().map(Row::into_item).collect()
    }

    /// What a chat still owes an answer to, oldest first.
    pub async fn unanswered_in(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<Vec<InboxItem>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "{SELECT} WHERE workspace_id = ? AND chat = ? AND state <> 'answered' ORDER BY id LIMIT 1000"
        )))
        .bind(workspace.number())
        .bind(chat.number())
        .fetch_all(self.store.reader())
        .await
        .tried("list unanswered messages of a chat")?;
        rows.into_iter().map(Row::into_item).collect()
    }

    /// The chats that owe somebody an answer, who has waited longest first.
    pub async fn chats_with_unanswered(&self) -> Result<Vec<(WorkspaceId, ChatId)>, StoreError> {
        let numbers: Vec<(u32, u32)> = sqlx::query_as(
            "SELECT workspace_id, chat FROM inbox WHERE state <> 'answered' \
             GROUP BY workspace_id, chat ORDER BY min(id)",
        )
        .fetch_all(self.store.reader())
        .await
        .tried("list chats with unanswered messages")?;
        let chat =
            |(workspace, chat)| (WorkspaceId::from_number(workspace), ChatId::from_number(chat));
        Ok(numbers.into_iter().map(chat).collect())
    }

    pub async fn inbox_item(&self, id: i64) -> Result<Option<InboxItem>, StoreError> {
        let row: Option<Row> =
            sqlx::query_as(sqlx::AssertSqlSafe(format!("{SELECT} WHERE id = ?")))
                .bind(id)
                .fetch_optional(self.store.reader())
                .await
                .tried("find a message")?;
        row.map(Row::into_item).transpose()
    }

    pub async fn open_in(&self, workspace: WorkspaceId) -> Result<i64, StoreError> {
        sqlx::query_scalar(
            "SELECT count(*) FROM inbox WHERE workspace_id = ? AND state <> 'answered'",
        )
        .bind(workspace.number())
        .fetch_one(self.store.reader())
        .await
        .tried("count open messages")
    }

    pub async fn backlog(&self) -> Result<Backlog, StoreError> {
        sqlx::query_as(
            "SELECT count(*) AS open, min(received_at) AS oldest_at FROM inbox WHERE state <> 'answered'",
        )
        .fetch_one(self.store.reader())
        .await
        .tried("count unanswered messages")
    }
}

/// Who said it; none: no person.
fn sender(cause: &Cause) -> Option<&str> {
    match cause {
        Cause::Message { from, .. } => Some(from),
        Cause::TasksEnded { .. } | Cause::Clear => None,
    }
}

/// What the audit trail has of a person's message that was stored.
fn came_in(id: i64, inbound: &Inbound) -> audit::Entry {
    let (from, text) = match &inbound.cause {
        Cause::Message { from, text, .. } => (from.as_str(), text.as_str()),
        Cause::TasksEnded { .. } | Cause::Clear => ("nobody", ""),
    };
    let (source, said) = (&inbound.source, audit::said(text));
    audit::Entry::new(&Actor::person(from), "message.in", inbound.chat)
        .with(format!("m{id} by {source}, {said}"))
        .of_workspace(inbound.workspace)
}

fn new_item(id: i64, inbound: Inbound, now: i64) -> InboxItem {
    InboxItem {
        id,
        external_id: inbound.external_id,
        workspace: inbound.workspace,
        chat: inbound.chat,
        cause: inbound.cause,
        meant: inbound.meant,
        state: InboxState::Accepted,
        received_at: now,
        conversation: inbound.heard_in.map(|heard| heard.conversation),
    }
}

pub(crate) async fn accept_in(
    tx: &mut Tx,
    inbound: Inbound,
    now: i64,
) -> Result<Accepted, StoreError> {
    let cause = serde_json::to_string(&inbound.cause).map_err(|e| corrupt("inbox cause", e))?;
    let inserted: Option<i64> = sqlx::query_scalar(
        "INSERT INTO inbox (source, external_id, workspace_id, chat, cause, state, received_at, \
                            conversation, origin, command) \
         VALUES (?, ?, ?, ?, ?, 'accepted', ?, ?, ?, ?) \
         ON CONFLICT (source, external_id) DO NOTHING RETURNING id",
    )
    .bind(&inbound.source)
    .bind(&inbound.external_id)
    .bind(inbound.workspace.number())
    .bind(inbound.chat.number())
    .bind(cause)
    .bind(now)
    .bind(inbound.heard_in.as_ref().map(|heard| heard.conversation.number()))
    .bind(inbound.heard_in.as_ref().and_then(|heard| heard.origin.as_deref()))
    .bind(inbound.meant.column()?)
    .fetch_optional(&mut *tx)
    .await
    .tried("store a message")?;
    if let Some(id) = inserted {
        return Ok(Accepted { item: new_item(id, inbound, now), duplicate: false });
    }
    let row: Row = sqlx::query_as(sqlx::AssertSqlSafe(format!(
        "{SELECT} WHERE source = ? AND external_id = ?"
    )))
    .bind(&inbound.source)
    .bind(&inbound.external_id)
    .fetch_one(&mut *tx)
    .await
    .tried("find a duplicate message")?;
    Ok(Accepted { item: row.into_item()?, duplicate: true })
}

#[cfg(test)]
#[path = "inbox_tests.rs"]
mod tests;
