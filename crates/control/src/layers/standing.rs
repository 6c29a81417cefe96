//! How what a task did stands, and telling those who look at its chat that it stands otherwise now.

use cloister_protocol::{AgentFrame, TaskId, Update};
use cloister_store::layers::LayerState;
use cloister_store::tasks::Task;

use super::Layers;
use crate::error::Fault;

/// How what a task did stands, where something can be shown of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskStanding {
    /// Nobody else sees it yet.
    Open,
    /// It is in the chat.
    Landed,
    /// The task ended without; it can be put there.
    Kept,
    /// It is taken back.
    Undone,
}

impl TaskStanding {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Landed => "landed",
            Self::Kept => "kept",
            Self::Undone => "undone",
        }
    }
}

impl Layers {
    /// How what a task did stands; none where it did nothing, or nothing is left of it that could be shown.
    pub async fn standing(&self, task: TaskId) -> Result<Option<TaskStanding>, Fault> {
        let layer = self.control.store().layers().of(task).await?;
        let files = layer.and_then(|layer| match layer.state {
            LayerState::Open | LayerState::Landing => Some(TaskStanding::Open),
            LayerState::Landed | LayerState::Redoing => Some(TaskStanding::Landed),
            LayerState::Undone | LayerState::Undoing => Some(TaskStanding::Undone),
            LayerState::Kept => Some(TaskStanding::Kept),
            LayerState::Joined | LayerState::Gone => None,
        });
        if let Some(standing @ (TaskStanding::Open | TaskStanding::Kept | TaskStanding::Undone)) =
            files
        {
            return Ok(Some(standing));
        }
        let documents = self.control.store().task_documents().standing(task).await?;
        Ok(match documents {
            Some(true) => Some(TaskStanding::Undone),
            Some(false) => Some(TaskStanding::Landed),
            None => files,
        })
    }

    /// What a task did stands otherwise now: who looks at its chat sees it.
    pub(super) fn say_changed(&self, task: &Task) {
        let update = Update::Task {
            task: task.id,
            title: task.title.clone(),
            state: task.state,
            note: String::new(),
            parent: task.parent,
            // Its end is no news.
            told: true,
        };
        self.control.hub().say(task.workspace, task.chat, AgentFrame::Update(update), None);
    }
}
