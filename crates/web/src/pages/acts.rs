//! What can be done in a chat besides writing, for browsers without script: its buttons are forms.

use axum::extract::State as Extract;
use axum::response::Redirect;
use cloister_control::IncomingMessage;
use cloister_policy::engine::ChatCall;
use cloister_protocol::link::Cause;
use cloister_protocol::{ChatId, TaskId, TurnId};

use super::session::Viewer;
use crate::agent_socket::SURFACE;
use crate::auth::random_token;
use crate::reply::{Failure, Path};
use crate::server::State;

/// Ends a task.
pub(super) async fn cancel_task(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path((chat, task)): Path<(String, String)>,
) -> Result<Redirect, Failure> {
    let (chat, id): (ChatId, TaskId) = (chat.parse()?, task.parse()?);
    let (tasks, place) = (state.control.tasks(), (viewer.workspace, chat));
    let task = tasks.task_in_chat(viewer.user.id, ChatCall::CancelTask, place, id).await?;
    tasks.cancel_task(&viewer.actor, &task).await?;
    Ok(Redirect::to(&format!("/chats/{chat}#task-{id}")))
}

/// Ends all tasks of a chat.
pub(super) async fn cancel_tasks(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path(chat): Path<String>,
) -> Result<Redirect, Failure> {
    let chat: ChatId = chat.parse()?;
    let control = &state.control;
    let (by, call) = (viewer.user.id, ChatCall::CancelTask);
    control.chats().chat(viewer.workspace, chat).await?;
    control.people().require_in_chat(by, call, viewer.workspace, chat).await?;
    control.tasks().cancel_tasks(&viewer.actor, viewer.workspace, Some(chat)).await?;
    Ok(Redirect::to(&format!("/chats/{chat}#end")))
}

/// Stops an answer that is being written.
pub(super) async fn stop_turn(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path((chat, turn)): Path<(String, String)>,
) -> Result<Redirect, Failure> {
    let (chat, turn): (ChatId, TurnId) = (chat.parse()?, TurnId::kept(turn));
    let place = (viewer.workspace, chat);
    state.control.tasks().cancel_turn_in_chat(viewer.user.id, place, &turn).await?;
    Ok(Redirect::to(&format!("/chats/{chat}#end")))
}

/// Says once more what began a turn: the answer to that takes its place.
pub(super) async fn ask_again(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path((chat, turn)): Path<(String, String)>,
) -> Result<Redirect, Failure> {
    let (chat, turn): (ChatId, TurnId) = (chat.parse()?, TurnId::kept(turn));
    let (people, by) = (state.control.people(), viewer.user.id);
    people.require_in_chat(by, ChatCall::SendMessage, viewer.workspace, chat).await?;
    let said = super::chat::said(&state, &viewer, chat, &turn).await?;
    if let Some(Cause::Message { text, attachments, .. }) = said.map(|said| said.cause) {
        let id = random_token().map_err(cloister_control::Fault::io("no id could be made"))?;
        let message = IncomingMessage {
            surface: SURFACE,
            workspace: viewer.workspace,
            chat,
            id: id.parse()?,
            from: viewer.user.name.clone(),
            text,
            attachments,
            instead: Some(turn),
            heard_in: None,
        };
        state.control.inbox().receive(message).await?;
    }
    Ok(Redirect::to(&format!("/chats/{chat}#end")))
}
