//! Where layers are: `<data>/layers/w1/T5/`, with a folder for each launch that had its own (`1/upper`, `1/work`, or
//! `1/files` with `1.seen.json` where tasks work on copies), and what the landing took away (`before/`) or held back
//! (`held/`) and an undo took away (`undone/`).

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use cloister_protocol::{ChatId, TaskId, WorkspaceId};
use cloister_store::layers::LayerFolder;
use rustix::fs::{Mode, OFlags};

use super::print;
use crate::layout::{Layout, private_dir};

pub(super) const UPPER: &str = "upper";
pub(super) const COPY: &str = "files";
const WORK: &str = "work";
pub(super) const BEFORE: &str = "before";
pub(super) const UNDONE: &str = "undone";
pub(super) const HELD: &str = "held";

/// A folder of a layer as it is on disk.
#[derive(Clone, Debug)]
pub(super) enum Sheet {
    /// Laid over others: it has what the task changed, and marks for the rest.
    Overlay(PathBuf),
    /// A copy of all, and where it is noted what that was.
    Copy { files: PathBuf, seen: PathBuf },
}

impl Sheet {
    /// Where the files in it are.
    pub(super) fn files(&self) -> &Path {
        match self {
            Self::Overlay(files) | Self::Copy { files, .. } => files,
        }
    }
}

/// The folders of the layers of a workspace.
#[derive(Clone, Debug)]
pub(super) struct LayerPlace {
    root: PathBuf,
}

impl LayerPlace {
    pub(super) fn of(layout: &Layout, workspace: WorkspaceId) -> Self {
        Self { root: layout.layers().join(workspace.to_string()) }
    }

    pub(super) fn task(&self, task: TaskId) -> PathBuf {
        self.root.join(task.to_string())
    }

    /// What holds the two folders that a layer is mounted from.
    pub(super) fn top(&self, folder: LayerFolder) -> PathBuf {
        self.task(folder.task).join(folder.number.to_string())
    }

    pub(super) fn upper(&self, folder: LayerFolder) -> PathBuf {
        self.top(folder).join(UPPER)
    }

    /// The copy that a task works on, where nothing is laid over anything.
    pub(super) fn copy(&self, folder: LayerFolder) -> PathBuf {
        self.top(folder).join(COPY)
    }

    /// What a copy had when it was made; it is whole once that is there.
    pub(super) fn seen(&self, folder: LayerFolder) -> PathBuf {
        self.task(folder.task).join(format!("{}.seen.json", folder.number))
    }

    /// What it took on disk then.
    pub(super) fn size(&self, folder: LayerFolder) -> PathBuf {
        self.task(folder.task).join(format!("{}.size", folder.number))
    }

    pub(super) fn sheet(&self, folder: LayerFolder) -> Sheet {
        let seen = self.seen(folder);
        if seen.exists() {
            Sheet::Copy { files: self.copy(folder), seen }
        } else {
            Sheet::Overlay(self.upper(folder))
        }
    }

    /// Makes the folders of a layer, as far as they are missing; those that the cell writes to.
    pub(super) fn make(&self, folder: LayerFolder) -> io::Result<[PathBuf; 2]> {
        let top = self.top(folder);
        private_dir(&top)?;
        let both = [top.join(UPPER), top.join(WORK)];
        for dir in &both {
            private_dir(dir)?;
        }
        Ok(both)
    }

    /// Makes a folder of a task's that only the control plane writes to.
    pub(super) fn own(&self, task: TaskId, name: &str) -> io::Result<PathBuf> {
        let dir = self.task(task).join(name);
        private_dir(&dir)?;
        Ok(dir)
    }

    pub(super) fn plan(&self, task: TaskId) -> PathBuf {
        self.task(task).join("plan.json")
    }

    /// Where files of its landing are instead of where they were to be.
    pub(super) fn elsewhere(&self, task: TaskId) -> PathBuf {
        self.task(task).join("elsewhere.json")
    }

    /// For which message it was taken back last.
    pub(super) fn asked(&self, task: TaskId) -> PathBuf {
        self.task(task).join("asked.json")
    }

    pub(super) fn landed(&self, task: TaskId) -> PathBuf {
        self.task(task).join("landed.json")
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }
}

/// Opens the files of a chat.
pub(super) fn open_files(
    layout: &Layout,
    (workspace, chat): (WorkspaceId, ChatId),
) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let workspace = rustix::fs::open(layout.workspace(workspace), flags, Mode::empty())?;
    let path = format!("chats/{chat}/files");
    Ok(print::open(workspace, &path, flags)?)
}
