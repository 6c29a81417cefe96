//! What tasks do to the files of their chats.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::TaskId;

/// The files that a task has added, changed and removed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TaskFiles {
    pub task: TaskId,
    /// `open`: nobody else sees it yet; `landed`: it is in the chat; `kept`: the task ended without; `undone`: it was
    /// taken back; empty: the task did nothing to files.
    pub state: String,
    pub files: Vec<FileChangeView>,
    /// What does not land, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// What the task removed and somebody else changed meanwhile: it stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stayed: Vec<String>,
}

impl Default for TaskFiles {
    fn default() -> Self {
        Self {
            task: TaskId::from_number(0),
            state: String::new(),
            files: Vec::new(),
            left_out: Vec::new(),
            stayed: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct FileChangeView {
    pub path: String,
    /// `added`, `changed` or `removed`.
    pub change: String,
    /// After the change; before it where it was removed.
    pub size: u64,
    /// Where it is instead, because somebody else changed what is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
    /// How a short text file differs from before, as `diff -u` says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    #[serde(default)]
    pub undone: bool,
    /// Which of a person's own programs would run it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<String>,
    /// It does not land before somebody has said yes.
    #[serde(default)]
    pub held: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UndoTask {
    /// Only says what it would do.
    #[serde(default)]
    pub dry_run: bool,
}

/// What became of an undo, or of the undo of one.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct UndoView {
    pub task: TaskId,
    /// What had been taken back is there again.
    pub again: bool,
    /// Otherwise it was only asked what it would do, or there was nothing to do.
    pub done: bool,
    pub files: Vec<FileChangeView>,
    /// Files that somebody changed since: they stay as they are.
    pub collides: Vec<String>,
}
