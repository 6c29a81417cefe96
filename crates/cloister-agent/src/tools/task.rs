//! `task`: a sub-task; its report is the result.

use cloister_protocol::link::{Asked, Outcome};
use serde::Deserialize;
use serde_json::json;

use super::{Effect, Handler, Tool, object, parse};

pub(super) const TOOL: Tool = Tool {
    name: "task",
    about: "Hand a part of the work to another executor and wait for its report. It sees the same \
            files but not what you know: put everything it needs in the instructions.",
    parameters: || {
        object(
            json!({
                "title": {"type": "string", "description": "A few words for the task list."},
                "instructions": {"type": "string", "description": "What to do and what to bring back."},
            }),
            &["title", "instructions"],
        )
    },
    effect: Effect::Asks,
    handler: Handler::Request(ask),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {
    #[serde(default)]
    title: String,
    #[serde(alias = "description", alias = "prompt")]
    instructions: String,
}

fn ask(arguments: &str) -> Result<Asked, Outcome> {
    let Args { title, instructions } = parse(arguments)?;
    Ok(Asked::Delegate { title, instructions, risky: false, hosts: None, secrets: None })
}
