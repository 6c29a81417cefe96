//! Making, renaming and archiving chats.

use axum::Form;
use axum::extract::State as Extract;
use axum::response::Redirect;
use cloister_protocol::ChatId;
use serde::Deserialize;

use super::session::Viewer;
use crate::admin::checked_title;
use crate::reply::{Failure, Path};
use crate::server::State;

#[derive(Deserialize)]
pub(super) struct Title {
    #[serde(default)]
    title: String,
}

pub(super) async fn add(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Form(Title { title }): Form<Title>,
) -> Result<Redirect, Failure> {
    let title = checked_title(&title)?;
    let chat =
        state.control.chats().new_chat(&viewer.actor, viewer.workspace, &title, None).await?;
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
