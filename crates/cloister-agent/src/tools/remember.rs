//! `remember`: adds something to what the agent keeps in mind.

use cloister_protocol::link::{Asked, Lasting, Outcome};
use serde::Deserialize;
use serde_json::json;

use super::{Effect, Handler, Tool, failed, object, parse};

/// What is kept in mind, below the workspace.
pub(crate) const FILE: &str = "MEMORY.md";
const MAX_NOTE_BYTES: usize = 2 << 10;

pub(super) const TOOL: Tool = Tool {
    name: "remember",
    about: "Keep something in mind beyond this chat: a fact about the person or their wishes, in one or \
            two sentences. What is not in the person's own words is put to them first.",
    parameters: || {
        object(
            json!({
                "note": {"type": "string", "description": "What to keep in mind."},
                "why": {"type": "string", "description": "Why it is worth keeping."},
            }),
            &["note"],
        )
    },
    effect: Effect::Asks,
    handler: Handler::Memory(ask),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {
    #[serde(alias = "text", alias = "fact", alias = "content")]
    note: String,
    #[serde(default)]
    why: String,
}

/// `memory`: what is kept now; the note goes behind it.
fn ask(memory: &str, arguments: &str) -> Result<Asked, Outcome> {
    let Args { note, why } = parse(arguments)?;
    let words: Vec<&str> = note.split_whitespace().collect();
    let note = words.join(" ");
    if note.is_empty() || note.len() > MAX_NOTE_BYTES {
        return Err(failed(format!("a note has 1 to {MAX_NOTE_BYTES} bytes; nothing was kept")));
    }
    let before = memory.trim_end();
    let line = if before.is_empty() { "" } else { "\n" };
    let text = format!("{before}{line}- {note}\n");
    Ok(Asked::Propose { what: Lasting::Memory, path: FILE.to_owned(), text, why })
}

#[cfg(test)]
#[path = "remember_tests.rs"]
mod tests;
