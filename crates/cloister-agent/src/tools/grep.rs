//! `grep`: lines that match a regular expression.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use cloister_protocol::link::Outcome;
use regex_lite::Regex;
use serde::Deserialize;
use serde_json::json;

use super::pattern::Pattern;
use super::place::{ChatFolder, trouble};
use super::walk::{WalkSeen, walk};
use super::{Effect, Handler, Tool, done, failed, object, parse};
use crate::text;

const MAX_MATCHES: usize = 200;
const MAX_LINE_BYTES: usize = 300;
const MAX_FILE_BYTES: u64 = 4 << 20;

pub(super) const TOOL: Tool = Tool {
    name: "grep",
    about: "Search files line by line with a regular expression; answers path:line: text.",
    parameters: || {
        object(
            json!({
                "pattern": {"type": "string", "description": "A regular expression."},
                "path": {"type": "string", "description": "A file or folder; the whole chat unless told."},
                "glob": {"type": "string", "description": "Only files like this, such as *.py or src/**/*.c."},
            }),
            &["pattern"],
        )
    },
    effect: Effect::Reads,
    handler: Handler::Files(run),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {
    pattern: String,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    glob: Option<String>,
}

fn run(place: &ChatFolder, arguments: &str) -> Outcome {
    let args: Args = match parse(arguments) {
        Ok(args) => args,
        Err(wrong) => return wrong,
    };
    let regex = match Regex::new(&args.pattern) {
        Ok(regex) => regex,
        Err(error) => return failed(format!("pattern is not a regular expression: {error}")),
    };
    let path = args.path.as_deref().unwrap_or(".");
    let root = match place.resolve(path) {
        Ok(root) => root,
        Err(wrong) => return wrong,
    };
    let found = match fs::metadata(&root) {
        Ok(found) => found,
        Err(error) => return trouble("search", path, &error),
    };
    let mut search = Search { regex, lines: Vec::new(), skipped: 0 };
    let mut seen = WalkSeen::All;
    if found.is_file() {
        search.file(&root, &place.shown(&root));
    } else {
        let only = args.glob.as_deref().map(Only::new);
        seen = walk(&root, |path, kind| {
            let shown = place.shown(path);
            if kind.is_file() && only.as_ref().is_none_or(|only| only.matches(path, &shown)) {
                search.file(path, &shown);
            }
            search.lines.len() < MAX_MATCHES
        });
    }
    search.told(seen)
}

/// A glob without a slash is about the name alone.
struct Only {
    pattern: Pattern,
    name_only: bool,
}

impl Only {
    fn new(glob: &str) -> Self {
        Self { pattern: Pattern::new(glob), name_only: !glob.contains('/') }
    }

    fn matches(&self, path: &Path, shown: &str) -> bool {
        if self.name_only {
            path.file_name().is_some_and(|name| self.pattern.matches(&name.to_string_lossy()))
        } else {
            self.pattern.matches(shown)
        }
    }
}

struct Search {
    regex: Regex,
    lines: Vec<String>,
    /// Files too large or not readable.
    skipped: usize,
}

impl Search {
    fn file(&mut self, path: &Path, shown: &str) {
        let mut bytes = Vec::new();
        let read =
            File::open(path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
        if read.is_err() || bytes.len() as u64 > MAX_FILE_BYTES {
            self.skipped += 1;
            return;
        }
        if bytes.contains(&0) {
            return;
        }
        for (number, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
            if self.lines.len() >= MAX_MATCHES {
                return;
            }
            if self.regex.is_match(line) {
                self.lines.push(format!(
                    "{shown}:{}: {}",
                    number + 1,
                    text::head(line, MAX_LINE_BYTES)
                ));
            }
        }
    }

    fn told(mut self, seen: WalkSeen) -> Outcome {
        if self.lines.is_empty() {
            self.lines.push("[nothing matches]".to_owned());
        }
        if seen == WalkSeen::Part || self.lines.len() >= MAX_MATCHES {
            self.lines.push("[there may be more: search more narrowly]".to_owned());
        }
        if self.skipped > 0 {
            self.lines.push(format!(
                "[{} files too large or not readable were passed over]",
                self.skipped
            ));
        }
        done(self.lines.join("\n"))
    }
}
