//! `bash`: a command in the folder of the chat.

use std::time::Duration;

use cloister_protocol::link::Outcome;
use serde::Deserialize;
use serde_json::json;

use super::{Effect, Handler, Program, Tool, failed, object, parse};

const DEFAULT_TIMEOUT: u64 = 120;
const MAX_TIMEOUT: u64 = 600;

pub(super) const TOOL: Tool = Tool {
    name: "bash",
    about: "Run a bash command in /chat. Output and errors come back together with the exit code; \
            of a long output the middle is left out. There is no input. Programs reach \
            allowed hosts only.",
    parameters: || {
        object(
            json!({
                "command": {"type": "string"},
                "timeout_s": {"type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT, "description": "Seconds until it is killed; 120 unless told."},
            }),
            &["command"],
        )
    },
    effect: Effect::Changes,
    handler: Handler::Program(program),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {
    #[serde(alias = "cmd")]
    command: String,
    #[serde(default)]
    timeout_s: Option<u64>,
}

fn program(arguments: &str) -> Result<Program, Outcome> {
    let Args { command, timeout_s } = parse(arguments)?;
    if command.contains('\0') {
        return Err(failed("the command holds a NUL character, which bash can't be given"));
    }
    let seconds = timeout_s.unwrap_or(DEFAULT_TIMEOUT).clamp(1, MAX_TIMEOUT);
    Ok(Program {
        name: "bash",
        arguments: vec!["-c".to_owned(), command],
        input: None,
        timeout: Duration::from_secs(seconds),
    })
}
