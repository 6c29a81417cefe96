//! `glob`: files whose path matches a pattern.

use cloister_protocol::link::Outcome;
use serde::Deserialize;
use serde_json::json;

use super::pattern::Pattern;
use super::place::ChatFolder;
use super::walk::{WalkSeen, walk};
use super::{Effect, Handler, Tool, done, object, parse};

const MAX_MATCHES: usize = 500;

pub(super) const TOOL: Tool = Tool {
    name: "glob",
    about: "Find files by pattern, such as **/*.md or src/*.{c,h}; relative to /chat.",
    parameters: || object(json!({"pattern": {"type": "string"}}), &["pattern"]),
    effect: Effect::Reads,
    handler: Handler::Files(run),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {
    pattern: String,
}

fn run(place: &ChatFolder, arguments: &str) -> Outcome {
    let Args { pattern } = match parse(arguments) {
        Ok(args) => args,
        Err(wrong) => return wrong,
    };
    let pattern = pattern.strip_prefix("/chat/").unwrap_or(&pattern);
    let pattern = Pattern::new(pattern);
    let mut found = Vec::new();
    let seen = walk(place.chat(), |path, kind| {
        let shown = place.shown(path);
        if !kind.is_dir() && pattern.matches(&shown) {
            found.push(shown);
        }
        found.len() < MAX_MATCHES
    });
    if found.is_empty() {
        found.push("[nothing matches]".to_owned());
    }
    if seen == WalkSeen::Part {
        found.push("[there may be more: use a narrower pattern]".to_owned());
    }
    done(found.join("\n"))
}
