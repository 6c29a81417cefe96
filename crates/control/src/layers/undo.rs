//! Taking back what a task did to the files of its chat, and bringing it back again.
//!
//! Promises: what somebody changed after the task stays as it is and is named; what is taken back is kept, so that it
//! can be brought back; like a landing, all of it happens or nothing.

use std::fs;
use std::io;

use cloister_protocol::admin::{FileChangeView, UndoView};
use cloister_protocol::with_causes;
use cloister_store::Actor;
use cloister_store::audit::Entry;
use cloister_store::layers::{Layer, LayerState};

use super::Layers;
use super::landing::{FilePrint, Landed, LandedChange};
use super::moving::{MoveStep, Root};
use super::place::LayerPlace;
use super::plan::{ChangeKind, Plan};
use super::told;
use crate::error::Fault;
use crate::layout::{Layout, replace_private};
use crate::tasks::{ReachedTask, TaskError, TaskRefusal};

impl Layers {
    /// Lands what a task did that failed or was cancelled, or what its landing held back.
    pub async fn keep(
        &self,
        actor: &Actor,
        reached: &ReachedTask,
    ) -> Result<Vec<FileChangeView>, TaskError> {
        let task = reached.task();
        let landing = self.control.inner.landings.of(task.workspace);
        let _alone = landing.alone.lock().await;
        let layer = self.control.store().layers().of(task.id).await?;
        let layer = match layer {
            Some(layer) if layer.state == LayerState::Kept => layer,
            Some(layer) if layer.state == LayerState::Landed => {
                return self.land_held(actor, layer, None).await;
            }
            Some(_) | None => return Err(TaskRefusal::NothingKept { id: task.id }.into()),
        };
        let plan = self.plan(&layer).await?;
        let entry = Entry::new(actor, "task.keep", task.id).with(told::summary(&plan));
        let states = (LayerState::Kept, LayerState::Landing);
        let entry = entry.of_workspace(task.workspace);
        if self.control.store().layers().begin_moving(task.id, states, None, entry).await? {
            self.carry_out(&Layer { state: LayerState::Landing, ..layer }).await?;
            self.took(task.workspace, plan.taken);
        }
        let held = plan.held.iter().map(told::view_held);
        Ok(plan.changes.iter().map(told::view).chain(held).collect())
    }

    /// Takes back what a task did to the files, or brings back what was taken back; or says what that would do.
    pub async fn undo(
        &self,
        actor: &Actor,
        reached: &ReachedTask,
        dry_run: bool,
    ) -> Result<UndoView, TaskError> {
        let task = reached.task();
        let landing = self.control.inner.landings.of(task.workspace);
        let _alone = landing.alone.lock().await;
        let nothing = || TaskError::from(TaskRefusal::NothingToUndo { id: task.id });
        let layer = self.control.store().layers().of(task.id).await?.ok_or_else(nothing)?;
        let (to, action) = match layer.state {
            LayerState::Landed => (LayerState::Undoing, "task.undo"),
            LayerState::Undone => (LayerState::Redoing, "task.redo"),
            _ => return Err(nothing()),
        };
        let (layout, of) = (self.control.layout().clone(), layer.clone());
        let failed = "what a task did could not be looked at";
        let decide = move || decide(&layout, &of, dry_run);
        let decided =
            tokio::task::spawn_blocking(decide).await.map_err(Fault::interrupted(failed))?;
        let (plan, collides) = decided.map_err(Fault::io(failed))?;
        let view = UndoView {
            task: task.id,
            again: to == LayerState::Redoing,
            done: !dry_run && !plan.changes.is_empty(),
            files: plan.changes.iter().map(told::view).collect(),
            collides,
        };
        if !view.done {
            return Ok(view);
        }
        let entry = Entry::new(actor, action, task.id).with(told::summary(&plan));
        let entry = entry.of_workspace(task.workspace);
        let states = (layer.state, to);
        if self.control.store().layers().begin_moving(task.id, states, None, entry).await? {
            self.carry_out(&Layer { state: to, ..layer }).await?;
        }
        Ok(view)
    }

    /// The newest task of a chat whose files landed, with which an undo begins.
    pub(crate) async fn last_landed(
        &self,
        chat: (cloister_protocol::WorkspaceId, cloister_protocol::ChatId),
    ) -> Result<Option<cloister_protocol::TaskId>, Fault> {
        let layers = self.control.store().layers().of_workspace(chat.0).await?;
        let landed =
            layers.into_iter().filter(|one| one.chat == chat.1 && one.state == LayerState::Landed);
        Ok(landed.map(|layer| layer.task).max())
    }
}

/// What an undo, or its undo, would do, on disk unless it is only asked; and what stands in its way.
fn decide(layout: &Layout, layer: &Layer, dry_run: bool) -> io::Result<(Plan, Vec<String>)> {
    let place = LayerPlace::of(layout, layer.workspace);
    let landed: Landed =
        serde_json::from_slice(&fs::read(place.landed(layer.task))?).map_err(io::Error::other)?;
    let files = layout.chat_files(layer.workspace, layer.chat);
    let (mut plan, mut collides) = (Plan::default(), Vec::new());
    let again = layer.state == LayerState::Undone;
    if again {
        let made = landed.folders.iter().cloned();
        plan.steps.extend(made.map(|(path, mode)| MoveStep::Folder { path, mode }));
    }
    for one in &landed.changes {
        let at = one.at();
        let there = FilePrint::of(&files.join(at))?;
        match if again { forwards(one, there) } else { backwards(one, there) } {
            Some(steps) => {
                plan.steps.extend(steps);
                plan.changes.push(one.change.clone());
            }
            None if one.undone.is_some() == again => collides.push(at.to_owned()),
            None => {}
        }
    }
    if !again {
        let made = landed.folders.iter().rev();
        plan.steps.extend(made.map(|(path, _)| MoveStep::NoFolder { path: path.clone() }));
    }
    if !dry_run {
        replace_private(
            &place.plan(layer.task),
            &serde_json::to_vec(&plan).map_err(io::Error::other)?,
        )?;
    }
    Ok((plan, collides))
}

fn step(from: (Root, &str), to: (Root, &str)) -> MoveStep {
    MoveStep::Move { from: (from.0, from.1.to_owned()), to: (to.0, to.1.to_owned()) }
}

/// The steps that take a change back, if what is there is what the task left.
fn backwards(one: &LandedChange, there: Option<FilePrint>) -> Option<Vec<MoveStep>> {
    let at = one.at();
    if one.undone.is_some() || there != one.print {
        return None;
    }
    let away = step((Root::Files, at), (Root::Undone, at));
    let back = step((Root::Before, at), (Root::Files, at));
    Some(match one.change.kind {
        ChangeKind::Added => vec![away],
        ChangeKind::Changed => vec![away, back],
        ChangeKind::Removed => vec![back],
    })
}

/// The steps that make a change again, if what is there is what the undo left.
fn forwards(one: &LandedChange, there: Option<FilePrint>) -> Option<Vec<MoveStep>> {
    let at = one.at();
    if one.undone.is_none_or(|restored| restored != there) {
        return None;
    }
    let away = step((Root::Files, at), (Root::Before, at));
    let back = step((Root::Undone, at), (Root::Files, at));
    Some(match one.change.kind {
        ChangeKind::Added => vec![back],
        ChangeKind::Changed => vec![away, back],
        ChangeKind::Removed => vec![away],
    })
}

/// Notes which changes are taken back now, or made again.
pub(super) fn note_undone(
    place: &LayerPlace,
    (layer, plan): (&Layer, &Plan),
    files: &std::path::Path,
) -> io::Result<()> {
    let mut landed: Landed =
        serde_json::from_slice(&fs::read(place.landed(layer.task))?).map_err(io::Error::other)?;
    for one in &mut landed.changes {
        if !plan.changes.iter().any(|change| change.path == one.change.path) {
            continue;
        }
        one.undone = match layer.state {
            LayerState::Undoing => Some(FilePrint::of(&files.join(one.at()))?),
            _ => None,
        };
    }
    replace_private(&place.landed(layer.task), &serde_json::to_vec(&landed).map_err(io::Error::other)?)
        .inspect_err(|error| {
            tracing::error!(task = %layer.task, error = with_causes(error), "an undo could not be noted");
        })
}
