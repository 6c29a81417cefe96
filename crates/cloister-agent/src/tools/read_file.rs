//! `read_file`: a text file, or a part of it.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};

use cloister_protocol::link::{CallStatus, Outcome};
use serde::Deserialize;
use serde_json::json;

use super::place::{ChatFolder, trouble};
use super::{Effect, Handler, Tool, done, failed, object, parse};
use crate::untrusted;

const MAX_BYTES: u64 = 64 << 10;
/// Looked at to tell text from the rest.
const PROBE_BYTES: usize = 8 << 10;

pub(super) const TOOL: Tool = Tool {
    name: "read_file",
    about: "Read a text file, at most 64 KiB at a time.",
    parameters: || {
        object(
            json!({
                "path": {"type": "string"},
                "offset": {"type": "integer", "minimum": 1, "description": "The first line to read, counted from 1."},
                "limit": {"type": "integer", "minimum": 1, "description": "How many lines."},
            }),
            &["path"],
        )
    },
    effect: Effect::Reads,
    handler: Handler::Files(run),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {
    #[serde(alias = "file_path", alias = "filename")]
    path: String,
    #[serde(default)]
    offset: Option<u64>,
    #[serde(default)]
    limit: Option<u64>,
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
    // A pipe or a device would be waited for without end.
    match std::fs::metadata(&path) {
        Ok(found) if found.is_dir() => {
            return failed(format!("{:?} is a folder: use ls", args.path));
        }
        Ok(found) if !found.is_file() => {
            return failed(format!("{:?} is not a regular file", args.path));
        }
        Ok(_) => {}
        Err(error) => return trouble("read", &args.path, &error),
    }
    let read = File::open(&path).and_then(|file| read(BufReader::new(file), &args));
    match read {
        // Whoever sent it wrote it; it is framed like a page.
        Ok(Outcome { status: CallStatus::Ok, output }) if place.came_in(&path) => {
            done(untrusted::framed(&format!("the file {}", place.shown(&path)), &output))
        }
        Ok(outcome) => outcome,
        Err(error) => trouble("read", &args.path, &error),
    }
}

fn read(mut file: BufReader<File>, args: &Args) -> io::Result<Outcome> {
    let probe = file.fill_buf()?;
    if probe.get(..PROBE_BYTES.min(probe.len())).unwrap_or_default().contains(&0) {
        let size = file.get_ref().metadata()?.len();
        return Ok(failed(format!(
            "{:?} is not text ({size} bytes): use bash to look at it",
            args.path
        )));
    }
    let first = args.offset.unwrap_or(1).max(1);
    for _ in 1..first {
        if skip_line(&mut file)? == 0 {
            return Ok(failed(format!("{:?} has fewer than {first} lines", args.path)));
        }
    }
    let mut output = Vec::new();
    let mut lines = 0;
    while lines < args.limit.unwrap_or(u64::MAX) {
        let room = MAX_BYTES - output.len() as u64;
        let read = (&mut file).take(room).read_until(b'\n', &mut output)?;
        if read == 0 {
            break;
        }
        lines += 1;
    }
    let more = !file.fill_buf()?.is_empty();
    let mut text = String::from_utf8_lossy(&output).into_owned();
    if more {
        let whole = if output.ends_with(b"\n") { lines } else { lines - 1 };
        text.push_str(&format!("\n[there is more: go on with offset {}]", first + whole));
    }
    Ok(done(if text.is_empty() { "[the file is empty]".to_owned() } else { text }))
}

/// Passes over one line without keeping it; 0 at the end of the file.
fn skip_line(file: &mut BufReader<File>) -> io::Result<usize> {
    let mut skipped = 0;
    loop {
        let buffer = file.fill_buf()?;
        if buffer.is_empty() {
            return Ok(skipped);
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let count = end.map_or(buffer.len(), |at| at + 1);
        file.consume(count);
        skipped += count;
        if end.is_some() {
            return Ok(skipped);
        }
    }
}
