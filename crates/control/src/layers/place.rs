//! Where layers are: `<data>/layers/w1/T5/`, with a folder for each launch that had its own (`1/upper`, `1/work`), and
//! what the landing took away (`before/`) or held back (`held/`) and an undo took away (`undone/`).

use std::io;
use std::path::{Path, PathBuf};

use cloister_protocol::{TaskId, WorkspaceId};
use cloister_store::layers::LayerFolder;

use crate::layout::{Layout, private_dir};

pub(super) const UPPER: &str = "upper";
const WORK: &str = "work";
pub(super) const BEFORE: &str = "before";
pub(super) const UNDONE: &str = "undone";
pub(super) const HELD: &str = "held";

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

    pub(super) fn landed(&self, task: TaskId) -> PathBuf {
        self.task(task).join("landed.json")
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }
}
