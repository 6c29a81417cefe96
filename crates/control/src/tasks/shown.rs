//! Tasks, for who shows them.

use cloister_protocol::link::Step;
use cloister_protocol::{TaskId, WorkspaceId};
use cloister_store::tasks::Task;

use super::Tasks;
use crate::error::Fault;

impl Tasks {
    pub async fn find(&self, id: TaskId) -> Result<Task, Fault> {
        Ok(self.control.store().tasks().task(id).await?)
    }

    /// The newest of a workspace.
    pub async fn list(&self, workspace: WorkspaceId, count: u32) -> Result<Vec<Task>, Fault> {
        Ok(self.control.store().tasks().list(workspace, count).await?)
    }

    pub async fn open(&self, workspace: WorkspaceId) -> Result<Vec<Task>, Fault> {
        Ok(self.control.store().tasks().open_tasks(workspace).await?)
    }

    /// What a task did.
    pub async fn steps(&self, id: TaskId) -> Result<Vec<Step>, Fault> {
        Ok(self.control.store().tasks().steps(id).await?)
    }

    /// How many wait for an executor.
    pub async fn queued(&self) -> Result<i64, Fault> {
        Ok(self.control.store().tasks().queued_tasks().await?)
    }
}
