//! Taking back what a task did, and bringing it back again.
//!
//! Promises: what somebody changed after the task stays as it is and is named; what is taken back is kept, so that it
//! can be brought back; like a landing, all of it happens or nothing; what left the machine is named and stays out.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use cloister_protocol::admin::{FileChangeView, UndoView};
use cloister_protocol::{TaskId, with_causes};
use cloister_store::Actor;
use cloister_store::audit::Entry;
use cloister_store::layers::{Layer, LayerState};
use cloister_store::tasks::Task;
use ref_cast::RefCast as _;

use super::Layers;
use super::documents::DocumentUndo;
use super::landing::{Landed, LandedChange};
use super::moving::{MoveStep, Root};
use super::place::{LayerPlace, open_files};
use super::plan::{ChangeKind, Plan};
use super::print::{FilePrint, in_the_way, within};
use super::pruning::Pruning;
use super::told;
use crate::error::Fault;
use crate::layout::{Layout, replace_private};
use crate::tasks::{ReachedTask, TaskError, TaskRefusal};

/// What somebody wants of an undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoWish {
    Back,
    /// What was taken back is to be there again.
    Again,
    /// Whichever of the two has not happened last.
    Turn,
}

impl Layers {
    /// Lands what a task did that failed or was cancelled, or what its landing held back.
    pub async fn keep(
        &self,
        actor: &Actor,
        reached: &ReachedTask,
    ) -> Result<Vec<FileChangeView>, TaskError> {
        let task = reached.task();
        let alone = self.control.inner.landings.alone(task.workspace).await;
        let layer = self.control.store().layers().of(task.id).await?;
        let layer = match layer {
            Some(layer) if layer.state == LayerState::Kept => layer,
            Some(layer) if layer.state == LayerState::Landed => {
                return self.land_held(actor, (layer, &alone), None).await;
            }
            Some(_) | None => return Err(TaskRefusal::NothingKept { id: task.id }.into()),
        };
        let plan = self.plan(&layer).await?;
        let entry = Entry::new(actor, "task.keep", task.id).with(told::summary(&plan));
        let states = (LayerState::Kept, LayerState::Landing);
        let entry = entry.of_workspace(task.workspace);
        self.control.inner.landings.may_be_left();
        if self.control.store().layers().begin_moving(task.id, states, None, entry).await? {
            self.carry_out(&Layer { state: LayerState::Landing, ..layer }, &alone).await?;
            Pruning::ref_cast(&self.control).took(task.workspace, plan.taken);
            self.say_changed(task);
        }
        let held = plan.held.iter().map(told::view_held);
        Ok(plan.changes.iter().map(told::view).chain(held).collect())
    }

    /// Lets go of what a task did that never came into the chat's files: its room is free again.
    pub async fn let_go(&self, actor: &Actor, reached: &ReachedTask) -> Result<(), TaskError> {
        let task = reached.task();
        let _alone = self.control.inner.landings.alone(task.workspace).await;
        let layer = self.control.store().layers().of(task.id).await?;
        let Some(layer) = layer.filter(|layer| layer.state == LayerState::Kept) else {
            return Err(TaskRefusal::NothingKept { id: task.id }.into());
        };
        let entry =
            Entry::new(actor, "task.drop", task.id).with("what it did to files is let go of");
        self.control.store().audit().record(entry.of_workspace(task.workspace)).await?;
        self.remove(&layer).await?;
        self.say_changed(task);
        Ok(())
    }

    /// Takes back what a task did, or brings back what was taken back; or says what that would do.
    pub async fn undo(
        &self,
        actor: &Actor,
        reached: &ReachedTask,
        (wish, dry_run): (UndoWish, bool),
    ) -> Result<UndoView, TaskError> {
        let task = reached.task();
        let alone = self.control.inner.landings.alone(task.workspace).await;
        let layer = self.control.store().layers().of(task.id).await?;
        let documents = self.control.store().task_documents().of(task.id).await?;
        let again = match wish {
            UndoWish::Back => false,
            UndoWish::Again => true,
            UndoWish::Turn => {
                let files = layer.as_ref().is_some_and(|one| one.state == LayerState::Undone);
                files || documents.iter().any(|change| change.undone.is_some())
            }
        };
        let from = if again { LayerState::Undone } else { LayerState::Landed };
        let layer = layer.filter(|layer| layer.state == from);
        if layer.is_none() && documents.iter().all(|change| change.undone.is_some() != again) {
            return Err(TaskRefusal::NothingToUndo { id: task.id }.into());
        }
        let (plan, mut collides) = match &layer {
            Some(layer) => self.decide(layer, dry_run).await?,
            None => (Plan::default(), Vec::new()),
        };
        let mut of_agent =
            DocumentUndo::ref_cast(&self.control).plan_documents(task.workspace, &documents, again);
        collides.append(&mut of_agent.collides);
        let mut view = UndoView {
            task: task.id,
            again,
            done: !(dry_run || plan.changes.is_empty() && of_agent.is_empty()),
            files: plan.changes.iter().map(told::view).collect(),
            documents: std::mem::take(&mut of_agent.views),
            collides,
            outward: self.outward(task).await?,
        };
        if !view.done {
            return Ok(view);
        }
        let summary = told::summary(&plan);
        let summary = format!("{summary}, {} documents", view.documents.len());
        let (to, action) = match again {
            true => (LayerState::Redoing, "task.redo"),
            false => (LayerState::Undoing, "task.undo"),
        };
        let entry = Entry::new(actor, action, task.id).with(summary).of_workspace(task.workspace);
        let why = if again { format!("{} again", task.id) } else { format!("Undo of {}", task.id) };
        let moves = match layer.filter(|_layer| !plan.changes.is_empty()) {
            Some(layer) => {
                let states = (layer.state, to);
                self.control.inner.landings.may_be_left();
                let begun =
                    self.control.store().layers().begin_moving(task.id, states, None, entry);
                begun.await?.then_some(Layer { state: to, ..layer })
            }
            None => {
                self.control.store().audit().record(entry).await?;
                None
            }
        };
        let at = (task.workspace, why.as_str());
        view.collides.extend(
            DocumentUndo::ref_cast(&self.control).carry_out_documents(actor, at, of_agent).await,
        );
        if let Some(layer) = moves {
            self.carry_out(&layer, &alone).await?;
        }
        self.say_changed(task);
        Ok(view)
    }

    /// Goes on with the documents of an undo that a kill has interrupted.
    pub(super) async fn take_up_documents(&self, layer: &Layer) -> Result<(), Fault> {
        let again = match layer.state {
            LayerState::Undoing => false,
            LayerState::Redoing => true,
            _ => return Ok(()),
        };
        let documents = self.control.store().task_documents().of(layer.task).await?;
        let plan = DocumentUndo::ref_cast(&self.control).plan_documents(
            layer.workspace,
            &documents,
            again,
        );
        let why = format!("Undo of {}, gone on with after a stop", layer.task);
        DocumentUndo::ref_cast(&self.control)
            .carry_out_documents(&Actor::CONTROL, (layer.workspace, &why), plan)
            .await;
        Ok(())
    }

    async fn decide(&self, layer: &Layer, dry_run: bool) -> Result<(Plan, Vec<String>), Fault> {
        let (layout, of) = (self.control.layout().clone(), layer.clone());
        let others = self.control.store().layers().of_workspace(layer.workspace).await?;
        let in_force = [LayerState::Landed, LayerState::Undone];
        let others = others.into_iter().filter(|one| {
            (one.chat, one.task != of.task) == (of.chat, true) && in_force.contains(&one.state)
        });
        let others: Vec<TaskId> = others.map(|one| one.task).collect();
        let failed = "what a task did could not be looked at";
        let decide = move || decide(&layout, &of, &others, dry_run);
        let decided =
            tokio::task::spawn_blocking(decide).await.map_err(Fault::interrupted(failed))?;
        decided.map_err(Fault::io(failed))
    }

    /// What left the machine by a task, in words.
    pub(super) async fn outward(&self, task: &Task) -> Result<Vec<String>, Fault> {
        let at = (task.workspace, task.id);
        let outward = self.control.store().task_documents().outward(at).await?;
        let said = outward.into_iter().map(|(action, what)| match action.as_str() {
            "file.send" => what.rsplit('/').next().unwrap_or(&what).to_owned(),
            // Behind the address is the digest of what was sent.
            _ => {
                what.rsplit_once(' ').map_or(what.clone(), |(request, _digest)| request.to_owned())
            }
        });
        Ok(said.collect())
    }

    /// The newest task of a chat that can be taken back, with which an undo begins.
    pub(crate) async fn last_landed(
        &self,
        chat: (cloister_protocol::WorkspaceId, cloister_protocol::ChatId),
    ) -> Result<Option<cloister_protocol::TaskId>, Fault> {
        let layers = self.control.store().layers().of_workspace(chat.0).await?;
        let landed =
            layers.into_iter().filter(|one| one.chat == chat.1 && one.state == LayerState::Landed);
        let landed = landed.map(|layer| layer.task).max();
        let documents = self.control.store().task_documents().newest_of_chat(chat).await?;
        Ok(landed.max(documents))
    }
}

/// What an undo, or its undo, would do, on disk unless it is only asked; and what stands in its way.
fn decide(
    layout: &Layout,
    layer: &Layer,
    others: &[TaskId],
    dry_run: bool,
) -> io::Result<(Plan, Vec<String>)> {
    let place = LayerPlace::of(layout, layer.workspace);
    let landed: Landed =
        serde_json::from_slice(&fs::read(place.landed(layer.task))?).map_err(io::Error::other)?;
    let files = open_files(layout, (layer.workspace, layer.chat))?;
    let again = layer.state == LayerState::Undone;
    let mut collides = Vec::new();
    let mut meant = Vec::new();
    let later = changed_later(&place, landed.landed_ns, others)?;
    for one in &landed.changes {
        let there = FilePrint::beneath(&files, one.at())?;
        match if again { forwards(one, there) } else { backwards(one, there) } {
            // What is not there looks the same, whoever removed it.
            Some(_) if later.contains(one.at()) => collides.push(one.at().to_owned()),
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

/// The files that tasks changed which landed later, as far as that is in force.
fn changed_later(
    place: &LayerPlace,
    landed_ns: i64,
    others: &[TaskId],
) -> io::Result<BTreeSet<String>> {
    let mut paths = BTreeSet::new();
    for other in others {
        let json = match fs::read(place.landed(*other)) {
            // Let go of meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            json => json?,
        };
        let other: Landed = serde_json::from_slice(&json).map_err(io::Error::other)?;
        if other.landed_ns > landed_ns {
            let in_force = other.changes.iter().filter(|one| one.undone.is_none());
            paths.extend(in_force.map(|one| one.at().to_owned()));
        }
    }
    Ok(paths)
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

#[cfg(test)]
#[path = "undo_tests.rs"]
pub(super) mod tests;
