//! Which chats are shown where, and what of a chat is in its conversation now.

use cloister_protocol::{ChatId, UserId, WorkspaceId};

use crate::actor::Actor;
use crate::chats::Chats;
use crate::chats::{self, Chat, NewChat};
use crate::connectors::ConnectorId;
use crate::conversations::{ConversationId, ConversationKind, last_place};
use crate::error::{StoreError, Tried};
use crate::requests;

/// A chat that a surface shows, or is to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub chat: ChatId,
    pub surface: String,
    /// Whether there is a conversation already; it may still have to be made.
    pub made: bool,
}

/// What was said in a chat since it was last cleared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SinceClear {
    /// Messages that are no commands.
    pub messages: i64,
    /// Texts that begin like a command and were stored before it was kept which are.
    pub undecided: Vec<String>,
    pub cleared_at: Option<i64>,
}

/// Texts that begin like a command and were not decided, at most.
const MAX_LOOKED_AT: i64 = 1000;

impl Chats {
    /// Makes a chat, and has a connector open a room for it. The same key again answers with the chat made
    /// before, and wants no second room.
    pub async fn new_chat_with_room(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        new: impl Into<NewChat<'_>>,
        key: &str,
        (connector, user): (ConnectorId, UserId),
    ) -> Result<Chat, StoreError> {
        let now = self.store.clock.now_ms();
        // The same scope as without a room: a message opens one chat, whatever became of its conversation.
        let scope = chats::requests_of(workspace);
        let mut tx = self.store.begin().await?;
        if let Some(number) = requests::answered::<u32>(&mut tx, &scope, key).await? {
            // What is answered may have been written a moment ago: from here on it can be read.
            tx.commit().await.tried("make a chat with a room")?;
            return self.chat(workspace, ChatId::from_number(number)).await;
        }
        let number = chats::insert_chat(&mut tx, actor, workspace, new.into(), now).await?;
        sqlx::query(
            "INSERT INTO conversations (connector_id, workspace_id, chat, kind, user_id, \
             last_active_at, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
        )
        .bind(connector.number())
        .bind(workspace.number())
        .bind(number)
        .bind(ConversationKind::Room.as_str())
        .bind(user.number())
        .bind(now)
        .execute(&mut *tx)
        .await
        .tried("want a room for a chat")?;
        requests::remember(&mut tx, &scope, key, &number, now).await?;
        tx.commit().await.tried("make a chat with a room")?;
        self.chat(workspace, ChatId::from_number(number)).await
    }

    /// On which surfaces the chats of a workspace are shown.
    pub async fn shown_chats(&self, workspace: WorkspaceId) -> Result<Vec<Shown>, StoreError> {
        let rows: Vec<(u32, String, bool)> = sqlx::query_as(
            "SELECT c.chat, connectors.surface, max(c.external_id IS NOT NULL) \
             FROM conversations c JOIN connectors ON connectors.id = c.connector_id \
             WHERE c.workspace_id = ? AND c.broken IS NULL \
             GROUP BY c.chat, connectors.surface ORDER BY c.chat, connectors.surface",
        )
        .bind(workspace.number())
        .fetch_all(self.store.reader())
        .await
        .tried("list where chats are shown")?;
        let shown =
            |(chat, surface, made)| Shown { chat: ChatId::from_number(chat), surface, made };
        Ok(rows.into_iter().map(shown).collect())
    }

    /// The surface that a conversation is on.
    pub async fn surface_of(
        &self,
        conversation: ConversationId,
    ) -> Result<Option<String>, StoreError> {
        sqlx::query_scalar(
            "SELECT connectors.surface FROM conversations c \
             JOIN connectors ON connectors.id = c.connector_id WHERE c.id = ?",
        )
        .bind(conversation.number())
        .fetch_optional(self.store.reader())
        .await
        .tried("find the surface of a conversation")
    }

    /// The surface where something of a chat is told that answers nothing; none: web or terminal.
    pub async fn last_surface(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<Option<String>, StoreError> {
        sqlx::query_scalar(concat!(
            "SELECT connectors.surface FROM conversations c \
             JOIN connectors ON connectors.id = c.connector_id WHERE c.id = ",
            last_place!()
        ))
        .bind(workspace.number())
        .bind(chat.number())
        .fetch_optional(self.store.reader())
        .await
        .tried("find where a person was last active")
    }

    pub async fn since_clear(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<SinceClear, StoreError> {
        let failed = "count what is in a conversation";
        let cleared: Option<(i64, i64)> = sqlx::query_as(
            "SELECT id, received_at FROM inbox WHERE workspace_id = ? AND chat = ? \
             AND json_extract(cause, '$.cause') = 'clear' ORDER BY id DESC LIMIT 1",
        )
        .bind(workspace.number())
        .bind(chat.number())
        .fetch_optional(self.store.reader())
        .await
        .tried(failed)?;
        const SINCE: &str = "FROM inbox WHERE workspace_id = ?1 AND chat = ?2 AND id > ?3 \
             AND json_extract(cause, '$.cause') = 'message'";
        const BEGINS: &str = "trim(json_extract(cause, '$.text'))";
        let after = cleared.map_or(0, |(id, _)| id);
        let plain = format!(
            "SELECT count(*) {SINCE} AND CASE WHEN command IS NULL THEN {BEGINS} NOT GLOB '[/!]*' \
             ELSE command = 'null' END"
        );
        let messages: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(plain))
            .bind(workspace.number())
            .bind(chat.number())
            .bind(after)
            .fetch_one(self.store.reader())
            .await
            .tried(failed)?;
        let like = format!(
            "SELECT json_extract(cause, '$.text') {SINCE} AND command IS NULL AND {BEGINS} GLOB '[/!]*' LIMIT ?4"
        );
        let undecided: Vec<String> = sqlx::query_scalar(sqlx::AssertSqlSafe(like))
            .bind(workspace.number())
            .bind(chat.number())
            .bind(after)
            .bind(MAX_LOOKED_AT)
            .fetch_all(self.store.reader())
            .await
            .tried(failed)?;
        Ok(SinceClear { messages, undecided, cleared_at: cleared.map(|(_, at)| at) })
    }
}

#[cfg(test)]
#[path = "showing_tests.rs"]
mod tests;
