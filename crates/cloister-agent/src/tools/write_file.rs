//! `write_file`: makes or replaces a file.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use cloister_protocol::link::Outcome;
use serde::Deserialize;
use serde_json::json;

use super::place::{ChatFolder, trouble};
use super::{Effect, Handler, Tool, done, failed, object, parse};

pub(super) const TOOL: Tool = Tool {
    name: "write_file",
    about: "Write a file, replacing what is there. Missing folders are made.",
    parameters: || {
        let fields = json!({"path": {"type": "string"}, "content": {"type": "string"}});
        object(fields, &["path", "content"])
    },
    effect: Effect::Changes,
    handler: Handler::Files(run),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {
    #[serde(alias = "file_path", alias = "filename")]
    path: String,
    #[serde(alias = "text", alias = "contents")]
    content: String,
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
    if path.is_dir() {
        return failed(format!("{:?} is a folder", args.path));
    }
    match replace(&path, args.content.as_bytes()) {
        Ok(()) => done(format!("Wrote {} bytes to {}.", args.content.len(), place.shown(&path))),
        Err(error) => trouble("write", &args.path, &error),
    }
}

/// Puts `content` at `path` whole or not at all: a refused write leaves the old file as it was.
pub(super) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    // A link stays a link: what it points to is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_new: io::Error| path.to_owned());
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(folder)?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let name: String = name.chars().take(60).collect();
    let temporary = folder.join(format!(".{name}.{}.part", std::process::id()));
    let written = write(&temporary, &path, content);
    if written.is_err() {
        // The first error is the one to tell.
        fs::remove_file(&temporary).ok();
    }
    written
}

fn write(temporary: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create(temporary)?;
    file.write_all(content)?;
    if let Ok(before) = fs::metadata(path) {
        file.set_permissions(before.permissions())?;
    }
    drop(file);
    fs::rename(temporary, path)
}
