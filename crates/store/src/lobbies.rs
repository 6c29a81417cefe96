//! Which chat a conversation shows, where people change that themselves: lobbies that are turned to another
//! chat, topics and threads that people open, and the names they give them.

use cloister_protocol::{ChatId, UserId, WorkspaceId};

use crate::actor::Actor;
use crate::chats::Chats;
use crate::chats::{self, Chat, NewChat};
use crate::connectors::ConnectorId;
use crate::conversations::{self, Conversation, ConversationId, ConversationKind, NewConversation};
use crate::db::Tx;
use crate::error::{StoreError, Tried, not_found};
use crate::{audit, requests};

/// A topic or thread, as the surface names it.
#[derive(Clone, Copy, Debug)]
pub struct Thread<'a> {
    pub connector: ConnectorId,
    pub external_id: &'a str,
    pub title: &'a str,
}

impl Chats {
    /// Turns a lobby to another chat of its workspace, once per key.
    pub async fn show_in_lobby(
        &self,
        lobby: ConversationId,
        chat: ChatId,
        key: &str,
    ) -> Result<(), StoreError> {
        let what = "turn a lobby to a chat";
        let scope = format!("lobby {}", lobby.number());
        let mut tx = self.store.begin().await?;
        if requests::answered::<u32>(&mut tx, &scope, key).await?.is_some() {
            return tx.commit().await.tried(what);
        }
        turn_lobby(&mut tx, lobby, chat.number()).await?;
        requests::remember(&mut tx, &scope, key, &chat.number(), self.store.clock.now_ms()).await?;
        tx.commit().await.tried(what)
    }

    /// Makes a chat and turns a lobby to it. The same key again answers with the chat made before, and leaves
    /// the lobby as it is.
    pub async fn new_chat_in_lobby(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        new: impl Into<NewChat<'_>>,
        key: &str,
        lobby: ConversationId,
    ) -> Result<Chat, StoreError> {
        let what = "make a chat in a lobby";
        let now = self.store.clock.now_ms();
        // The same scope as anywhere else: a message opens one chat.
        let scope = chats::requests_of(workspace);
        let mut tx = self.store.begin().await?;
        if let Some(number) = requests::answered::<u32>(&mut tx, &scope, key).await? {
            tx.commit().await.tried(what)?;
            return self.chat(workspace, ChatId::from_number(number)).await;
        }
        let number = chats::insert_chat(&mut tx, actor, workspace, new.into(), now).await?;
        conversations::want_in_every_home(&mut tx, (workspace, number), now).await?;
        turn_lobby(&mut tx, lobby, number).await?;
        requests::remember(&mut tx, &scope, key, &number, now).await?;
        tx.commit().await.tried(what)?;
        self.chat(workspace, ChatId::from_number(number)).await
    }

    /// A thread in a context becomes a chat of its own there; one that is known is answered with.
    pub async fn put_thread(
        &self,
        actor: &Actor,
        thread: Thread<'_>,
        (workspace, context): (WorkspaceId, &str),
    ) -> Result<Conversation, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        if let Some(known) = known(&mut tx, thread).await? {
            tx.commit().await.tried("find a thread")?;
            return self.there(known).await;
        }
        let new = NewChat { context: Some(context), ..thread.title.into() };
        let number = chats::insert_chat(&mut tx, actor, workspace, new, now).await?;
        let chat = (workspace, ChatId::from_number(number));
        let id = insert(&mut tx, thread, (chat, ConversationKind::Shared, None), now).await?;
        tx.commit().await.tried("keep a thread")?;
        self.there(id).await
    }

    /// A topic that a person opened in a conversation of their own becomes a new chat of theirs; one that is
    /// known is answered with.
    pub async fn put_own_thread(
        &self,
        actor: &Actor,
        thread: Thread<'_>,
        (user, workspace): (UserId, WorkspaceId),
    ) -> Result<Conversation, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        if let Some(known) = known(&mut tx, thread).await? {
            tx.commit().await.tried("find a topic")?;
            return self.there(known).await;
        }
        let number =
            chats::insert_chat(&mut tx, actor, workspace, thread.title.into(), now).await?;
        let chat = (workspace, ChatId::from_number(number));
        let id = insert(&mut tx, thread, (chat, ConversationKind::Room, Some(user)), now).await?;
        conversations::want_in_every_home(&mut tx, (workspace, number), now).await?;
        tx.commit().await.tried("keep a topic")?;
        self.there(id).await
    }

    async fn there(&self, id: i64) -> Result<Conversation, StoreError> {
        let found =
            self.store.conversations().conversation_by_id(ConversationId::from_number(id)).await?;
        found.ok_or_else(|| not_found("conversation", id))
    }

    /// Somebody named a conversation on its surface: its chat is named so, and the surface shows that already. Whether
    /// it was: a person's chat that was given another title here, which its conversation does not show yet, keeps
    /// that, and is to be shown so.
    pub async fn rename_from(
        &self,
        actor: &Actor,
        id: ConversationId,
        title: &str,
    ) -> Result<bool, StoreError> {
        let what = "name a chat as its conversation";
        let mut tx = self.store.begin().await?;
        let there: Option<(u32, u32, bool)> = sqlx::query_as(
            "SELECT c.workspace_id, c.chat, \
               c.kind = 'room' AND coalesce(c.shown_title, chats.title) <> chats.title \
             FROM conversations c JOIN chats ON chats.workspace_id = c.workspace_id AND chats.number = c.chat \
             WHERE c.id = ?",
        )
        .bind(id.number())
        .fetch_optional(&mut *tx)
        .await
        .tried(what)?;
        let there = there.ok_or_else(|| not_found("conversation", id.number()))?;
        let (workspace, chat, renamed_here) = there;
        sqlx::query("UPDATE conversations SET shown_title = ? WHERE id = ?")
            .bind(title)
            .bind(id.number())
            .execute(&mut *tx)
            .await
            .tried(what)?;
        if renamed_here {
            tx.commit().await.tried(what)?;
            return Ok(false);
        }
        let renamed = sqlx::query(
            "UPDATE chats SET title = ?1 WHERE workspace_id = ?2 AND number = ?3 AND title <> ?1",
        )
        .bind(title)
        .bind(workspace)
        .bind(chat)
        .execute(&mut *tx)
        .await
        .tried(what)?;
        if renamed.rows_affected() > 0 {
            let chat = ChatId::from_number(chat);
            let entry = audit::Entry::new(actor, "chat.rename", chat)
                .of_workspace(WorkspaceId::from_number(workspace));
            audit::record(&mut tx, self.store.clock.now_ms(), entry).await?;
        }
        tx.commit().await.tried(what)?;
        Ok(true)
    }

    /// Somebody named a conversation who may not name its chat: the surface shows that now, and is to be mended.
    pub async fn named_by_others(&self, id: ConversationId, title: &str) -> Result<(), StoreError> {
        let what = "keep what a conversation was named";
        let mut tx = self.store.begin_one().await?;
        sqlx::query(
            "UPDATE conversations SET shown_title = ? WHERE id = ? AND shown_title IS NOT NULL",
        )
        .bind(title)
        .bind(id.number())
        .execute(&mut *tx)
        .await
        .tried(what)?;
        tx.commit().await.tried(what)
    }

    /// A person did something in a conversation that is no message: what has no answer of its own goes there
    /// from now on.
    pub async fn was_active(&self, id: ConversationId) -> Result<(), StoreError> {
        let what = "keep where a person was last active";
        let mut tx = self.store.begin().await?;
        sqlx::query("UPDATE conversations SET last_active_at = ? WHERE id = ?")
            .bind(self.store.clock.now_ms())
            .bind(id.number())
            .execute(&mut *tx)
            .await
            .tried(what)?;
        sqlx::query(
            "UPDATE workspaces SET last_conversation = ?1 \
             WHERE id = (SELECT workspace_id FROM conversations WHERE id = ?1)",
        )
        .bind(id.number())
        .execute(&mut *tx)
        .await
        .tried(what)?;
        tx.commit().await.tried(what)
    }

    /// The conversations of a surface that show a chat of a context where others read along.
    pub async fn threads_of(
        &self,
        surface: &str,
        (workspace, context): (WorkspaceId, &str),
    ) -> Result<Vec<ConversationId>, StoreError> {
        let ids: Vec<i64> = sqlx::query_scalar(
            "SELECT c.id FROM conversations c JOIN connectors ON connectors.id = c.connector_id \
             JOIN chats ON chats.workspace_id = c.workspace_id AND chats.number = c.chat \
             WHERE connectors.surface = ? AND c.kind = 'shared' AND c.workspace_id = ? \
               AND chats.context = ? ORDER BY c.id",
        )
        .bind(surface)
        .bind(workspace.number())
        .bind(context)
        .fetch_all(self.store.reader())
        .await
        .tried("list the threads of a context")?;
        Ok(ids.into_iter().map(ConversationId::from_number).collect())
    }
}

/// Turns a lobby to a chat of the workspace that it shows already, and of no other.
async fn turn_lobby(tx: &mut Tx, lobby: ConversationId, chat: u32) -> Result<(), StoreError> {
    let turned = sqlx::query(
        "UPDATE conversations SET chat = ?2 WHERE id = ?1 AND kind = 'lobby' AND EXISTS \
         (SELECT 1 FROM chats WHERE chats.workspace_id = conversations.workspace_id AND number = ?2)",
    )
    .bind(lobby.number())
    .bind(chat)
    .execute(&mut *tx)
    .await
    .tried("turn a lobby to a chat")?;
    if turned.rows_affected() == 0 {
        return Err(not_found("chat", ChatId::from_number(chat)));
    }
    Ok(())
}

async fn known(tx: &mut Tx, thread: Thread<'_>) -> Result<Option<i64>, StoreError> {
    sqlx::query_scalar("SELECT id FROM conversations WHERE connector_id = ? AND external_id = ?")
        .bind(thread.connector.number())
        .bind(thread.external_id)
        .fetch_optional(&mut *tx)
        .await
        .tried("find a thread")
}

async fn insert(
    tx: &mut Tx,
    thread: Thread<'_>,
    (chat, kind, user): ((WorkspaceId, ChatId), ConversationKind, Option<UserId>),
    now: i64,
) -> Result<i64, StoreError> {
    let new = NewConversation {
        connector: thread.connector,
        external_id: Some(thread.external_id.to_owned()),
        chat,
        kind,
        user,
    };
    let id = conversations::insert(tx, &new, now).await?;
    sqlx::query("UPDATE conversations SET shown_title = ? WHERE id = ?")
        .bind(thread.title)
        .bind(id)
        .execute(&mut *tx)
        .await
        .tried("keep what a thread is called")?;
    Ok(id)
}

#[cfg(test)]
#[path = "lobbies_tests.rs"]
mod tests;
