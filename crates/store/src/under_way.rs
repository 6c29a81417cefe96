//! What a turn is told of the tasks that go on.

use cloister_protocol::{ChatId, TaskId, TaskState, WorkspaceId};

use crate::error::{StoreError, Tried, corrupt};
use crate::tasks::Tasks;

/// A task that nobody else has asked for and that has not ended: what stays so while it works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskUnderWay {
    pub id: TaskId,
    pub chat: ChatId,
    pub title: String,
    pub state: TaskState,
}

impl Tasks {
    /// The tasks of a workspace that have not ended, without what they asked for themselves, oldest first.
    pub async fn under_way(&self, workspace: WorkspaceId) -> Result<Vec<TaskUnderWay>, StoreError> {
        let read = async {
            let rows: Vec<(u32, u32, String, String)> = sqlx::query_as(
                "SELECT id, chat, title, state FROM tasks \
                 WHERE workspace_id = ? AND parent_id IS NULL AND state IN ('queued', 'running', 'waiting') \
                 ORDER BY id",
            )
            .bind(workspace.number())
            .fetch_all(self.store.reader())
            .await
            .tried("list the tasks under way")?;
            rows.into_iter().map(under_way).collect()
        };
        self.store.memory.under_way.or_read(workspace, read).await
    }
}

fn under_way(
    (id, chat, title, state): (u32, u32, String, String),
) -> Result<TaskUnderWay, StoreError> {
    let state = TaskState::parse(&state).ok_or_else(|| corrupt("task state", &state))?;
    Ok(TaskUnderWay { id: TaskId::from_number(id), chat: ChatId::from_number(chat), title, state })
}
