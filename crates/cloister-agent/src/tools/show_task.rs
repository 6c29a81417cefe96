//! `show_task`: one task in full.

use cloister_protocol::TaskId;
use cloister_protocol::link::{Asked, Outcome};
use serde::Deserialize;
use serde_json::json;

use super::{Effect, Handler, Tool, object, parse};

pub(super) const TOOL: Tool = Tool {
    name: "show_task",
    about: "Show the state and result of one task.",
    parameters: || {
        let task = json!({"task": {"type": "string", "description": "The task's id, such as T3."}});
        object(task, &["task"])
    },
    effect: Effect::AsksFreely,
    handler: Handler::Request(ask),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {
    task: TaskId,
}

fn ask(arguments: &str) -> Result<Asked, Outcome> {
    let Args { task } = parse(arguments)?;
    Ok(Asked::ShowTask { task })
}
