//! The files that a task wrote with its own tools, with what it took out and put in: as far as its ledger knows. What
//! commands and programs wrote is not in there, and that is said.

use std::collections::HashSet;

use cloister_policy::legible;
use cloister_protocol::Language;
use cloister_protocol::link::{CallStatus, Step};
use cloister_words::{say, text_of};
use maud::{Markup, html};
use serde_json::Value;

/// More are not listed.
const MOST_CHANGES: usize = 50;
/// Lines of one change that are shown.
const MOST_LINES: usize = 200;
const LINE_CHARS: usize = 400;
/// Steps that can write files without the ledger knowing which.
const UNKNOWING: [&str; 2] = ["bash", "python"];

/// One change of one file.
struct FileChange {
    path: String,
    /// None: the file was written whole, whatever was there before.
    taken: Option<String>,
    put: String,
}

impl FileChange {
    fn of(name: &str, arguments: &str) -> Option<Self> {
        let arguments: Value = serde_json::from_str(arguments).ok()?;
        let text = |names: &[&str]| {
            names.iter().find_map(|name| arguments.get(name)?.as_str().map(str::to_owned))
        };
        let path = text(&["path", "file_path", "filename"])?;
        match name {
            "write_file" => {
                Some(Self { path, taken: None, put: text(&["content", "text", "contents"])? })
            }
            "edit_file" => Some(Self {
                path,
                taken: Some(text(&["old", "old_string", "old_str"])?),
                put: text(&["new", "new_string", "new_str"])?,
            }),
            _ => None,
        }
    }
}

/// What the ledger knows of files that a task wrote; nothing if it wrote none and ran nothing that might have.
pub(super) fn shown(to: Language, steps: &[Step]) -> Markup {
    let done: HashSet<&str> = steps.iter().filter_map(went_well).collect();
    let calls = || {
        steps.iter().flat_map(|step| match step {
            Step::Answer { calls, .. } => calls.as_slice(),
            Step::Call { .. } | Step::Result { .. } => &[],
        })
    };
    let written = calls().filter(|call| done.contains(call.id.as_str()));
    let changes: Vec<FileChange> =
        written.filter_map(|call| FileChange::of(&call.name, &call.arguments)).collect();
    let unknowing = calls().any(|call| UNKNOWING.contains(&call.name.as_str()));
    let left_out = changes.len().saturating_sub(MOST_CHANGES);
    html! {
        @if !changes.is_empty() {
            p.hint { (say!(to, "Files that it wrote:")) }
            ul.wrote { @for change in changes.iter().take(MOST_CHANGES) { li { (one(to, change)) } } }
            @if left_out > 0 { p.hint { (say!(to, "Further changes: {n}.", n = left_out)) } }
        }
        @if unknowing {
            p.hint { (say!(to, "What commands and programs changed in the files of the chat is not listed.")) }
        }
    }
}

fn went_well(step: &Step) -> Option<&str> {
    match step {
        Step::Result { call, outcome } if outcome.status == CallStatus::Ok => Some(call),
        Step::Result { .. } | Step::Answer { .. } | Step::Call { .. } => None,
    }
}

fn one(to: Language, change: &FileChange) -> Markup {
    let FileChange { path, taken, put } = change;
    let (out, into) = (taken.as_deref().unwrap_or_default(), put.as_str());
    let label = say!(to, "Changes of {path}", path = legible(path));
    html! {
        details {
            summary {
                code translate="no" { (legible(path)) } " "
                small {
                    @if taken.is_none() { (text_of(to, cloister_words::noted!("written whole"))) ", " }
                    "+" (into.lines().count()) " −" (out.lines().count())
                }
            }
            pre.diff translate="no" tabindex="0" aria-label=(label) { (lines("−", "del", out)) (lines("+", "ins", into)) }
        }
    }
}

fn lines(sign: &str, class: &str, text: &str) -> Markup {
    let more = text.lines().count().saturating_sub(MOST_LINES);
    html! {
        @for line in text.lines().take(MOST_LINES) {
            @let line: String = line.chars().take(LINE_CHARS).collect();
            span class=(class) { (sign) " " (legible(&line)) "\n" }
        }
        @if more > 0 { span class=(class) { (sign) " … " (more) "\n" } }
    }
}

#[cfg(test)]
#[path = "task_files_tests.rs"]
mod tests;
