//! Which tools a level may use, and which of them change something.

use cloister_protocol::Level;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Allow,
    Deny { reason: String },
}

const COORDINATOR_TOOLS: &[&str] = &[
    "cancel_tasks",
    "delegate",
    "list_tasks",
    "look_at",
    "look_back",
    "propose_change",
    "remember",
    "send_file",
    "show_task",
];
const READING_TOOLS: &[&str] = &[
    "fetch_url",
    "finish",
    "glob",
    "grep",
    "look_at",
    "ls",
    "propose_plan",
    "read_file",
    "web_search",
    "write_todos",
];
const MUTATING_TOOLS: &[&str] =
    &["bash", "edit_file", "propose_change", "python", "send_file", "task", "write_file"];

/// Whether a tool changes anything: such a call is never repeated by itself.
pub fn is_mutating(tool: &str) -> bool {
    !READING_TOOLS.contains(&tool)
}

/// Whether an executor may make this call now. `plan_pending` says that a plan must be approved
/// first and has not been.
pub fn may_call(level: Level, tool: &str, plan_pending: bool) -> Decision {
    let known = match level {
        Level::Coordinator => COORDINATOR_TOOLS.contains(&tool),
        Level::Executor => READING_TOOLS.contains(&tool) || MUTATING_TOOLS.contains(&tool),
    };
    if !known {
        let reason = format!("there is no tool {tool:?} for a {}", level.as_str());
        return Decision::Deny { reason };
    }
    if plan_pending && is_mutating(tool) {
        let reason = "the request is risky: a plan must be approved before anything is changed";
        return Decision::Deny { reason: reason.to_owned() };
    }
    Decision::Allow
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
