//! `finish`: ends the task with what it claims to have done.

use cloister_protocol::Usage;
use cloister_protocol::link::{Claim, Finish, Outcome};
use serde::Deserialize;
use serde_json::json;

use super::{Effect, Handler, Tool, object, parse};

pub(super) const TOOL: Tool = Tool {
    name: "finish",
    about: "End the task. Say what was done or why it could not be, and list what you claim, each with the name of \
            the file or the command that shows it. Claims are checked against the record.",
    parameters: || {
        object(
            json!({
                "result": {"type": "string", "description": "What came of it, for the person."},
                "claims": {"type": "array", "items": {"type": "string"}, "description": "A file made, a test passed, a file sent …"},
                "ok": {"type": "boolean", "description": "False when the task could not be done."},
            }),
            &["result"],
        )
    },
    effect: Effect::Reads,
    handler: Handler::Finish(finish),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {
    result: String,
    #[serde(default)]
    claims: Vec<Claimed>,
    #[serde(default = "yes")]
    ok: bool,
}

/// In words; models that can name the call that shows it may.
#[derive(Deserialize)]
#[serde(untagged)]
enum Claimed {
    Words(String),
    WithCall(Claim),
}

impl From<Claimed> for Claim {
    fn from(claimed: Claimed) -> Self {
        match claimed {
            Claimed::Words(what) => Self { what, call: None },
            Claimed::WithCall(claim) => claim,
        }
    }
}

fn yes() -> bool {
    true
}

fn finish(arguments: &str) -> Result<Finish, Outcome> {
    let Args { result, claims, ok } = parse(arguments)?;
    let claims = claims.into_iter().map(Claim::from).collect();
    Ok(Finish { ok, result, claims, usage: Usage::default() })
}
