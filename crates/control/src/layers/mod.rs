//! Layers: what a task does to the files of its chat, kept apart until the task is done, and then landed.
//!
//! Owns: `<data>/layers`, and since executors work on layers, all writing to the files of chats. Promises: a task sees
//! the chat's files and what it has done to them itself, and nobody else sees that before it has landed; it lands whole
//! or not at all, whatever is killed; what others changed meanwhile is not overwritten; what it changed is kept as it
//! was before.

mod documents;
mod going;
mod landing;
mod merging;
mod moving;
mod place;
mod plan;
mod pruning;
mod reading;
mod retiring;
mod scan;
mod showing;
mod standing;
mod told;
mod undo;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use cloister_protocol::{TaskId, WorkspaceId};
use cloister_store::layers::{Layer, LayerState};
use cloister_store::tasks::Task;
use rustix::fs::CWD;

use crate::control::part;
use crate::error::Fault;
use crate::files::{Tree, remove_tree};
use crate::ports::TaskLayer;

use self::place::{LayerPlace, UPPER};

pub use self::standing::TaskStanding;
pub use self::undo::UndoWish;

part! {
    /// The layers of tasks.
    pub struct Layers;
}

/// One landing of a workspace at a time.
#[derive(Debug, Default)]
pub(crate) struct Landings(Mutex<HashMap<WorkspaceId, Arc<Landing>>>);

/// That of one workspace.
#[derive(Debug, Default)]
struct Landing {
    alone: tokio::sync::Mutex<()>,
    /// What landings have taken away since it was last looked how much that is.
    taken: AtomicU64,
}

impl Landings {
    fn of(&self, workspace: WorkspaceId) -> Arc<Landing> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(workspace).or_default())
    }
}

impl Layers {
    /// What an executor of a task writes to, and what it sees below it: its own earlier folders, those of its sub-tasks
    /// that are done, and those of the tasks above.
    pub(crate) async fn open(&self, task: &Task) -> Result<TaskLayer, Fault> {
        let place = LayerPlace::of(self.control.layout(), task.workspace);
        let begun_ns = self.begun(&place, task.id).await?;
        let key = (task.workspace, task.chat, task.id);
        let layer = self.control.store().layers().open(key, begun_ns).await?;
        let failed = "the layer of a task could not be made";
        let (control, folder) = (self.control.clone(), layer.stack.last().copied());
        let Some(folder) = folder else {
            return Err(Fault::io(failed)(io::ErrorKind::NotFound.into()));
        };
        let making = place.clone();
        let made = tokio::task::spawn_blocking(move || {
            let own = making.make(folder)?;
            for dir in own.iter().chain([&making.top(folder)]) {
                control.backend().adopt(key.0, &File::open(dir)?)?;
            }
            io::Result::Ok(())
        });
        made.await.map_err(Fault::interrupted(failed))?.map_err(Fault::io(failed))?;
        let mut over = self.below(&place, task).await?;
        // Its own topmost folder is the one that is written to.
        over.retain(|upper| *upper != place.upper(folder));
        Ok(TaskLayer { over, top: place.top(folder) })
    }

    /// The folders that a task sees over the chat's files, the uppermost first.
    async fn below(&self, place: &LayerPlace, task: &Task) -> Result<Vec<PathBuf>, Fault> {
        let mut over = Vec::new();
        let mut next = Some(task.clone());
        while let Some(task) = next {
            if let Some(layer) = self.control.store().layers().of(task.id).await? {
                over.extend(layer.stack.iter().rev().map(|folder| place.upper(*folder)));
            }
            next = match task.parent {
                Some(above) => Some(self.control.store().tasks().task(above).await?),
                None => None,
            };
        }
        Ok(over)
    }

    /// When a layer is begun, as the file system of the files counts: by a file of our own.
    async fn begun(&self, place: &LayerPlace, task: TaskId) -> Result<i64, Fault> {
        let failed = "the layer of a task could not be begun";
        let dir = place.task(task);
        let begin = move || {
            crate::layout::private_dir(&dir)?;
            let mark = dir.join("begun");
            File::options().create(true).append(true).open(&mark)?;
            let stat = rustix::fs::statat(CWD, &mark, rustix::fs::AtFlags::empty())?;
            io::Result::Ok(plan::nanoseconds(&stat))
        };
        let begun = tokio::task::spawn_blocking(begin).await.map_err(Fault::interrupted(failed))?;
        begun.map_err(Fault::io(failed))
    }

    /// A task has ended without landing: what it did is kept for a while, if it did anything.
    pub(crate) async fn set_aside(&self, task: &Task) -> Result<(), Fault> {
        let Some(layer) = self.control.store().layers().of(task.id).await? else { return Ok(()) };
        if layer.state != LayerState::Open {
            return Ok(());
        }
        if self.is_untouched(&layer).await {
            return self.remove(&layer).await;
        }
        Ok(self.control.store().layers().set_state(task.id, LayerState::Kept).await?)
    }

    /// Whether a task has done nothing to files.
    pub(super) async fn is_untouched(&self, layer: &Layer) -> bool {
        let stack = self.uppers(layer);
        let scanned = tokio::task::spawn_blocking(move || scan::scan(&stack)).await;
        matches!(scanned, Ok(Ok(scan)) if scan.entries.is_empty() && scan.left_out.is_empty())
    }

    /// Removes all that a layer has, and what its landing took away.
    pub(super) async fn remove(&self, layer: &Layer) -> Result<(), Fault> {
        self.control.store().layers().set_state(layer.task, LayerState::Gone).await?;
        let place = LayerPlace::of(self.control.layout(), layer.workspace);
        let mut tasks: Vec<TaskId> = layer.stack.iter().map(|folder| folder.task).collect();
        tasks.push(layer.task);
        tasks.sort_unstable();
        tasks.dedup();
        let failed = "a layer could not be removed";
        let remove = move || {
            for task in tasks {
                match remove_tree(&place.task(task)) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    done => done?,
                }
            }
            io::Result::Ok(())
        };
        let removed =
            tokio::task::spawn_blocking(remove).await.map_err(Fault::interrupted(failed))?;
        removed.map_err(Fault::io(failed))
    }

    fn uppers(&self, layer: &Layer) -> Vec<PathBuf> {
        let place = LayerPlace::of(self.control.layout(), layer.workspace);
        layer.stack.iter().map(|folder| place.upper(*folder)).collect()
    }

    /// What the layers of a workspace take on disk that have not landed: of the workspace's own room.
    pub(crate) fn usage(&self, workspace: WorkspaceId) -> io::Result<crate::files::Usage> {
        let mut all = crate::files::Usage::default();
        let place = LayerPlace::of(self.control.layout(), workspace);
        let tasks = match std::fs::read_dir(place.root()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(all),
            tasks => tasks?,
        };
        for task in tasks {
            for folder in std::fs::read_dir(task?.path())? {
                let upper = folder?.path().join(UPPER);
                let tree = match Tree::open(&upper) {
                    // Another file of ours, or gone meanwhile.
                    Err(error)
                        if matches!(
                            error.kind(),
                            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                        ) =>
                    {
                        continue;
                    }
                    tree => tree?,
                };
                let usage = tree.usage()?;
                all.bytes = all.bytes.saturating_add(usage.bytes);
                all.files = all.files.saturating_add(usage.files);
                all.hidden |= usage.hidden;
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
#[path = "layers_tests.rs"]
mod tests;
