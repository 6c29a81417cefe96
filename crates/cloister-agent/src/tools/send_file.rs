//! `send_file`: delivers a file to the person.

use cloister_protocol::link::{Asked, CHAT_PATH, Outcome};
use serde::Deserialize;
use serde_json::json;

use super::{Effect, Handler, Tool, failed, object, parse};
use crate::files;

pub(super) const TOOL: Tool = Tool {
    name: "send_file",
    about: "Send a file to the person.",
    parameters: || {
        object(
            json!({
                "path": {"type": "string", "description": "The file, relative to /chat."},
                "name": {"type": "string", "description": "What the person sees it called; its own name otherwise."},
            }),
            &["path"],
        )
    },
    effect: Effect::Asks,
    handler: Handler::Request(ask),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {
    #[serde(alias = "file_path", alias = "filename")]
    path: String,
    #[serde(default)]
    name: Option<String>,
}

fn ask(arguments: &str) -> Result<Asked, Outcome> {
    let Args { path, name } = parse(arguments)?;
    // Counted from the chat, however it was written.
    let inside = files::of_chat(&path)
        .or_else(|| files::inside(CHAT_PATH, &path))
        .unwrap_or(&path)
        .trim_start_matches("./");
    if inside.is_empty() {
        return Err(failed("path is empty: name a file of the chat"));
    }
    Ok(Asked::SendFile { path: inside.to_owned(), name })
}
