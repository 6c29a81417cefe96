//! A chat as people read it: what they said and what they were told, page by page from the newest.

use std::ops::Range;

use cloister_protocol::link::Cause;
use cloister_protocol::{ChatId, TurnId, WorkspaceId};

use crate::error::{StoreError, Tried};
use crate::inbox::Inbox;
use crate::inbox::{self, InboxItem};
use crate::outbox::{self, OutboxItem};

/// How much of what was said, and of what was told, a page has room for; what is longer stands on it alone.
const PAGE_BYTES: usize = 1 << 20;
/// How many rows are read at a time: each may be as long as a message may be.
const BATCH: usize = 25;

/// Where a page ends: everything older has a smaller id in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub inbox: i64,
    pub outbox: i64,
}

impl Cursor {
    /// Before everything that will ever be said.
    pub const NEWEST: Self = Self { inbox: i64::MAX, outbox: i64::MAX };
}

#[derive(Clone, Debug)]
pub enum Entry {
    /// A person's message.
    Said(InboxItem),
    /// Something they were told.
    Told(OutboxItem),
}

/// A page of a chat, oldest entry first.
#[derive(Clone, Debug)]
pub struct HistoryPage {
    pub entries: Vec<Entry>,
    /// Where the next older page begins; none if this is the oldest.
    pub older: Option<Cursor>,
}

impl Inbox {
    /// The newest `count` entries of a chat before `cursor`.
    pub async fn history(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        cursor: Cursor,
        count: usize,
    ) -> Result<HistoryPage, StoreError> {
        let place = (workspace, chat);
        let said = format!(
            "{} WHERE workspace_id = ? AND chat = ? AND id < ? \
             AND json_extract(cause, '$.cause') = 'message' ORDER BY id DESC LIMIT ?",
            inbox::SELECT
        );
        let told = format!(
            "{} WHERE workspace_id = ? AND chat = ? AND id < ? ORDER BY id DESC LIMIT ?",
            outbox::SELECT
        );
        let said: NewestRows<inbox::Row> = self.newest_of(said, place, cursor.inbox, count).await?;
        let told: NewestRows<outbox::Row> =
            self.newest_of(told, place, cursor.outbox, count).await?;
        let (said_cut, told_cut) = (said.cut, told.cut);
        let said: Result<Vec<_>, _> = said.rows.into_iter().map(inbox::Row::into_item).collect();
        let told: Result<Vec<_>, _> = told.rows.into_iter().map(outbox::Row::into_item).collect();
        Ok(newest((said?, said_cut), (told?, told_cut), cursor, count))
    }

    /// The newest rows of one table, as many as a page can need and no more than it has room for.
    async fn newest_of<R>(
        &self,
        query: String,
        (workspace, chat): (WorkspaceId, ChatId),
        before: i64,
        count: usize,
    ) -> Result<NewestRows<R>, StoreError>
    where
        R: Measured + for<'r> sqlx::FromRow<'r, sqlx::sqlite::SqliteRow> + Send + Unpin + 'static,
    {
        let (mut rows, mut before, mut bytes): (Vec<R>, _, _) = (Vec::new(), before, 0);
        while rows.len() <= count {
            let limit = (count + 1 - rows.len()).min(BATCH);
            let batch: Vec<R> = sqlx::query_as(sqlx::AssertSqlSafe(query.clone()))
                .bind(workspace.number())
                .bind(chat.number())
                .bind(before)
                .bind(i64::try_from(limit).unwrap_or(i64::MAX))
                .fetch_all(self.store.reader())
                .await
                .tried("read what was said and told in a chat")?;
            let is_last = batch.len() < limit;
            for row in batch {
                // The newest is shown however long it is.
                if bytes > PAGE_BYTES {
                    return Ok(NewestRows { rows, cut: true });
                }
                bytes += row.bytes();
                before = row.number();
                rows.push(row);
            }
            if is_last {
                break;
            }
        }
        Ok(NewestRows { rows, cut: false })
    }

    /// The message of this chat with this number in the inbox.
    pub async fn said(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        id: i64,
    ) -> Result<Option<InboxItem>, StoreError> {
        let item = self.inbox_item(id).await?;
        Ok(item.filter(|item| {
            item.workspace == workspace
                && item.chat == chat
                && matches!(item.cause, Cause::Message { .. })
        }))
    }

    /// Whether somebody else has written in a chat since a message.
    pub async fn others_since(
        &self,
        (workspace, chat): (WorkspaceId, ChatId),
        row: i64,
        person: &str,
    ) -> Result<bool, StoreError> {
        sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM inbox WHERE workspace_id = ? AND chat = ? AND id > ? \
             AND json_extract(cause, '$.cause') = 'message' AND json_extract(cause, '$.from') <> ?)",
        )
        .bind(workspace.number())
        .bind(chat.number())
        .bind(row)
        .bind(person)
        .fetch_one(self.store.reader())
        .await
        .tried("find out who has written since a message")
    }

    /// What was taken the place of in a chat, oldest first: from which row of the inbox on, and before which.
    pub async fn replaced(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<Vec<Range<i64>>, StoreError> {
        let rows: Vec<(i64, String)> = sqlx::query_as(
            "SELECT id, json_extract(cause, '$.instead') FROM inbox \
             WHERE workspace_id = ? AND chat = ? AND json_extract(cause, '$.instead') IS NOT NULL ORDER BY id",
        )
        .bind(workspace.number())
        .bind(chat.number())
        .fetch_all(self.store.reader())
        .await
        .tried("find what was taken the place of in a chat")?;
        let range = |(id, turn)| Some(TurnId::kept(turn).message()?..id);
        Ok(rows.into_iter().filter_map(range).collect())
    }

    /// The newest row that this chat has been told.
    pub async fn last_told(&self, workspace: WorkspaceId, chat: ChatId) -> Result<i64, StoreError> {
        sqlx::query_scalar(
            "SELECT coalesce(max(id), 0) FROM outbox WHERE workspace_id = ? AND chat = ?",
        )
        .bind(workspace.number())
        .bind(chat.number())
        .fetch_one(self.store.reader())
        .await
        .tried("find the newest row of a chat")
    }
}

/// The newest rows of one table.
struct NewestRows<R> {
    rows: Vec<R>,
    /// There are older ones, which the page has no room for.
    cut: bool,
}

/// A row that takes room on a page.
pub(crate) trait Measured {
    fn number(&self) -> i64;
    fn bytes(&self) -> usize;
}

/// Merges two lists, each newest first, down to where the first that was cut ends. Each keeps its own order, so that
/// the cursor loses nothing even where the clock went back.
fn newest(
    (said, said_cut): (Vec<InboxItem>, bool),
    (told, told_cut): (Vec<OutboxItem>, bool),
    mut cursor: Cursor,
    count: usize,
) -> HistoryPage {
    let mut said = said.into_iter().peekable();
    let mut told = told.into_iter().peekable();
    let mut entries = Vec::with_capacity(count);
    while entries.len() < count {
        let from_inbox = match (said.peek(), told.peek()) {
            // What stands next in the other list is not known.
            (None, _) if said_cut => break,
            (_, None) if told_cut => break,
            // In the same millisecond, the answer came after the question.
            (Some(said), Some(told)) => said.received_at > told.created_at,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => break,
        };
        if from_inbox {
            entries.extend(said.next().inspect(|item| cursor.inbox = item.id).map(Entry::Said));
        } else {
            entries.extend(told.next().inspect(|item| cursor.outbox = item.id).map(Entry::Told));
        }
    }
    let more = said_cut || told_cut || said.peek().is_some() || told.peek().is_some();
    entries.reverse();
    HistoryPage { entries, older: more.then_some(cursor) }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
