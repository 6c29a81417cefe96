//! Files that outlive tasks and steer the agent: written by the control plane alone, each change with
//! its author and what it replaced.

use cloister_protocol::WorkspaceId;

use crate::control::Control;
use crate::error::ControlError;
use crate::files::RelPath;

/// One change to one file.
#[derive(Clone, Debug)]
pub struct VersionedChange {
    pub workspace: WorkspaceId,
    /// Below the workspace.
    pub path: String,
    /// The file's whole new text.
    pub text: String,
    /// Who decided it, in words.
    pub author: String,
    pub why: String,
}

impl Control {
    /// Writes the file, and keeps what it was before.
    pub async fn write_versioned(&self, change: VersionedChange) -> Result<(), ControlError> {
        let failed = "the workspace could not be opened";
        let tree = self.layout().tree(change.workspace).map_err(ControlError::io(failed))?;
        let file = tree.replace(&RelPath::parse(&change.path)?, change.text.as_bytes())?;
        let failed = format!("{} could not be given to the cell", change.path);
        self.backend().adopt(change.workspace, &file).map_err(ControlError::io(failed))
    }
}
