//! `python`: a Python program in the folder of the chat.

use std::time::Duration;

use cloister_protocol::link::Outcome;
use serde::Deserialize;
use serde_json::json;

use super::{Effect, Handler, Program, Tool, object, parse};

const TIMEOUT: Duration = Duration::from_secs(120);

pub(super) const TOOL: Tool = Tool {
    name: "python",
    about: "Run a Python 3 program in /chat. What it prints comes back with the exit code. Killed \
            after 120 s; use bash for longer runs.",
    parameters: || object(json!({"code": {"type": "string"}}), &["code"]),
    effect: Effect::Changes,
    handler: Handler::Program(program),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {
    #[serde(alias = "script")]
    code: String,
}

fn program(arguments: &str) -> Result<Program, Outcome> {
    let Args { code } = parse(arguments)?;
    Ok(Program {
        name: "python3",
        arguments: vec!["-".to_owned()],
        input: Some(code.into_bytes()),
        timeout: TIMEOUT,
    })
}
