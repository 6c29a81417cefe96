//! Chats: numbered per workspace, never reused.

pub use cloister_protocol::surface::Chat;
use cloister_protocol::{AgentId, ChatId, WorkspaceId};

use crate::actor::Actor;
use crate::db::Tx;
use crate::error::{StoreError, Tried, not_found};
use crate::{agents, audit, conversations, requests};

/// Chats of one workspace, and those of them that are not put away.
const MOST_CHATS: i64 = 5_000;
const MOST_OPEN: i64 = 1_000;

struct Row {
    number: u32,
    title: String,
    archived_at: Option<i64>,
    created_at: i64,
    agent: u32,
}

from_row!(Row { number, title, archived_at, created_at, agent });

impl From<Row> for Chat {
    fn from(row: Row) -> Self {
        Self {
            id: ChatId::from_number(row.number),
            title: row.title,
            archived: row.archived_at.is_some(),
            created_at: row.created_at,
            agent: AgentId::from_number(row.agent),
        }
    }
}

/// A chat that is to be made.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewChat<'a> {
    /// Empty: the name of an agent that is not the first one, or nothing.
    pub title: &'a str,
    /// Who answers in it.
    pub agent: AgentId,
    /// None: it belongs to the workspace as a whole.
    pub context: Option<&'a str>,
}

impl<'a> From<&'a String> for NewChat<'a> {
    fn from(title: &'a String) -> Self {
        title.as_str().into()
    }
}

impl<'a> From<&'a str> for NewChat<'a> {
    fn from(title: &'a str) -> Self {
        Self { title, ..Self::default() }
    }
}

table! {
    /// Chats, their contexts, and where they are shown.
    pub struct Chats;
}

impl Chats {
    /// Makes a chat. With a `key`, the same key again answers with the chat made before.
    pub async fn new_chat(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        new: impl Into<NewChat<'_>>,
        key: Option<&str>,
    ) -> Result<Chat, StoreError> {
        let now = self.store.clock.now_ms();
        let scope = requests_of(workspace);
        let mut tx = self.store.begin().await?;
        if let Some(key) = key
            && let Some(number) = requests::answered::<u32>(&mut tx, &scope, key).await?
        {
            // What is answered may have been written a moment ago: from here on it can be read.
            tx.commit().await.tried("make a chat")?;
            return self.chat(workspace, ChatId::from_number(number)).await;
        }
        let number = insert_chat(&mut tx, actor, workspace, new.into(), now).await?;
        conversations::want_in_every_home(&mut tx, (workspace, number), now).await?;
        if let Some(key) = key {
            requests::remember(&mut tx, &scope, key, &number, now).await?;
        }
        tx.commit().await.tried("make a chat")?;
        self.chat(workspace, ChatId::from_number(number)).await
    }

    /// The first chat of a workspace exists from its first use.
    pub async fn ensure_first_chat(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
    ) -> Result<(), StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let next: u32 = sqlx::query_scalar("SELECT next_chat FROM workspaces WHERE id = ?")
            .bind(workspace.number())
            .fetch_one(&mut *tx)
            .await
            .tried("look for the first chat")?;
        if next == 1 {
            insert_chat(&mut tx, actor, workspace, NewChat::default(), now).await?;
        }
        tx.commit().await.tried("make the first chat")
    }

    pub async fn chat(&self, workspace: WorkspaceId, chat: ChatId) -> Result<Chat, StoreError> {
        let row: Option<Row> = sqlx::query_as(
            "SELECT number, title, archived_at, created_at, agent FROM chats WHERE workspace_id = ? AND number = ?",
        )
        .bind(workspace.number())
        .bind(chat.number())
        .fetch_optional(self.store.reader())
        .await
        .tried("find a chat")?;
        row.map(Chat::from).ok_or_else(|| not_found("chat", chat))
    }

    pub async fn of(&self, workspace: WorkspaceId) -> Result<Vec<Chat>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT number, title, archived_at, created_at, agent FROM chats WHERE workspace_id = ? ORDER BY number",
        )
        .bind(workspace.number())
        .fetch_all(self.store.reader())
        .await
        .tried("list chats")?;
        Ok(rows.into_iter().map(Chat::from).collect())
    }

    pub async fn rename_chat(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        chat: ChatId,
        title: &str,
    ) -> Result<Chat, StoreError> {
        let mut tx = self.store.begin().await?;
        sqlx::query("UPDATE chats SET title = ? WHERE workspace_id = ? AND number = ?")
            .bind(title)
            .bind(workspace.number())
            .bind(chat.number())
            .execute(&mut *tx)
            .await
            .tried("rename a chat")?;
        let entry = audit::Entry::new(actor, "chat.rename", chat).of_workspace(workspace);
        audit::record(&mut tx, self.store.clock.now_ms(), entry).await?;
        tx.commit().await.tried("rename a chat")?;
        self.chat(workspace, chat).await
    }

    /// Puts a chat away, or takes it out again: not while its agent is removed.
    pub async fn archive_chat(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        chat: ChatId,
        archived: bool,
    ) -> Result<Chat, StoreError> {
        let at = archived.then(|| self.store.clock.now_ms());
        let mut tx = self.store.begin().await?;
        if !archived {
            agents::require_answers(&mut tx, (workspace, chat)).await?;
        }
        sqlx::query("UPDATE chats SET archived_at = ? WHERE workspace_id = ? AND number = ?")
            .bind(at)
            .bind(workspace.number())
            .bind(chat.number())
            .execute(&mut *tx)
            .await
            .tried("archive a chat")?;
        let action = if archived { "chat.archive" } else { "chat.reopen" };
        let entry = audit::Entry::new(actor, action, chat).of_workspace(workspace);
        audit::record(&mut tx, self.store.clock.now_ms(), entry).await?;
        tx.commit().await.tried("archive a chat")?;
        self.chat(workspace, chat).await
    }

    /// Makes a chat that was lost again under its number; later chats get higher ones. Says whether it was
    /// missing.
    pub async fn restore_chat(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        chat: ChatId,
        title: &str,
    ) -> Result<bool, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let moved = sqlx::query("UPDATE workspaces SET next_chat = max(next_chat, ?) WHERE id = ?")
            .bind(chat.number().saturating_add(1))
            .bind(workspace.number())
            .execute(&mut *tx)
            .await
            .tried("move past a chat number")?;
        if moved.rows_affected() == 0 {
            return Err(not_found("workspace", workspace));
        }
        let made = sqlx::query(
            "INSERT INTO chats (workspace_id, number, title, created_at) VALUES (?, ?, ?, ?) \
             ON CONFLICT DO NOTHING",
        )
        .bind(workspace.number())
        .bind(chat.number())
        .bind(title)
        .bind(now)
        .execute(&mut *tx)
        .await
        .tried("restore a chat")?;
        let missing = made.rows_affected() == 1;
        if missing {
            let entry = audit::Entry::new(actor, "chat.restore", chat);
            audit::record(&mut tx, now, entry.of_workspace(workspace)).await?;
        }
        tx.commit().await.tried("restore a chat")?;
        Ok(missing)
    }
}

/// Under which requests for chats are remembered: wherever it is asked, a message opens one.
pub(crate) fn requests_of(workspace: WorkspaceId) -> String {
    format!("new-chat {workspace}")
}

pub(crate) async fn insert_chat(
    tx: &mut Tx,
    actor: &Actor,
    workspace: WorkspaceId,
    new: NewChat<'_>,
    now: i64,
) -> Result<u32, StoreError> {
    let number = next_number(tx, workspace).await?;
    insert_numbered(tx, actor, (workspace, number), new, now).await?;
    Ok(number)
}

/// Takes the number of the next chat.
pub(crate) async fn next_number(tx: &mut Tx, workspace: WorkspaceId) -> Result<u32, StoreError> {
    let number: Option<u32> = sqlx::query_scalar(
        "UPDATE workspaces SET next_chat = next_chat + 1 WHERE id = ? RETURNING next_chat - 1",
    )
    .bind(workspace.number())
    .fetch_optional(&mut *tx)
    .await
    .tried("take a chat number")?;
    number.ok_or_else(|| not_found("workspace", workspace))
}

/// Refuses one chat more than a workspace may have: each list shows all of them.
pub(crate) async fn room_for_another(
    tx: &mut Tx,
    workspace: WorkspaceId,
) -> Result<(), StoreError> {
    let (all, open): (i64, i64) = sqlx::query_as(
        "SELECT count(*), count(*) - count(archived_at) FROM chats WHERE workspace_id = ?",
    )
    .bind(workspace.number())
    .fetch_one(&mut *tx)
    .await
    .tried("count the chats of a workspace")?;
    match (all < MOST_CHATS, open < MOST_OPEN) {
        (true, true) => Ok(()),
        (true, false) => Err(StoreError::TooMany { what: "open chats: archive some first" }),
        (false, _) => Err(StoreError::TooMany { what: "chats in this workspace" }),
    }
}

/// Whether a number is that of a chat already.
pub(crate) async fn is_there(
    tx: &mut Tx,
    (workspace, number): (WorkspaceId, u32),
) -> Result<bool, StoreError> {
    sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM chats WHERE workspace_id = ? AND number = ?)")
        .bind(workspace.number())
        .bind(number)
        .fetch_one(&mut *tx)
        .await
        .tried("look for a chat")
}

/// Makes a chat of a number that was taken.
pub(crate) async fn insert_numbered(
    tx: &mut Tx,
    actor: &Actor,
    (workspace, number): (WorkspaceId, u32),
    NewChat { title, agent, context }: NewChat<'_>,
    now: i64,
) -> Result<(), StoreError> {
    room_for_another(tx, workspace).await?;
    // Whose it is can be seen wherever it is shown.
    let name = agents::name_of(tx, workspace, agent).await?;
    let title = if title.is_empty() { &name } else { title };
    sqlx::query(
        "INSERT INTO chats (workspace_id, number, title, created_at, agent, context) \
         VALUES (?, ?, ?, ?, ?, ?)",
    )
    .bind(workspace.number())
    .bind(number)
    .bind(title)
    .bind(now)
    .bind(agent.number())
    .bind(context)
    .execute(&mut *tx)
    .await
    .tried("make a chat")?;
    let with = if agent.is_first() { title.to_owned() } else { format!("{title} (of {agent})") };
    let entry = audit::Entry::new(actor, "chat.new", ChatId::from_number(number));
    audit::record(tx, now, entry.with(with).of_workspace(workspace)).await
}

#[cfg(test)]
#[path = "chats_tests.rs"]
mod tests;
