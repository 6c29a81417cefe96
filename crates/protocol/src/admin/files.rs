//! What tasks do to the files of their chats.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{ChatId, TaskId};

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
    /// What it changed beside files: memory, skills, schedules, settings of the agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub documents: Vec<DocumentChangeView>,
    /// What left the machine: files that were sent, requests that did more than read. No undo takes it back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outward: Vec<String>,
}

impl Default for TaskFiles {
    fn default() -> Self {
        Self {
            task: TaskId::from_number(0),
            state: String::new(),
            files: Vec::new(),
            left_out: Vec::new(),
            stayed: Vec::new(),
            documents: Vec::new(),
            outward: Vec::new(),
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
    /// Somebody changed it since: an undo leaves it as it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed_since: bool,
    /// Which of a person's own programs would run it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<String>,
    /// It does not land before somebody has said yes.
    #[serde(default)]
    pub held: bool,
}

/// A document of the agent that a task changed.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct DocumentChangeView {
    /// Below the workspace: `MEMORY.md`, `skills/NAME/SKILL.md`, …
    pub path: String,
    /// `added` or `changed`.
    pub change: String,
    /// How it differed from before, as `diff -u` says it.
    pub diff: String,
    pub undone: bool,
}

/// Files of chats that nobody has used for long.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct RetentionView {
    /// What would be put away now.
    pub next: Vec<UnusedFile>,
    /// What was put away, and lies beside.
    pub put_away: Vec<UnusedFile>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct UnusedFile {
    pub chat: ChatId,
    /// Below the chat: `files/notes.txt`.
    pub path: String,
    pub size: u64,
    /// When it was put away, and the number that it lies under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<i64>,
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
    /// Memory, skills, schedules and settings that were put back, line by line: what was changed in them since stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub documents: Vec<DocumentChangeView>,
    /// Files and documents that somebody changed since: they stay as they are.
    pub collides: Vec<String>,
    /// What left the machine, and can't be taken back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outward: Vec<String>,
}
