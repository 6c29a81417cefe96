//! The agents of a workspace: several, each with chats and files of its own.
//!
//! Promises: a name is unique in its workspace, whatever its capital letters; a number is given to nobody else; who is
//! removed keeps everything, and can be taken back with the chats that were put away with it.

use cloister_protocol::{AgentId, ChatId, WorkspaceId};

use crate::actor::Actor;
use crate::audit;
use crate::chats;
use crate::db::Tx;
use crate::error::{StoreError, Tried, not_found};
use crate::listing::folded;
use crate::requests;

/// An agent beside the first one of its workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    pub id: AgentId,
    pub name: String,
    pub created_at: i64,
    pub removed: bool,
}

struct AgentRow {
    number: u32,
    name: String,
    created_at: i64,
    removed_at: Option<i64>,
}

from_row!(AgentRow { number, name, created_at, removed_at });

impl From<AgentRow> for Agent {
    fn from(row: AgentRow) -> Self {
        Self {
            id: AgentId::from_number(row.number),
            name: row.name,
            created_at: row.created_at,
            removed: row.removed_at.is_some(),
        }
    }
}

/// What becomes of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentChange<'a> {
    Rename(&'a str),
    /// Its chats are put away.
    Remove,
    /// Those chats are taken out again. No more agents than this, the first one among them.
    Restore {
        most: u32,
    },
}

table! {
    /// Agents beside the first one of each workspace.
    pub struct Agents;
}

impl Agents {
    /// Those of a workspace, also those that were removed, oldest first.
    pub async fn of(&self, workspace: WorkspaceId) -> Result<Vec<Agent>, StoreError> {
        let rows: Vec<AgentRow> = sqlx::query_as(
            "SELECT number, name, created_at, removed_at FROM agents WHERE workspace_id = ? ORDER BY number",
        )
        .bind(workspace.number())
        .fetch_all(self.store.reader())
        .await
        .tried("list agents")?;
        Ok(rows.into_iter().map(Agent::from).collect())
    }

    /// Makes an agent, which begins with the models that were chosen for the first one. With a key, the same key again
    /// answers with the agent made before.
    pub async fn add(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        (name, most): (&str, u32),
        key: Option<&str>,
    ) -> Result<AgentId, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        if let Some(made) = answered(&mut tx, workspace, key).await? {
            tx.commit().await.tried("make an agent")?;
            return Ok(made);
        }
        require_room(&mut tx, workspace, most).await?;
        require_free(&mut tx, workspace, (name, AgentId::FIRST)).await?;
        let number: u32 = sqlx::query_scalar(
            "INSERT INTO agents (workspace_id, number, name, folded, created_at) \
             SELECT ?1, coalesce(max(number), 1) + 1, ?2, ?3, ?4 FROM agents WHERE workspace_id = ?1 \
             RETURNING number",
        )
        .bind(workspace.number())
        .bind(name)
        .bind(folded(name))
        .bind(now)
        .fetch_one(&mut *tx)
        .await
        .tried("make an agent")?;
        sqlx::query(
            "INSERT INTO model_choices (workspace_id, agent, chat, kind, model) \
             SELECT workspace_id, ?2, chat, kind, model FROM model_choices \
             WHERE workspace_id = ?1 AND agent = 1 AND chat = 0",
        )
        .bind(workspace.number())
        .bind(number)
        .execute(&mut *tx)
        .await
        .tried("choose the models of an agent")?;
        let agent = AgentId::from_number(number);
        let entry = audit::Entry::new(actor, "agent.add", agent).with(name);
        audit::record(&mut tx, now, entry.of_workspace(workspace)).await?;
        remember(&mut tx, (workspace, agent), key, now).await?;
        tx.commit().await.tried("make an agent")?;
        Ok(agent)
    }

    /// Which agent a request was about that was carried out.
    pub async fn of_request(
        &self,
        workspace: WorkspaceId,
        key: &str,
    ) -> Result<Option<AgentId>, StoreError> {
        requests::known(&self.store, &scope(workspace), key).await
    }

    /// Changes an agent that is there, or takes back one that was removed. Done before, it is done.
    pub async fn change(
        &self,
        actor: &Actor,
        (workspace, agent): (WorkspaceId, AgentId),
        change: AgentChange<'_>,
        key: Option<&str>,
    ) -> Result<(), StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        if answered(&mut tx, workspace, key).await?.is_some() {
            return tx.commit().await.tried("change an agent");
        }
        let (action, with) = match change {
            AgentChange::Rename(name) => {
                require_free(&mut tx, workspace, (name, agent)).await?;
                rename(&mut tx, (workspace, agent), name).await?;
                ("agent.rename", name.to_owned())
            }
            AgentChange::Remove => {
                remove(&mut tx, (workspace, agent), now).await?;
                ("agent.rm", String::new())
            }
            AgentChange::Restore { most } => {
                require_room(&mut tx, workspace, most).await?;
                restore(&mut tx, (workspace, agent)).await?;
                ("agent.restore", String::new())
            }
        };
        let entry = audit::Entry::new(actor, action, agent).with(with);
        audit::record(&mut tx, now, entry.of_workspace(workspace)).await?;
        remember(&mut tx, (workspace, agent), key, now).await?;
        tx.commit().await.tried("change an agent")
    }

    /// The chat of an agent that was spoken in last, among those that belong to the workspace as a whole and are not
    /// put away.
    pub async fn latest_chat(
        &self,
        workspace: WorkspaceId,
        agent: AgentId,
    ) -> Result<Option<ChatId>, StoreError> {
        let number: Option<u32> = sqlx::query_scalar(
            "SELECT c.number FROM chats c WHERE c.workspace_id = ?1 AND c.agent = ?2 \
               AND c.archived_at IS NULL AND c.context IS NULL \
             ORDER BY coalesce((SELECT max(i.id) FROM inbox i WHERE i.workspace_id = ?1 AND i.chat = c.number), 0) DESC, \
               c.number DESC LIMIT 1",
        )
        .bind(workspace.number())
        .bind(agent.number())
        .fetch_optional(self.store.reader())
        .await
        .tried("find the latest chat of an agent")?;
        Ok(number.map(ChatId::from_number))
    }

    /// The chat that a request made, if it made one.
    pub async fn chat_made_by(
        &self,
        workspace: WorkspaceId,
        key: &str,
    ) -> Result<Option<ChatId>, StoreError> {
        let scope = chats::requests_of(workspace);
        let made: Option<u32> = requests::known(&self.store, &scope, key).await?;
        Ok(made.map(ChatId::from_number))
    }
}

/// The name of an agent, which must be there; the first one's is not known here.
pub(crate) async fn name_of(
    tx: &mut Tx,
    workspace: WorkspaceId,
    agent: AgentId,
) -> Result<String, StoreError> {
    if agent.is_first() {
        return Ok(String::new());
    }
    let name: Option<String> = sqlx::query_scalar(
        "SELECT name FROM agents WHERE workspace_id = ? AND number = ? AND removed_at IS NULL",
    )
    .bind(workspace.number())
    .bind(agent.number())
    .fetch_optional(&mut *tx)
    .await
    .tried("look for an agent")?;
    name.ok_or_else(|| not_found("agent", agent))
}

/// Refuses a chat whose agent was removed.
pub(crate) async fn require_answers(
    tx: &mut Tx,
    (workspace, chat): (WorkspaceId, ChatId),
) -> Result<(), StoreError> {
    let agent: Option<u32> =
        sqlx::query_scalar("SELECT agent FROM chats WHERE workspace_id = ? AND number = ?")
            .bind(workspace.number())
            .bind(chat.number())
            .fetch_optional(&mut *tx)
            .await
            .tried("find the agent of a chat")?;
    let agent = agent.map_or(AgentId::FIRST, AgentId::from_number);
    name_of(tx, workspace, agent).await.map(drop)
}

/// Under which requests about agents are remembered: in the way of all requests that are a workspace's.
fn scope(workspace: WorkspaceId) -> String {
    format!("{workspace}/agents")
}

async fn answered(
    tx: &mut Tx,
    workspace: WorkspaceId,
    key: Option<&str>,
) -> Result<Option<AgentId>, StoreError> {
    match key {
        Some(key) => requests::answered(tx, &scope(workspace), key).await,
        None => Ok(None),
    }
}

async fn remember(
    tx: &mut Tx,
    (workspace, agent): (WorkspaceId, AgentId),
    key: Option<&str>,
    now: i64,
) -> Result<(), StoreError> {
    match key {
        Some(key) => requests::remember(tx, &scope(workspace), key, &agent, now).await,
        None => Ok(()),
    }
}

async fn require_room(tx: &mut Tx, workspace: WorkspaceId, most: u32) -> Result<(), StoreError> {
    let there: u32 = sqlx::query_scalar(
        "SELECT count(*) + 1 FROM agents WHERE workspace_id = ? AND removed_at IS NULL",
    )
    .bind(workspace.number())
    .fetch_one(&mut *tx)
    .await
    .tried("count agents")?;
    if there < most { Ok(()) } else { Err(StoreError::TooMany { what: "agents" }) }
}

/// Refuses a name that another agent has.
async fn require_free(
    tx: &mut Tx,
    workspace: WorkspaceId,
    (name, but): (&str, AgentId),
) -> Result<(), StoreError> {
    let taken: bool = sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM agents WHERE workspace_id = ? AND folded = ? AND number <> ? \
         AND removed_at IS NULL)",
    )
    .bind(workspace.number())
    .bind(folded(name))
    .bind(but.number())
    .fetch_one(&mut *tx)
    .await
    .tried("look for an agent of a name")?;
    if taken { Err(StoreError::Exists { what: "agent", name: name.to_owned() }) } else { Ok(()) }
}

/// The chats that are called as their agent follow it.
async fn rename(
    tx: &mut Tx,
    (workspace, agent): (WorkspaceId, AgentId),
    name: &str,
) -> Result<(), StoreError> {
    let before = name_of(tx, workspace, agent).await?;
    sqlx::query(
        "UPDATE chats SET title = ?4 WHERE workspace_id = ?1 AND agent = ?2 AND title = ?3",
    )
    .bind(workspace.number())
    .bind(agent.number())
    .bind(before)
    .bind(name)
    .execute(&mut *tx)
    .await
    .tried("rename the chats of an agent")?;
    sqlx::query("UPDATE agents SET name = ?3, folded = ?4 WHERE workspace_id = ?1 AND number = ?2")
        .bind(workspace.number())
        .bind(agent.number())
        .bind(name)
        .bind(folded(name))
        .execute(&mut *tx)
        .await
        .tried("rename an agent")?;
    Ok(())
}

async fn remove(
    tx: &mut Tx,
    (workspace, agent): (WorkspaceId, AgentId),
    now: i64,
) -> Result<(), StoreError> {
    // Later than anything that was put away before: what goes with it is known by its time.
    let after: i64 = sqlx::query_scalar(
        "SELECT coalesce(max(archived_at), 0) + 1 FROM chats WHERE workspace_id = ? AND agent = ?",
    )
    .bind(workspace.number())
    .bind(agent.number())
    .fetch_one(&mut *tx)
    .await
    .tried("look for chats of an agent that are archived")?;
    let now = now.max(after);
    let removed = sqlx::query(
        "UPDATE agents SET removed_at = ?3 WHERE workspace_id = ?1 AND number = ?2 AND removed_at IS NULL",
    )
    .bind(workspace.number())
    .bind(agent.number())
    .bind(now)
    .execute(&mut *tx)
    .await
    .tried("remove an agent")?;
    if removed.rows_affected() == 0 {
        return Err(not_found("agent", agent));
    }
    sqlx::query(
        "UPDATE chats SET archived_at = ?3 WHERE workspace_id = ?1 AND agent = ?2 AND archived_at IS NULL",
    )
    .bind(workspace.number())
    .bind(agent.number())
    .bind(now)
    .execute(&mut *tx)
    .await
    .tried("archive the chats of an agent")?;
    Ok(())
}

/// Takes an agent back, and out again those of its chats that were put away with it.
async fn restore(
    tx: &mut Tx,
    (workspace, agent): (WorkspaceId, AgentId),
) -> Result<(), StoreError> {
    let found: Option<(String, i64)> = sqlx::query_as(
        "SELECT name, removed_at FROM agents WHERE workspace_id = ? AND number = ? AND removed_at IS NOT NULL",
    )
    .bind(workspace.number())
    .bind(agent.number())
    .fetch_optional(&mut *tx)
    .await
    .tried("find an agent that was removed")?;
    let (name, removed_at) = found.ok_or_else(|| not_found("agent", agent))?;
    require_free(tx, workspace, (&name, agent)).await?;
    for restore in [
        "UPDATE chats SET archived_at = NULL WHERE workspace_id = ?1 AND agent = ?2 AND archived_at = ?3",
        "UPDATE agents SET removed_at = NULL WHERE workspace_id = ?1 AND number = ?2 AND removed_at = ?3",
    ] {
        sqlx::query(restore)
            .bind(workspace.number())
            .bind(agent.number())
            .bind(removed_at)
            .execute(&mut *tx)
            .await
            .tried("take an agent back")?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "agents_tests.rs"]
mod tests;
