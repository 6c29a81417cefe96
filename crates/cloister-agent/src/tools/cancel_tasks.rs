//! `cancel_tasks`: stops one task or every open one of the chat.

use cloister_protocol::TaskId;
use cloister_protocol::link::{Asked, Outcome};
use serde::Deserialize;
use serde_json::json;

use super::{Effect, Handler, Tool, object, parse};

pub(super) const TOOL: Tool = Tool {
    name: "cancel_tasks",
    about: "Cancel one task, or every open task of this chat when none is named.",
    parameters: || {
        let task = json!({"task": {"type": "string", "description": "The task's id, such as T3."}});
        object(task, &[])
    },
    effect: Effect::AsksFreely,
    handler: Handler::Request(ask),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {
    #[serde(default)]
    task: Option<TaskId>,
}

fn ask(arguments: &str) -> Result<Asked, Outcome> {
    let Args { task } = parse(arguments)?;
    Ok(Asked::CancelTasks { task })
}
