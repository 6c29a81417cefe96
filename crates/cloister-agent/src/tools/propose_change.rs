//! `propose_change`: a change to something that outlives the task. The control plane decides, asks the
//! person where it must, and writes it itself.

use cloister_protocol::link::{Asked, Lasting, Outcome};
use serde::Deserialize;
use serde_json::json;

use super::{Effect, Handler, Tool, failed, object, parse};

pub(super) const TOOL: Tool = Tool {
    name: "propose_change",
    about: "Propose a new text for a file of the person's workspace that outlives this work: MEMORY.md, \
            notes/NAME.md, USER.md, SOUL.md, HEARTBEAT.md, skills/NAME/SKILL.md, schedules/NAME.md or \
            tools/NAME. It is written only when \
            that is allowed, or once the person has said yes.",
    parameters: || {
        object(
            json!({
                "path": {"type": "string", "description": "The file, relative to the workspace."},
                "text": {"type": "string", "description": "Its whole new text."},
                "why": {"type": "string", "description": "Why, in a sentence for the person."},
            }),
            &["path", "text", "why"],
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
    #[serde(alias = "content")]
    text: String,
    #[serde(default, alias = "reason")]
    why: String,
}

fn ask(arguments: &str) -> Result<Asked, Outcome> {
    let Args { path, text, why } = parse(arguments)?;
    let path = path.trim().trim_start_matches("/workspace/").trim_start_matches("./").to_owned();
    let what = kind_of(&path).ok_or_else(|| {
        failed(format!(
            "{path:?} is not a file that can be proposed: MEMORY.md, notes/NAME.md, \
             USER.md, SOUL.md, HEARTBEAT.md, skills/NAME/SKILL.md, schedules/NAME.md or tools/NAME; \
             nothing was changed"
        ))
    })?;
    Ok(Asked::Propose { what, path, text, why })
}

fn kind_of(path: &str) -> Option<Lasting> {
    match path {
        "MEMORY.md" => Some(Lasting::Memory),
        "SOUL.md" | "USER.md" | "HEARTBEAT.md" => Some(Lasting::Config),
        _ if path.starts_with("notes/") => Some(Lasting::Memory),
        _ if path.starts_with("schedules/") => Some(Lasting::Schedule),
        _ if path.starts_with("skills/") => Some(Lasting::Skill),
        _ if path.starts_with("tools/") => Some(Lasting::Tool),
        _ => None,
    }
}
