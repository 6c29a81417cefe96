//! `list_tasks`: the tasks of this chat.

use cloister_protocol::link::{Asked, Outcome};
use serde::Deserialize;
use serde_json::json;

use super::{Effect, Handler, Tool, object, parse};

pub(super) const TOOL: Tool = Tool {
    name: "list_tasks",
    about: "List the tasks of this chat with their states.",
    parameters: || object(json!({}), &[]),
    effect: Effect::AsksFreely,
    handler: Handler::Request(ask),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {}

fn ask(arguments: &str) -> Result<Asked, Outcome> {
    let Args {} = parse(arguments)?;
    Ok(Asked::ListTasks)
}
