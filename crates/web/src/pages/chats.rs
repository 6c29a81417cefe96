//! Making, naming, pinning and archiving chats.

use axum::Form;
use axum::extract::State as Extract;
use axum::response::Redirect;
use cloister_control::Branching;
use cloister_control::rows::{ListedChat, NewChat};
use cloister_protocol::{AgentId, ChatId, ErrorCode, Language, TurnId};
use cloister_words::say;
use serde::Deserialize;

use super::session::Viewer;
use crate::admin::checked_title;
use crate::auth::random_token;
use crate::reply::{Failure, Path};
use crate::server::State;

/// As much of the first words as names a chat.
const MOST_NAME_CHARS: usize = 60;

#[derive(Deserialize)]
pub(super) struct Title {
    #[serde(default)]
    title: String,
}

#[derive(Deserialize)]
pub(super) struct WantedChat {
    #[serde(default)]
    title: String,
    /// With whom: the first agent, if nobody is said.
    #[serde(default)]
    agent: AgentId,
}

pub(super) async fn add(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Form(WantedChat { title, agent }): Form<WantedChat>,
) -> Result<Redirect, Failure> {
    let title = checked_title(&title)?;
    if title.is_empty() {
        // One in which nothing was said is as good as a new one.
        let listed = state.control.chats().listed(viewer.workspace).await?;
        let is_new = |one: &&ListedChat| {
            let unnamed = one.chat.title.is_empty() || one.chat.title == one.agent_name;
            one.empty && !one.chat.archived && unnamed && one.chat.agent == agent
        };
        if let Some(one) = listed.iter().rev().find(is_new) {
            return Ok(Redirect::to(&format!("/chats/{}", one.chat.id)));
        }
    }
    let new = NewChat { title: &title, agent, context: None };
    let chat = state.control.chats().new_chat(&viewer.actor, viewer.workspace, new, None).await?;
    Ok(Redirect::to(&format!("/chats/{}", chat.id)))
}

pub(super) async fn rename(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path(chat): Path<String>,
    Form(Title { title }): Form<Title>,
) -> Result<Redirect, Failure> {
    let chat: ChatId = chat.parse()?;
    let title = checked_title(&title)?;
    state.control.chats().rename_chat(&viewer.actor, viewer.workspace, chat, &title).await?;
    Ok(Redirect::to(&format!("/chats/{chat}")))
}

/// How long the id of a form may be; ours have half of that.
const MOST_ID_BYTES: usize = 128;

#[derive(Deserialize)]
pub(super) struct Branch {
    /// The turn that the branch ends with; empty: all of the chat.
    #[serde(default)]
    turn: String,
    /// Of this form: sent twice it makes one branch.
    #[serde(default)]
    id: String,
}

/// Makes a chat that begins with this one up to a message.
pub(super) async fn branch(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path(chat): Path<String>,
    Form(Branch { turn, id }): Form<Branch>,
) -> Result<Redirect, Failure> {
    let (chat, to): (ChatId, Language) = (chat.parse()?, viewer.to);
    if id.len() > MOST_ID_BYTES {
        return Err(Failure::said(ErrorCode::BadRequest, |to| {
            say!(to, "the id of this form is too long")
        }));
    }
    let chats = state.control.chats();
    let listed = chats.listed(viewer.workspace).await?;
    let name = listed.iter().find(|one| one.chat.id == chat).map(|one| name_of(to, one));
    let name: String = name.unwrap_or_default().chars().take(MOST_NAME_CHARS).collect();
    let title = say!(to, "{name} (branch)", name);
    let key = match id.is_empty() {
        true => random_token().map_err(cloister_control::Fault::io("no id could be made"))?,
        false => id,
    };
    let key = format!("page-{key}");
    let upto = Some(turn).filter(|turn| !turn.is_empty()).map(TurnId::kept);
    let workspace = viewer.workspace;
    let branching = Branching { workspace, chat, upto, title: &title, key: &key, to };
    let made = chats.branch_chat((&viewer.actor, viewer.user.id), branching).await?;
    Ok(Redirect::to(&format!("/chats/{}#end", made.id)))
}

/// What a chat is called in lists: its name, or the words that began it.
pub(super) fn name_of(to: Language, listed: &ListedChat) -> String {
    match listed.called() {
        called if called.is_empty() => say!(to, "Chat {id}", id = listed.chat.id),
        called => called,
    }
}

#[derive(Deserialize)]
pub(super) struct Pin {
    pinned: bool,
}

pub(super) async fn pin(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path(chat): Path<String>,
    Form(Pin { pinned }): Form<Pin>,
) -> Result<Redirect, Failure> {
    let chat: ChatId = chat.parse()?;
    state.control.chats().pin_chat(&viewer.actor, viewer.workspace, chat, pinned).await?;
    Ok(Redirect::to(&format!("/chats/{chat}")))
}

#[derive(Deserialize)]
pub(super) struct Archive {
    archived: bool,
}

pub(super) async fn archive(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path(chat): Path<String>,
    Form(Archive { archived }): Form<Archive>,
) -> Result<Redirect, Failure> {
    let chat: ChatId = chat.parse()?;
    state.control.chats().archive_chat(&viewer.actor, viewer.workspace, chat, archived).await?;
    let control = &state.control;
    // There is always one to go on in.
    if archived && control.chats().of(viewer.workspace).await?.iter().all(|chat| chat.archived) {
        state.control.chats().new_chat(&viewer.actor, viewer.workspace, "", None).await?;
    }
    Ok(Redirect::to(&if archived { "/".to_owned() } else { format!("/chats/{chat}") }))
}
