//! For whom a task is taken back: a message that a kill has left unanswered is read once more, and takes back nothing more.

use std::io;

use cloister_protocol::admin::UndoView;
use cloister_protocol::{ChatId, WorkspaceId};
use cloister_store::Actor;
use cloister_store::layers::{Layer, LayerState};
use ref_cast::RefCast as _;
use serde::{Deserialize, Serialize};

use super::landing::Landed;
use super::place::LayerPlace;
use super::{Layers, UndoWish, told};
use crate::control::part;
use crate::error::Fault;
use crate::layout::replace_private;
use crate::tasks::{ReachedTask, TaskError};

/// Which message asked, and how far the layer was then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct UndoNote {
    message: i64,
    state: String,
}

const FAILED: &str = "for whom a task was taken back could not be looked up";

part! {
    /// Taking back what a message asks for, once.
    pub(crate) struct AskedUndo;
}

impl AskedUndo {
    /// What a message of a chat has taken back, or brought back, already.
    pub(crate) async fn undone_for(
        &self,
        chat: (WorkspaceId, ChatId),
        message: i64,
    ) -> Result<Option<UndoView>, Fault> {
        let place = LayerPlace::of(self.control.layout(), chat.0);
        let layers = self.control.store().layers().of_workspace(chat.0).await?;
        let of_chat = layers.into_iter().filter(move |layer| layer.chat == chat.1);
        let look = move || {
            of_chat.map(|layer| undone(&place, &layer, message)).find_map(Result::transpose)
        };
        let found = tokio::task::spawn_blocking(look).await.map_err(Fault::interrupted(FAILED))?;
        found.transpose().map_err(Fault::io(FAILED))
    }

    /// Takes a task back, or brings it back, for a message.
    pub(crate) async fn undo_for(
        &self,
        actor: &Actor,
        reached: &ReachedTask,
        message: i64,
    ) -> Result<UndoView, TaskError> {
        let task = reached.task();
        let place = LayerPlace::of(self.control.layout(), task.workspace);
        if let Some(layer) = self.control.store().layers().of(task.id).await?
            && [LayerState::Landed, LayerState::Undone].contains(&layer.state)
        {
            let asked = UndoNote { message, state: layer.state.as_str().to_owned() };
            let note = move || {
                let json = serde_json::to_vec(&asked).map_err(io::Error::other)?;
                replace_private(&place.asked(layer.task), &json)
            };
            let noted = tokio::task::spawn_blocking(note).await;
            noted.map_err(Fault::interrupted(FAILED))?.map_err(Fault::io(FAILED))?;
        }
        Layers::ref_cast(&self.control).undo(actor, reached, (UndoWish::Turn, false)).await
    }
}

/// What it has done to this layer, if it has.
fn undone(place: &LayerPlace, layer: &Layer, message: i64) -> io::Result<Option<UndoView>> {
    let asked: UndoNote = match std::fs::read(place.asked(layer.task)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        json => serde_json::from_slice(&json?).map_err(io::Error::other)?,
    };
    // As far as before: it had only begun to ask.
    if asked.message != message || asked.state == layer.state.as_str() {
        return Ok(None);
    }
    let landed: Landed = serde_json::from_slice(&std::fs::read(place.landed(layer.task))?)
        .map_err(io::Error::other)?;
    let again = asked.state == LayerState::Undone.as_str();
    let moved = landed.changes.iter().filter(|one| one.undone.is_some() != again);
    Ok(Some(UndoView {
        task: layer.task,
        again,
        done: true,
        files: moved.map(|one| told::view(&one.change)).collect(),
        documents: Vec::new(),
        collides: Vec::new(),
        outward: Vec::new(),
    }))
}
