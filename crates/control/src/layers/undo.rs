//! Taking back what a task did to the files of its chat, and bringing it back again.
//!
//! Promises: what somebody changed after the task stays as it is and is named; what is taken back is kept, so that it
//! can be brought back; like a landing, all of it happens or nothing.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use cloister_protocol::admin::{FileChangeView, UndoView};
use cloister_protocol::with_causes;
use cloister_store::Actor;
use cloister_store::audit::Entry;
use cloister_store::layers::{Layer, LayerState};

use super::Layers;
use super::landing::{Landed, LandedChange};
use super::moving::{MoveStep, Root};
use super::place::{LayerPlace, open_files};
use super::plan::{ChangeKind, Plan};
use super::print::{FilePrint, in_the_way, within};
use super::told;
use crate::error::Fault;
use crate::layout::{Layout, replace_private};
use crate::tasks::{ReachedTask, TaskError, TaskRefusal};

impl Layers {
    /// Lands what a task did that failed or was cancelled.
    pub async fn keep(
        &self,
        actor: &Actor,
        reached: &ReachedTask,
    ) -> Result<Vec<FileChangeView>, TaskError> {
        let task = reached.task();
        let alone = self.control.inner.landings.alone(task.workspace).await;
        let layer = self.control.store().layers().of(task.id).await?;
        let layer = layer.filter(|layer| layer.state == LayerState::Kept);
        let Some(layer) = layer else {
            return Err(TaskRefusal::NothingKept { id: task.id }.into());
        };
        let plan = self.plan(&layer).await?;
        let entry = Entry::new(actor, "task.keep", task.id).with(told::summary(&plan));
        let states = (LayerState::Kept, LayerState::Landing);
        let entry = entry.of_workspace(task.workspace);
        self.control.inner.landings.may_be_left();
        if self.control.store().layers().begin_moving(task.id, states, None, entry).await? {
            self.carry_out(&Layer { state: LayerState::Landing, ..layer }, &alone).await?;
            self.took(task.workspace, plan.taken);
        }
        Ok(plan.changes.iter().map(told::view).collect())
    }

    /// Takes back what a task did to the files, or brings back what was taken back; or says what that would do.
    pub async fn undo(
        &self,
        actor: &Actor,
        reached: &ReachedTask,
        dry_run: bool,
    ) -> Result<UndoView, TaskError> {
        let task = reached.task();
        let alone = self.control.inner.landings.alone(task.workspace).await;
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
        self.control.inner.landings.may_be_left();
        if self.control.store().layers().begin_moving(task.id, states, None, entry).await? {
            self.carry_out(&Layer { state: to, ..layer }, &alone).await?;
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
    let files = open_files(layout, (layer.workspace, layer.chat))?;
    let again = layer.state == LayerState::Undone;
    let mut collides = Vec::new();
    let mut meant = Vec::new();
    for one in &landed.changes {
        let there = FilePrint::beneath(&files, one.at())?;
        match if again { forwards(one, there) } else { backwards(one, there) } {
            Some(steps) => meant.push((one, steps)),
            None if one.undone.is_some() == again => collides.push(one.at().to_owned()),
            None => {}
        }
    }
    let (made, gone) = match again {
        true => (landed.folders.clone(), landed.lost.clone()),
        // Each list as it was made or lost, the other way round.
        false => (
            landed.lost.iter().rev().cloned().collect::<Vec<_>>(),
            landed.folders.iter().rev().cloned().collect::<Vec<_>>(),
        ),
    };
    let mut room = Room { files: &files, away: BTreeSet::new(), gone: BTreeSet::new() };
    room.away =
        meant.iter().filter(|(_, steps)| steps.away.is_some()).map(|(one, _)| one.at()).collect();
    room.gone = gone.iter().map(|(path, _)| path.as_str()).collect();
    let mut back = Vec::new();
    let mut plan = Plan::default();
    for (one, steps) in &meant {
        if steps.back.is_some() && !room.is_for(one.at())? {
            collides.push(one.at().to_owned());
            continue;
        }
        // What is taken away makes room for what comes back, as a folder for a file.
        plan.steps.extend(steps.away.clone());
        back.extend(steps.back.clone());
        plan.changes.push(one.change.clone());
    }
    plan.steps.extend(gone.iter().map(|(path, _)| MoveStep::NoFolder { path: path.clone() }));
    plan.steps.extend(made.into_iter().map(|(path, mode)| MoveStep::Folder { path, mode }));
    plan.steps.extend(back);
    collides.sort();
    if !dry_run {
        replace_private(
            &place.plan(layer.task),
            &serde_json::to_vec(&plan).map_err(io::Error::other)?,
        )?;
    }
    Ok((plan, collides))
}

/// What an undo moves of one change.
struct Steps {
    away: Option<MoveStep>,
    back: Option<MoveStep>,
}

/// What there is room for once what a task did is taken away.
struct Room<'a> {
    files: &'a OwnedFd,
    /// Files that are taken away, and folders that are removed if they are empty then.
    away: BTreeSet<&'a str>,
    gone: BTreeSet<&'a str>,
}

impl Room<'_> {
    fn is_for(&self, at: &str) -> io::Result<bool> {
        if in_the_way(self.files, at)?.is_some_and(|other| !self.away.contains(other)) {
            return Ok(false);
        }
        // A folder in its place goes away if nobody has put anything into it.
        let mut look = vec![at.to_owned()];
        while let Some(path) = look.pop() {
            match within(self.files, &path, self.away.len() + self.gone.len())? {
                Some(_) if !self.gone.contains(path.as_str()) => return Ok(false),
                Some(names) => look.extend(names),
                None if path != at && !self.away.contains(path.as_str()) => return Ok(false),
                None => {}
            }
        }
        Ok(true)
    }
}

fn steps(at: &str, (away, there): (Option<Root>, Option<FilePrint>), back: Option<Root>) -> Steps {
    let place = |root: Root| (root, at.to_owned());
    Steps {
        away: away.map(|to| MoveStep::Move { from: place(Root::Files), to: place(to), was: there }),
        back: back.map(|from| MoveStep::Move {
            from: place(from),
            to: place(Root::Files),
            was: None,
        }),
    }
}

/// The steps that take a change back, if what is there is what the task left.
fn backwards(one: &LandedChange, there: Option<FilePrint>) -> Option<Steps> {
    if one.undone.is_some() || there != one.print {
        return None;
    }
    let (away, back) = (Some(Root::Undone), Some(Root::Before));
    Some(match one.change.kind {
        ChangeKind::Added => steps(one.at(), (away, there), None),
        ChangeKind::Changed => steps(one.at(), (away, there), back),
        ChangeKind::Removed => steps(one.at(), (None, there), back),
    })
}

/// The steps that make a change again, if what is there is what the undo left.
fn forwards(one: &LandedChange, there: Option<FilePrint>) -> Option<Steps> {
    if one.undone.is_none_or(|restored| restored != there) {
        return None;
    }
    let (away, back) = (Some(Root::Before), Some(Root::Undone));
    Some(match one.change.kind {
        ChangeKind::Added => steps(one.at(), (None, there), back),
        ChangeKind::Changed => steps(one.at(), (away, there), back),
        ChangeKind::Removed => steps(one.at(), (away, there), None),
    })
}

/// Notes which changes are taken back now, or made again.
pub(super) fn note_undone(
    place: &LayerPlace,
    (layer, plan): (&Layer, &Plan),
    files: &OwnedFd,
) -> io::Result<()> {
    let mut landed: Landed =
        serde_json::from_slice(&fs::read(place.landed(layer.task))?).map_err(io::Error::other)?;
    let meant: BTreeSet<_> =
        plan.changes.iter().map(|change| (&change.path, &change.beside)).collect();
    for one in &mut landed.changes {
        if !meant.contains(&(&one.change.path, &one.change.beside)) {
            continue;
        }
        one.undone = match layer.state {
            LayerState::Undoing => Some(FilePrint::beneath(files, one.at())?),
            _ => None,
        };
    }
    replace_private(&place.landed(layer.task), &serde_json::to_vec(&landed).map_err(io::Error::other)?)
        .inspect_err(|error| {
            tracing::error!(task = %layer.task, error = with_causes(error), "an undo could not be noted");
        })
}
