//! Chats of a user.

use axum::extract::State as Extract;
use cloister_control::rows::{Chat, ListedChat, NewChat};
use cloister_policy::engine::{ChatCall, WorkspaceCall};
use cloister_protocol::admin::{ChatChange, ChatView, Line, RetentionView};
use cloister_protocol::{AgentId, ChatId, ErrorCode};
use cloister_words::say;
use schemars::JsonSchema;
use serde::Deserialize;

use super::authorise::Asker;
use super::route::{About, Route};
use super::{Admin, time};
use crate::reply::{Answer, Body, Failure, Path, Query, json};

const MAX_TITLE_CHARS: usize = 80;

pub(super) fn routes() -> Vec<Route> {
    let all = "/admin/v1/users/{user}/chats";
    let one = "/admin/v1/users/{user}/chats/{chat}";
    vec![
        Route::get(all, About::Workspace(WorkspaceCall::ListChats), list),
        Route::post(all, About::Workspace(WorkspaceCall::CreateChat), add),
        Route::get(one, About::Chat(ChatCall::Read), show),
        Route::get(
            "/admin/v1/users/{user}/retention",
            About::Workspace(WorkspaceCall::ListChats),
            retention,
        ),
        Route::patch(one, About::Chat(ChatCall::Change), change),
    ]
}

/// What is put away next, and what was.
async fn retention(
    Extract(admin): Extract<Admin>,
    Path(name): Path<String>,
) -> Answer<RetentionView> {
    let user = super::user(&admin, &name).await?;
    json(admin.control.tasks().layers().retirement().retention_of(user.workspace).await?)
}

fn view(chat: Chat) -> ChatView {
    ChatView {
        id: chat.id,
        title: chat.title,
        opening: String::new(),
        archived: chat.archived,
        created_at: time(chat.created_at),
        agent: chat.agent,
    }
}

async fn list(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(name): Path<String>,
) -> Answer<Vec<ChatView>> {
    let user = super::user(&admin, &name).await?;
    admin.control.chats().ensure_first_chat(asker.actor(), user.workspace).await?;
    let chats = admin.control.chats().listed(user.workspace).await?;
    let view_of = |listed: ListedChat| {
        let called = listed.called();
        let opening = if called == listed.chat.title { String::new() } else { called };
        ChatView { opening, ..view(listed.chat) }
    };
    json(chats.into_iter().map(view_of).collect())
}

async fn add(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(name): Path<String>,
    Body(change): Body<ChatChange>,
) -> Answer<ChatView> {
    let user = super::user(&admin, &name).await?;
    asker.require_to_direct(&admin.control.people().place(user.workspace).await?).await?;
    admin.control.chats().ensure_first_chat(asker.actor(), user.workspace).await?;
    let title = change.title.as_deref().map(checked_title).transpose()?.unwrap_or_default();
    let agent = match &change.agent {
        Some(said) => admin.control.chats().agents().find(user.workspace, said).await?.id,
        None => AgentId::FIRST,
    };
    let new = NewChat { title: &title, agent, context: None };
    json(view(admin.control.chats().new_chat(asker.actor(), user.workspace, new, None).await?))
}

#[derive(Deserialize, JsonSchema)]
struct Last {
    #[serde(default = "last_lines")]
    last: u32,
}

fn last_lines() -> u32 {
    50
}

/// The transcript of a chat.
async fn show(
    Extract(admin): Extract<Admin>,
    Path((name, chat)): Path<(String, String)>,
    Query(Last { last }): Query<Last>,
) -> Answer<Vec<Line>> {
    let user = super::user(&admin, &name).await?;
    let chat: ChatId = chat.parse()?;
    admin.control.chats().chat(user.workspace, chat).await?;
    let lines = admin.control.inbox().transcript(user.workspace, chat, last.min(10_000)).await?;
    json(
        lines
            .into_iter()
            .map(|line| Line { at: time(line.at), from: line.from, text: line.text })
            .collect(),
    )
}

async fn change(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path((name, chat)): Path<(String, String)>,
    Body(change): Body<ChatChange>,
) -> Answer<ChatView> {
    let user = super::user(&admin, &name).await?;
    let id: ChatId = chat.parse()?;
    let control = &admin.control;
    let mut chat = control.chats().chat(user.workspace, id).await?;
    if change.archived.is_some() {
        let place = control.people().place_of_chat(user.workspace, id).await?;
        asker.require_to_direct(&place).await?;
    }
    if let Some(title) = change.title.as_deref() {
        chat = control
            .chats()
            .rename_chat(asker.actor(), user.workspace, id, &checked_title(title)?)
            .await?;
    }
    if let Some(archived) = change.archived {
        chat = control.chats().archive_chat(asker.actor(), user.workspace, id, archived).await?;
    }
    if change.clear {
        control.inbox().clear_chat_now(asker.actor(), user.workspace, id).await?;
    }
    json(view(chat))
}

pub(crate) fn checked_title(title: &str) -> Result<String, Failure> {
    let title = title.trim();
    if title.chars().count() > MAX_TITLE_CHARS || title.chars().any(char::is_control) {
        return Err(Failure::said(ErrorCode::BadRequest, |to| {
            say!(to, "a title is one line of at most {most} characters", most = MAX_TITLE_CHARS)
        }));
    }
    Ok(title.to_owned())
}
