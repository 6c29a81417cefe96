//! `delegate`: hands work to an executor.

use cloister_protocol::link::{Asked, Outcome};
use serde::Deserialize;
use serde_json::json;

use super::{Effect, Handler, Tool, object, parse};

pub(super) const TOOL: Tool = Tool {
    name: "delegate",
    about: "Hand work to an executor that runs in the background with its own tools (files of this \
            chat, programs). It does not see the conversation: put everything it needs in the \
            instructions. Several may run at once.",
    parameters: || {
        object(
            json!({
                "title": {"type": "string", "description": "A few words for the task list."},
                "instructions": {"type": "string", "description": "What to do, with which files, and what to bring back."},
                "hosts": {"type": "array", "items": {"type": "string"}, "description": "Only when the task should reach less than the person's allowlist: host names such as pypi.org; an empty list keeps it offline."},
                "secrets": {"type": "array", "items": {"type": "string"}, "description": "Only when the task should use fewer than all of the person's secrets: their names; an empty list gives it none."},
                "risky": {"type": "boolean", "description": "True when it spends, or changes something outside that can't be undone: the person approves its plan first. What it does to files can be undone."},
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
    #[serde(alias = "description", alias = "prompt", alias = "task")]
    instructions: String,
    #[serde(default)]
    risky: bool,
    #[serde(default)]
    hosts: Option<Vec<String>>,
    #[serde(default)]
    secrets: Option<Vec<String>>,
}

fn ask(arguments: &str) -> Result<Asked, Outcome> {
    let Args { title, instructions, risky, hosts, secrets } = parse(arguments)?;
    Ok(Asked::Delegate { title, instructions, risky, hosts, secrets })
}
