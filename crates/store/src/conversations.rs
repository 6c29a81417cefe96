//! Conversations: which room, channel, thread or direct conversation shows which chat.

pub use cloister_protocol::surface::{
    Conversation, ConversationId, ConversationKind, NewConversation, ToMend,
};
use cloister_protocol::{ChatId, UserId, WorkspaceId};
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row as _};

use crate::connectors::ConnectorId;
use crate::db::Tx;
use crate::error::{StoreError, Tried, corrupt};
use crate::inbox::HeardIn;

struct Row {
    id: i64,
    connector_id: i64,
    external_id: Option<String>,
    workspace_id: u32,
    chat: u32,
    kind: String,
    user_id: Option<u32>,
    shown_title: Option<String>,
    shown_archived: bool,
    broken: Option<String>,
}

from_row!(Row {
    id,
    connector_id,
    external_id,
    workspace_id,
    chat,
    kind,
    user_id,
    shown_title,
    shown_archived,
    broken,
});

struct MendRow {
    row: Row,
    title: String,
    archived: bool,
}

impl FromRow<'_, SqliteRow> for MendRow {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            row: Row::from_row(row)?,
            title: row.try_get("title")?,
            archived: row.try_get("archived")?,
        })
    }
}

impl Row {
    fn into_conversation(self) -> Result<Conversation, StoreError> {
        let kind = ConversationKind::ALL.into_iter().find(|kind| kind.as_str() == self.kind);
        Ok(Conversation {
            id: ConversationId::from_number(self.id),
            connector: ConnectorId::from_number(self.connector_id),
            external_id: self.external_id,
            workspace: WorkspaceId::from_number(self.workspace_id),
            chat: ChatId::from_number(self.chat),
            kind: kind.ok_or_else(|| corrupt("kind of conversation", &self.kind))?,
            user: self.user_id.map(UserId::from_number),
            shown_title: self.shown_title,
            shown_archived: self.shown_archived,
            broken: self.broken,
        })
    }
}

const COLUMNS: &str = "c.id, c.connector_id, c.external_id, c.workspace_id, c.chat, c.kind, c.user_id, \
     c.shown_title, c.shown_archived, c.broken";

table! {
    /// Conversations on surfaces, and the connectors they are of.
    pub struct Conversations;
}

impl Conversations {
    /// Whether a conversation on a surface shows a chat of a workspace.
    pub async fn is_shown_on(
        &self,
        surface: &str,
        workspace: WorkspaceId,
    ) -> Result<bool, StoreError> {
        sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM conversations c JOIN connectors k ON k.id = c.connector_id \
             WHERE k.surface = ? AND c.workspace_id = ?)",
        )
        .bind(surface)
        .bind(workspace.number())
        .fetch_one(self.store.reader())
        .await
        .tried("look where a workspace is shown")
    }

    /// Puts a conversation in place. A chat has one room per connector, and a room one chat: what is there is
    /// answered with, and gets the external id if it had none.
    pub async fn put_conversation(
        &self,
        new: &NewConversation,
    ) -> Result<Conversation, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let there = existing(&mut tx, new).await?;
        let id = match there {
            Some(id) => {
                sqlx::query(
                    "UPDATE conversations SET external_id = coalesce(external_id, ?2), broken = NULL \
                     WHERE id = ?1",
                )
                .bind(id)
                .bind(&new.external_id)
                .execute(&mut *tx)
                .await
                .tried("keep a conversation")?;
                id
            }
            None => insert(&mut tx, new, now).await?,
        };
        let query = format!("SELECT {COLUMNS} FROM conversations c WHERE id = ?");
        let row: Row = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(id)
            .fetch_one(&mut *tx)
            .await
            .tried("keep a conversation")?;
        tx.commit().await.tried("keep a conversation")?;
        row.into_conversation()
    }

    /// Wants a room for every chat of a person that is not archived and has none, on one connector.
    pub async fn want_rooms(
        &self,
        connector: ConnectorId,
        user: UserId,
        workspace: WorkspaceId,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.begin_one().await?;
        sqlx::query(
            "INSERT INTO conversations (connector_id, workspace_id, chat, kind, user_id, last_active_at, \
                                        created_at) \
             SELECT ?1, chats.workspace_id, chats.number, 'room', ?2, ?4, ?4 FROM chats \
             WHERE chats.workspace_id = ?3 AND chats.archived_at IS NULL AND chats.context IS NULL \
               AND NOT EXISTS (SELECT 1 FROM conversations c WHERE c.connector_id = ?1 AND c.kind = 'room' \
                               AND c.workspace_id = chats.workspace_id AND c.chat = chats.number)",
        )
        .bind(connector.number())
        .bind(user.number())
        .bind(workspace.number())
        .bind(self.store.clock.now_ms())
        .execute(&mut *tx)
        .await
        .tried("want rooms")?;
        tx.commit().await.tried("want rooms")
    }

    pub async fn conversation(
        &self,
        connector: ConnectorId,
        external_id: &str,
    ) -> Result<Option<Conversation>, StoreError> {
        let query = format!(
            "SELECT {COLUMNS} FROM conversations c WHERE connector_id = ? AND external_id = ?"
        );
        let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(connector.number())
            .bind(external_id)
            .fetch_optional(self.store.reader())
            .await
            .tried("find a conversation")?;
        row.map(Row::into_conversation).transpose()
    }

    pub async fn conversation_by_id(
        &self,
        id: ConversationId,
    ) -> Result<Option<Conversation>, StoreError> {
        let query = format!("SELECT {COLUMNS} FROM conversations c WHERE id = ?");
        let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(id.number())
            .fetch_optional(self.store.reader())
            .await
            .tried("find a conversation")?;
        row.map(Row::into_conversation).transpose()
    }

    /// The room that was made for a chat on a connector, or is to be.
    pub async fn room_of_chat(
        &self,
        connector: ConnectorId,
        (workspace, chat): (WorkspaceId, ChatId),
    ) -> Result<Option<Conversation>, StoreError> {
        let query = format!(
            "SELECT {COLUMNS} FROM conversations c WHERE connector_id = ? AND workspace_id = ? AND chat = ? \
             AND kind = 'room'"
        );
        let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(connector.number())
            .bind(workspace.number())
            .bind(chat.number())
            .fetch_optional(self.store.reader())
            .await
            .tried("find the room of a chat")?;
        row.map(Row::into_conversation).transpose()
    }

    pub async fn of(&self, connector: ConnectorId) -> Result<Vec<Conversation>, StoreError> {
        let query =
            format!("SELECT {COLUMNS} FROM conversations c WHERE connector_id = ? ORDER BY id");
        let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(connector.number())
            .fetch_all(self.store.reader())
            .await
            .tried("list conversations")?;
        rows.into_iter().map(Row::into_conversation).collect()
    }

    /// When something was last heard in each conversation of a connector, in Unix milliseconds: from then on
    /// something may have been missed.
    pub async fn last_heard(
        &self,
        connector: ConnectorId,
    ) -> Result<Vec<(String, i64)>, StoreError> {
        sqlx::query_as(
            "SELECT c.external_id, coalesce(max(i.received_at), c.created_at) FROM conversations c \
             LEFT JOIN inbox i ON i.workspace_id = c.workspace_id AND i.chat = c.chat \
               AND i.conversation = c.id \
             WHERE c.connector_id = ? AND c.external_id IS NOT NULL GROUP BY c.id ORDER BY c.id",
        )
        .bind(connector.number())
        .fetch_all(self.store.reader())
        .await
        .tried("find when conversations were last heard")
    }

    /// Rooms whose chat is not shown as it is.
    pub async fn conversations_to_mend(
        &self,
        connector: ConnectorId,
    ) -> Result<Vec<ToMend>, StoreError> {
        let query = format!(
            "SELECT {COLUMNS}, chats.title AS title, chats.archived_at IS NOT NULL AS archived \
             FROM conversations c JOIN chats ON chats.workspace_id = c.workspace_id \
               AND chats.number = c.chat \
             WHERE c.connector_id = ? AND c.kind = 'room' AND c.broken IS NULL \
               AND (c.external_id IS NULL AND chats.archived_at IS NULL \
                 OR c.external_id IS NOT NULL AND (c.shown_title IS NOT chats.title \
                   OR c.shown_archived <> (chats.archived_at IS NOT NULL))) ORDER BY c.id"
        );
        let rows: Vec<MendRow> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(connector.number())
            .fetch_all(self.store.reader())
            .await
            .tried("list conversations to mend")?;
        let mend = |found: MendRow| {
            let conversation = found.row.into_conversation()?;
            Ok(ToMend { conversation, title: found.title, archived: found.archived })
        };
        rows.into_iter().map(mend).collect()
    }

    /// The surface shows the chat so from now on.
    pub async fn set_shown(
        &self,
        id: ConversationId,
        title: &str,
        archived: bool,
    ) -> Result<(), StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin_one().await?;
        sqlx::query(
            "UPDATE conversations SET shown_title = ?, shown_archived = ?, shown_at = ? WHERE id = ?",
        )
        .bind(title)
        .bind(archived)
        .bind(now)
        .bind(id.number())
        .execute(&mut *tx)
        .await
        .tried("keep what a conversation shows")?;
        tx.commit().await.tried("keep what a conversation shows")
    }

    /// Whether a conversation was named before it was made to show the title that it shows now.
    pub async fn was_shown_after(
        &self,
        id: ConversationId,
        named_at: i64,
    ) -> Result<bool, StoreError> {
        let shown_at: Option<Option<i64>> =
            sqlx::query_scalar("SELECT shown_at FROM conversations WHERE id = ?")
                .bind(id.number())
                .fetch_optional(self.store.reader())
                .await
                .tried("look when a title was shown")?;
        Ok(shown_at.flatten().is_some_and(|shown_at| named_at < shown_at))
    }

    /// Nothing can be sent there any more, or (none) it can again.
    pub async fn set_broken(
        &self,
        id: ConversationId,
        why: Option<&str>,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.begin_one().await?;
        sqlx::query("UPDATE conversations SET broken = ? WHERE id = ?")
            .bind(why)
            .bind(id.number())
            .execute(&mut *tx)
            .await
            .tried("mark a conversation")?;
        tx.commit().await.tried("mark a conversation")
    }
}

async fn existing(tx: &mut Tx, new: &NewConversation) -> Result<Option<i64>, StoreError> {
    let found: Option<i64> = sqlx::query_scalar(
        "SELECT id FROM conversations WHERE connector_id = ?1 AND (external_id = ?2 \
         OR ?5 = 'room' AND kind = 'room' AND workspace_id = ?3 AND chat = ?4) \
         ORDER BY external_id IS NOT ?2 LIMIT 1",
    )
    .bind(new.connector.number())
    .bind(&new.external_id)
    .bind(new.chat.0.number())
    .bind(new.chat.1.number())
    .bind(new.kind.as_str())
    .fetch_optional(&mut *tx)
    .await
    .tried("find a conversation")?;
    Ok(found)
}

pub(crate) async fn insert(
    tx: &mut Tx,
    new: &NewConversation,
    now: i64,
) -> Result<i64, StoreError> {
    sqlx::query_scalar(
        "INSERT INTO conversations (connector_id, external_id, workspace_id, chat, kind, user_id, \
         last_active_at, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7) RETURNING id",
    )
    .bind(new.connector.number())
    .bind(&new.external_id)
    .bind(new.chat.0.number())
    .bind(new.chat.1.number())
    .bind(new.kind.as_str())
    .bind(new.user.map(UserId::number))
    .bind(now)
    .fetch_one(&mut *tx)
    .await
    .tried("keep a conversation")
}

/// A new chat is to be shown wherever its person has a home.
pub(crate) async fn want_in_every_home(
    tx: &mut Tx,
    (workspace, chat): (WorkspaceId, u32),
    now: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO conversations (connector_id, workspace_id, chat, kind, user_id, last_active_at, \
                                    created_at) \
         SELECT homes.connector_id, ?1, ?2, 'room', homes.user_id, ?3, ?3 \
         FROM homes JOIN workspaces ON workspaces.user_id = homes.user_id WHERE workspaces.id = ?1 \
         ON CONFLICT DO NOTHING",
    )
    .bind(workspace.number())
    .bind(chat)
    .bind(now)
    .execute(&mut *tx)
    .await
    .tried("want rooms for a chat")?;
    Ok(())
}

/// Where something of a chat (?2 of the workspace ?1) is told that answers nothing. For a private workspace that
/// is the connector where its person was last active in any chat, or another if nothing of that is left: the
/// conversation there that shows this one, or else a lobby. Who was last active on the web sees everything there:
/// what they used for this chat before is told as well. A community is told where this chat was last spoken in.
/// Where nothing can be sent now, and there is nothing else, it waits until something can.
macro_rules! last_place {
    () => {
        "coalesce( \
           (SELECT c.id FROM workspaces w JOIN users u ON u.id = w.user_id AND u.kind = 'person' \
              LEFT JOIN conversations l ON l.id = w.last_conversation \
              JOIN conversations c ON c.workspace_id = w.id AND (c.chat = ?2 OR c.kind = 'lobby') \
                AND c.external_id IS NOT NULL \
            WHERE w.id = ?1 AND w.last_conversation IS NOT NULL \
            ORDER BY c.broken IS NULL DESC, c.connector_id IS l.connector_id DESC, c.chat = ?2 DESC, c.id IS l.id DESC, \
                     c.last_active_at DESC LIMIT 1), \
           (SELECT c.id FROM chats JOIN conversations c ON c.id = chats.last_conversation \
            WHERE chats.workspace_id = ?1 AND chats.number = ?2))"
    };
}
pub(crate) use last_place;

/// Where the person was last active, for something of a chat; with what an earlier message of that conversation had the
/// surface remember, so that what it led to is told in the same thread.
pub(crate) async fn last_active(
    tx: &mut Tx,
    chat: (WorkspaceId, ChatId),
    earlier_inbox_id: i64,
) -> Result<Option<HeardIn>, StoreError> {
    let found: Option<(i64, Option<String>)> = sqlx::query_as(concat!(
        "SELECT c.id, (SELECT origin FROM inbox WHERE id = ?3 AND conversation = c.id) \
         FROM conversations c WHERE c.id = ",
        last_place!()
    ))
    .bind(chat.0.number())
    .bind(chat.1.number())
    .bind(earlier_inbox_id)
    .fetch_optional(&mut *tx)
    .await
    .tried("find where a person was last active")?;
    Ok(found.map(|(id, origin)| HeardIn { conversation: ConversationId::from_number(id), origin }))
}

#[cfg(test)]
#[path = "conversations_tests.rs"]
mod tests;
