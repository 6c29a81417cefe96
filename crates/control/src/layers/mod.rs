//! Layers: what a task does to the files of its chat, kept apart until the task is done, and then landed.
//!
//! Owns: `<data>/layers`, and since executors work on layers, all writing to the files of chats. Promises: a task sees
//! the chat's files and what it has done to them itself, and nobody else sees that before it has landed; it lands whole
//! or not at all, whatever is killed; what others changed meanwhile is not overwritten; what it changed is kept as it
//! was before.

mod asking;
mod carrying;
mod copied;
mod documents;
mod going;
mod held;
mod landing;
mod merging;
mod moving;
mod place;
mod plan;
mod print;
mod pruning;
mod reading;
mod resuming;
mod retiring;
mod scan;
mod showing;
mod standing;
mod told;
mod undo;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cloister_protocol::{TaskId, WorkspaceId};
use cloister_store::layers::{Layer, LayerFolder, LayerState};
use cloister_store::tasks::Task;
use rustix::fs::{CWD, Mode, OFlags};
use tokio::sync::{OnceCell, OwnedMutexGuard};

use crate::control::part;
use crate::error::Fault;
use crate::files::{Tree, remove_tree};
use crate::options::Layering;
use crate::ports::{Access, Mount, TaskLayer};

pub(crate) use self::asking::AskedUndo;
pub(crate) use self::held::HeldShown;
use self::place::{COPY, LayerPlace, Sheet, UPPER};
pub(crate) use self::pruning::Pruning;
pub use self::standing::TaskStanding;
pub use self::undo::UndoWish;

part! {
    /// The layers of tasks.
    pub struct Layers;
}

/// One landing of a workspace at a time.
#[derive(Debug, Default)]
pub(crate) struct Landings {
    of: Mutex<HashMap<WorkspaceId, Arc<Landing>>>,
    /// Something may have begun to move that is not at its end.
    left: AtomicBool,
    /// Whether folders can be laid over one another here, once that was tried.
    lays: OnceCell<bool>,
}

/// That of one workspace.
#[derive(Debug, Default)]
struct Landing {
    alone: Arc<tokio::sync::Mutex<()>>,
    /// What landings have taken away since it was last looked how much that is.
    taken: AtomicU64,
}

/// Nobody else moves files of the workspace while there is one of these.
#[derive(Clone, Debug)]
pub(crate) struct Alone(#[expect(dead_code, reason = "it is held")] Arc<OwnedMutexGuard<()>>);

impl Landings {
    fn of(&self, workspace: WorkspaceId) -> Arc<Landing> {
        let mut all = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(workspace).or_default())
    }

    /// Waits until nobody moves files of the workspace.
    pub(crate) async fn alone(&self, workspace: WorkspaceId) -> Alone {
        Alone(Arc::new(Arc::clone(&self.of(workspace).alone).lock_owned().await))
    }

    /// Something begins to move: from now on it is looked whether it comes to its end.
    fn may_be_left(&self) {
        self.left.store(true, Ordering::Relaxed);
    }
}

impl Layers {
    /// What an executor of a task writes to, and what it sees below it: its own earlier folders, those of its sub-tasks
    /// that are done, and those of the tasks above. As a mount at this place, in one of the two ways.
    pub(crate) async fn open(&self, task: &Task, target: &Path) -> Result<Mount, Fault> {
        let place = LayerPlace::of(self.control.layout(), task.workspace);
        let begun_ns = self.begun(&place, task.id).await?;
        let key = (task.workspace, task.chat, task.id);
        let layer = self.control.store().layers().open(key, begun_ns).await?;
        let Some(folder) = layer.stack.last().copied() else {
            let failed = "the layer of a task could not be made";
            return Err(Fault::io(failed)(io::ErrorKind::NotFound.into()));
        };
        // What it has begun in one way goes on so.
        let is_begun = |dir: PathBuf| dir.exists();
        let by_copy = match (is_begun(place.seen(folder)), is_begun(place.upper(folder))) {
            (true, _) => true,
            (false, true) => false,
            (false, false) => !self.lays().await?,
        };
        let mut over = self.below(&place, task).await?;
        let own = [place.upper(folder), place.copy(folder)];
        // Its own topmost folder is the one that is written to.
        over.retain(|sheet| own.iter().all(|own| sheet.files() != own));
        let base = over.iter().position(|sheet| matches!(sheet, Sheet::Copy { .. }));
        let base = base.map(|at| (over.split_off(at), at));
        // A copy has everything that is below it.
        let source = match base.as_ref().and_then(|(below, _)| below.first()) {
            Some(copy) => copy.files().to_owned(),
            None => self.control.layout().chat_files(task.workspace, task.chat),
        };
        if by_copy {
            return self.open_copy(task, (&place, folder), (source, over, target)).await;
        }
        self.give_folders(task, &place, folder).await?;
        let over = over.iter().map(|sheet| sheet.files().to_owned()).collect();
        let access = Access::Layered(TaskLayer { over, top: place.top(folder) });
        Ok(Mount { source, target: target.to_owned(), access })
    }

    /// Whether folders are laid over one another here.
    async fn lays(&self) -> Result<bool, Fault> {
        match self.control.inner.parts.cells.layers {
            Layering::Overlay => return Ok(true),
            Layering::Copy => return Ok(false),
            Layering::Auto => {}
        }
        let look = || async {
            let tried = self.control.backend().can_lay(&self.control.layout().layers()).await;
            if let Err(why) = &tried {
                tracing::warn!(
                    why,
                    "tasks work on copies of the chat's files: no overlay can be made here"
                );
            }
            tried.is_ok()
        };
        Ok(*self.control.inner.landings.lays.get_or_init(look).await)
    }

    async fn give_folders(
        &self,
        task: &Task,
        place: &LayerPlace,
        folder: LayerFolder,
    ) -> Result<(), Fault> {
        let failed = "the layer of a task could not be made";
        let (control, place, workspace) = (self.control.clone(), place.clone(), task.workspace);
        let made = tokio::task::spawn_blocking(move || {
            let own = place.make(folder)?;
            for dir in own.iter().chain([&place.top(folder)]) {
                control.backend().adopt(workspace, &File::open(dir)?)?;
            }
            io::Result::Ok(())
        });
        made.await.map_err(Fault::interrupted(failed))?.map_err(Fault::io(failed))
    }

    /// The copy that a task works on, of what is there now: nothing lands while it is made.
    async fn open_copy(
        &self,
        task: &Task,
        (place, folder): (&LayerPlace, LayerFolder),
        (source, over, target): (PathBuf, Vec<Sheet>, &Path),
    ) -> Result<Mount, Fault> {
        let failed = "the files of the chat could not be copied for a task";
        if !over.is_empty() {
            let why = "it was begun with an overlay, and there is none any more";
            return Err(Fault::io(failed)(io::Error::other(why)));
        }
        let room = self.control.cells().room(task.workspace).await?;
        let alone = self.control.inner.landings.alone(task.workspace).await;
        let (control, making, workspace) = (self.control.clone(), place.clone(), task.workspace);
        let copied = tokio::task::spawn_blocking(move || {
            let _alone = alone;
            let give = |file: &File| control.backend().adopt(workspace, file);
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let from = rustix::fs::open(source, flags, Mode::empty()).map_err(io::Error::from)?;
            crate::layout::private_dir(&making.top(folder))?;
            copied::make(&making, folder, (from, room), &give)
        });
        let copied = copied.await.map_err(Fault::interrupted(failed))?;
        copied.map_err(|error| Fault::io(failed)(io::Error::other(error)))?;
        let source = place.copy(folder);
        Ok(Mount { source, target: target.to_owned(), access: Access::ReadWrite })
    }

    /// The folders that a task sees over the chat's files, the uppermost first.
    async fn below(&self, place: &LayerPlace, task: &Task) -> Result<Vec<Sheet>, Fault> {
        let mut over = Vec::new();
        let mut next = Some(task.clone());
        while let Some(task) = next {
            let layer = self.control.store().layers().of(task.id).await?;
            // What has landed is in the chat's files, what has joined is in the layer above.
            let is_apart =
                |layer: &Layer| matches!(layer.state, LayerState::Open | LayerState::Kept);
            if let Some(layer) = layer.filter(is_apart) {
                over.extend(layer.stack.iter().rev().map(|folder| place.sheet(*folder)));
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
        let scanned =
            tokio::task::spawn_blocking(move || scan::scan(&stack, scan::Closed::LeaveOut)).await;
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

    fn uppers(&self, layer: &Layer) -> Vec<Sheet> {
        let place = LayerPlace::of(self.control.layout(), layer.workspace);
        layer.stack.iter().map(|folder| place.sheet(*folder)).collect()
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
            let folders = match std::fs::read_dir(task?.path()) {
                // Removed meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                folders => folders?,
            };
            for folder in folders {
                let folder = folder?.path();
                let mut counted = None;
                for (name, is_copy) in [(UPPER, false), (COPY, true)] {
                    match Tree::open(&folder.join(name)) {
                        // Another file of ours, or gone meanwhile.
                        Err(error)
                            if matches!(
                                error.kind(),
                                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                            ) => {}
                        tree => counted = Some((tree?, is_copy)),
                    }
                }
                let Some((tree, is_copy)) = counted else { continue };
                let usage = tree.usage()?;
                // Of a copy only what the task has added to it.
                let size = std::fs::read_to_string(folder.with_extension("size"));
                let copied = size.ok().and_then(|size| size.parse::<u64>().ok());
                let copied = copied.filter(|_| is_copy).unwrap_or_default();
                all.bytes = all.bytes.saturating_add(usage.bytes.saturating_sub(copied));
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
