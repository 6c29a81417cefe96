//! Contexts of workspaces: their prompts, what may be used in them, and which conversation each one is.

use cloister_protocol::{AgentId, ChatId, WorkspaceId};

use crate::actor::Actor;
use crate::audit;
use crate::chats::{self, Chats, NewChat};
use crate::db::Tx;
use crate::error::{StoreError, Tried, corrupt, not_found};

/// The context around all others of a workspace; it exists without a row.
pub const OUTERMOST: &str = "workspace";

/// A conversation on a surface: a room, a channel, a thread, a direct conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    pub surface: String,
    pub id: String,
}

/// What a context allows by name; none: no limit of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lists {
    pub tools: Option<Vec<String>>,
    pub models: Option<Vec<String>>,
    pub skills: Option<Vec<String>>,
}

/// Where a chat is in its workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChatPlace {
    /// None: the workspace as a whole.
    pub context: Option<String>,
    pub agent: AgentId,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    pub workspace: WorkspaceId,
    pub name: String,
    /// The context around it.
    pub inherits: String,
    pub prompt: String,
    pub lists: Lists,
    pub conversation: Option<Conversation>,
    /// The chat of its conversation.
    pub chat: Option<ChatId>,
    pub created_at: i64,
}

struct Row {
    workspace_id: u32,
    name: String,
    inherits: String,
    prompt: String,
    tools: Option<String>,
    models: Option<String>,
    skills: Option<String>,
    surface: Option<String>,
    conversation: Option<String>,
    chat: Option<u32>,
    created_at: i64,
}

from_row!(Row {
    workspace_id,
    name,
    inherits,
    prompt,
    tools,
    models,
    skills,
    surface,
    conversation,
    chat,
    created_at,
});

const COLUMNS: &str = "workspace_id, name, inherits, prompt, tools, models, skills, surface, \
     conversation, chat, created_at";

impl Row {
    fn into_context(self) -> Result<Context, StoreError> {
        let conversation = self.surface.zip(self.conversation);
        Ok(Context {
            workspace: WorkspaceId::from_number(self.workspace_id),
            name: self.name,
            inherits: self.inherits,
            prompt: self.prompt,
            lists: Lists {
                tools: names(self.tools)?,
                models: names(self.models)?,
                skills: names(self.skills)?,
            },
            conversation: conversation.map(|(surface, id)| Conversation { surface, id }),
            chat: self.chat.map(ChatId::from_number),
            created_at: self.created_at,
        })
    }
}

fn names(json: Option<String>) -> Result<Option<Vec<String>>, StoreError> {
    json.map(|json| serde_json::from_str(&json).map_err(|e| corrupt("list of names", e)))
        .transpose()
}

fn to_json(names: Option<&Vec<String>>) -> Result<Option<String>, StoreError> {
    names
        .map(|names| serde_json::to_string(names).map_err(|e| corrupt("list of names", e)))
        .transpose()
}

impl Chats {
    pub async fn contexts(&self, workspace: WorkspaceId) -> Result<Vec<Context>, StoreError> {
        let read = async {
            let query =
                format!("SELECT {COLUMNS} FROM contexts WHERE workspace_id = ? ORDER BY name");
            let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(query))
                .bind(workspace.number())
                .fetch_all(self.store.reader())
                .await
                .tried("list contexts")?;
            rows.into_iter().map(Row::into_context).collect()
        };
        self.store.memory.contexts.or_read(workspace, read).await
    }

    /// The context that a conversation is.
    pub async fn context_of(
        &self,
        conversation: &Conversation,
    ) -> Result<Option<Context>, StoreError> {
        let query =
            format!("SELECT {COLUMNS} FROM contexts WHERE surface = ? AND conversation = ?");
        let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(&conversation.surface)
            .bind(&conversation.id)
            .fetch_optional(self.store.reader())
            .await
            .tried("find the context of a conversation")?;
        row.map(Row::into_context).transpose()
    }

    /// The context that a chat is in; none: the workspace as a whole.
    pub async fn context_of_chat(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<Option<String>, StoreError> {
        Ok(self.place_of_chat(workspace, chat).await?.context)
    }

    /// The agent that answers in a chat.
    pub async fn agent_of_chat(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<AgentId, StoreError> {
        Ok(self.place_of_chat(workspace, chat).await?.agent)
    }

    /// In which context a chat is, and whose it is: asked together, and remembered together.
    pub async fn place_of_chat(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<ChatPlace, StoreError> {
        let read = async {
            let found: Option<(Option<String>, u32)> = sqlx::query_as(
                "SELECT context, agent FROM chats WHERE workspace_id = ? AND number = ?",
            )
            .bind(workspace.number())
            .bind(chat.number())
            .fetch_optional(self.store.reader())
            .await
            .tried("find the context and the agent of a chat")?;
            Ok(found.map_or_else(ChatPlace::default, |(context, agent)| ChatPlace {
                context,
                agent: AgentId::from_number(agent),
            }))
        };
        self.store.memory.places_of_chats.or_read((workspace, chat), read).await
    }

    /// Puts a context in place, new or changed. One with a conversation has a chat of its own.
    pub async fn put_context(
        &self,
        actor: &Actor,
        context: &Context,
    ) -> Result<Context, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let there = chat_of(&mut tx, context).await?;
        let chat = match (there, &context.conversation) {
            (Some(chat), _) => Some(chat),
            (None, Some(_)) => {
                let name = context.name.as_str();
                let new = NewChat { context: Some(name), ..name.into() };
                Some(chats::insert_chat(&mut tx, actor, context.workspace, new, now).await?)
            }
            (None, None) => None,
        };
        write(&mut tx, context, chat, now).await?;
        let detail = serde_json::json!({
            "inherits": context.inherits,
            "tools": context.lists.tools,
            "models": context.lists.models,
            "skills": context.lists.skills,
            "conversation": context.conversation.as_ref().map(|c| format!("{} {}", c.surface, c.id)),
        });
        let entry = audit::Entry::new(actor, "context.set", &context.name).with(detail);
        audit::record(&mut tx, now, entry.of_workspace(context.workspace)).await?;
        tx.commit().await.tried("keep a context")?;
        Ok(Context { chat: chat.map(ChatId::from_number), ..context.clone() })
    }

    /// Takes a context away. Its chats are archived and stay in it: they never fall back to what the
    /// workspace allows.
    pub async fn remove_context(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        name: &str,
    ) -> Result<(), StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let removed = sqlx::query("DELETE FROM contexts WHERE workspace_id = ? AND name = ?")
            .bind(workspace.number())
            .bind(name)
            .execute(&mut *tx)
            .await
            .tried("remove a context")?;
        if removed.rows_affected() == 0 {
            return Err(not_found("context", name));
        }
        sqlx::query(
            "UPDATE chats SET archived_at = ? WHERE workspace_id = ? AND context = ? AND archived_at IS NULL",
        )
        .bind(now)
        .bind(workspace.number())
        .bind(name)
        .execute(&mut *tx)
        .await
        .tried("archive the chats of a context")?;
        let entry = audit::Entry::new(actor, "context.rm", name).of_workspace(workspace);
        audit::record(&mut tx, now, entry).await?;
        tx.commit().await.tried("remove a context")
    }
}

/// The chat that this context has already. Another conversation gets another chat: what was said in one
/// room is not told in the next.
async fn chat_of(tx: &mut Tx, context: &Context) -> Result<Option<u32>, StoreError> {
    let Some(Conversation { surface, id }) = &context.conversation else { return Ok(None) };
    let chat: Option<Option<u32>> = sqlx::query_scalar(
        "SELECT chat FROM contexts WHERE workspace_id = ? AND name = ? AND surface = ? AND conversation = ?",
    )
    .bind(context.workspace.number())
    .bind(&context.name)
    .bind(surface)
    .bind(id)
    .fetch_optional(&mut *tx)
    .await
    .tried("find the chat of a context")?;
    Ok(chat.flatten())
}

async fn write(
    tx: &mut Tx,
    context: &Context,
    chat: Option<u32>,
    now: i64,
) -> Result<(), StoreError> {
    let Context { workspace, name, inherits, prompt, lists, conversation, .. } = context;
    let written = sqlx::query(
        "INSERT INTO contexts (workspace_id, name, inherits, prompt, tools, models, skills, surface, \
         conversation, chat, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
         ON CONFLICT (workspace_id, name) DO UPDATE SET inherits = excluded.inherits, \
         prompt = excluded.prompt, tools = excluded.tools, models = excluded.models, \
         skills = excluded.skills, surface = excluded.surface, \
         conversation = excluded.conversation, chat = excluded.chat",
    )
    .bind(workspace.number())
    .bind(name)
    .bind(inherits)
    .bind(prompt)
    .bind(to_json(lists.tools.as_ref())?)
    .bind(to_json(lists.models.as_ref())?)
    .bind(to_json(lists.skills.as_ref())?)
    .bind(conversation.as_ref().map(|conversation| &conversation.surface))
    .bind(conversation.as_ref().map(|conversation| &conversation.id))
    .bind(chat)
    .bind(now)
    .execute(&mut *tx)
    .await;
    match written {
        Ok(_) => Ok(()),
        Err(sqlx::Error::Database(error)) if error.is_unique_violation() => {
            let name = conversation.as_ref().map(|c| format!("{} on {}", c.id, c.surface));
            let name = name.unwrap_or_default();
            Err(StoreError::Exists { what: "context for the conversation", name })
        }
        Err(error) => Err(error).tried("keep a context"),
    }
}

#[cfg(test)]
#[path = "contexts_tests.rs"]
mod tests;
