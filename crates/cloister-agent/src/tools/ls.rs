//! `ls`: what is in a folder.

use std::fs;
use std::io;
use std::path::Path;

use cloister_protocol::link::Outcome;
use serde::Deserialize;
use serde_json::json;

use super::place::{ChatFolder, trouble};
use super::{Effect, Handler, Tool, done, object, parse};

const MAX_ENTRIES: usize = 500;

pub(super) const TOOL: Tool = Tool {
    name: "ls",
    about: "List a folder: names, sizes in bytes, folders with a slash.",
    parameters: || {
        let path = json!({"path": {"type": "string", "description": "The folder; the chat's own unless told."}});
        object(path, &[])
    },
    effect: Effect::Reads,
    handler: Handler::Files(run),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {
    #[serde(default, alias = "directory", alias = "dir")]
    path: Option<String>,
}

fn run(place: &ChatFolder, arguments: &str) -> Outcome {
    let args: Args = match parse(arguments) {
        Ok(args) => args,
        Err(wrong) => return wrong,
    };
    let path = args.path.as_deref().unwrap_or(".");
    let folder = match place.resolve(path) {
        Ok(folder) => folder,
        Err(wrong) => return wrong,
    };
    list(&folder).map_or_else(|error| trouble("list", path, &error), done)
}

fn list(folder: &Path) -> io::Result<String> {
    let mut lines = Vec::new();
    let mut more = 0usize;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if lines.len() == MAX_ENTRIES {
            more += 1;
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type()?;
        lines.push(if kind.is_dir() {
            format!("{name}/")
        } else if kind.is_symlink() {
            format!("{name} (link)")
        } else {
            format!("{name} {}", entry.metadata().map(|found| found.len()).unwrap_or_default())
        });
    }
    lines.sort();
    if more > 0 {
        lines.push(format!("[and {more} more]"));
    }
    Ok(if lines.is_empty() { "[empty]".to_owned() } else { lines.join("\n") })
}
