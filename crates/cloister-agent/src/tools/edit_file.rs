//! `edit_file`: replaces a piece of a text file.

use std::fs;

use cloister_protocol::link::Outcome;
use serde::Deserialize;
use serde_json::json;

use super::place::{ChatFolder, trouble};
use super::write_file::replace;
use super::{Effect, Handler, Tool, done, failed, object, parse};

const MAX_FILE_BYTES: u64 = 8 << 20;

pub(super) const TOOL: Tool = Tool {
    name: "edit_file",
    about: "Replace a piece of a text file. `old` must be there exactly once, unless `all` is true.",
    parameters: || {
        object(
            json!({
                "path": {"type": "string"},
                "old": {"type": "string", "description": "The text to replace, exactly as it is in the file."},
                "new": {"type": "string"},
                "all": {"type": "boolean", "description": "Replace every occurrence."},
            }),
            &["path", "old", "new"],
        )
    },
    effect: Effect::Changes,
    handler: Handler::Files(run),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {
    #[serde(alias = "file_path", alias = "filename")]
    path: String,
    #[serde(alias = "old_string", alias = "old_str")]
    old: String,
    #[serde(alias = "new_string", alias = "new_str")]
    new: String,
    #[serde(default, alias = "replace_all")]
    all: bool,
}

fn run(place: &ChatFolder, arguments: &str) -> Outcome {
    let args: Args = match parse(arguments) {
        Ok(args) => args,
        Err(wrong) => return wrong,
    };
    let path = match place.resolve(&args.path) {
        Ok(path) => path,
        Err(wrong) => return wrong,
    };
    match fs::metadata(&path) {
        Ok(found) if !found.is_file() => return failed(format!("{:?} is not a file", args.path)),
        Ok(found) if found.len() > MAX_FILE_BYTES => {
            return failed(format!("{:?} is too large to edit: use bash", args.path));
        }
        Ok(_) => {}
        Err(error) => return trouble("edit", &args.path, &error),
    }
    let before = match fs::read_to_string(&path) {
        Ok(before) => before,
        Err(error) => return trouble("edit", &args.path, &error),
    };
    let after = match edited(&before, &args) {
        Ok(after) => after,
        Err(why) => return failed(format!("{:?} was not changed: {why}", args.path)),
    };
    match replace(&path, after.as_bytes()) {
        Ok(()) => done(format!("Edited {}.", place.shown(&path))),
        Err(error) => trouble("edit", &args.path, &error),
    }
}

fn edited(before: &str, args: &Args) -> Result<String, String> {
    if args.old.is_empty() {
        return Err("`old` is empty; use write_file to make a file".to_owned());
    }
    match before.matches(&args.old).count() {
        0 => Err("`old` is not in it; read the file and copy the text exactly".to_owned()),
        1 => Ok(before.replacen(&args.old, &args.new, 1)),
        _ if args.all => Ok(before.replace(&args.old, &args.new)),
        count => {
            Err(format!("`old` is in it {count} times; give more of its surroundings, or set all"))
        }
    }
}
