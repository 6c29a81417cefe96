//! What a command does to what the person sent, as far as its text shows.
//!
//! What was sent is read-only wherever commands run, whatever was allowed; so this is not what protects
//! it. It tells an executor at once what no answer of a person would change, and it finds the one thing
//! that the control plane does itself: deleting files that are named one by one.

use super::args::{self, Args, Target};
use super::programs::CHANGES_ORIGINALS;
use super::{assess, parse, system_name};

/// The most files that one command deletes.
const MAX_FILES: usize = 100;

/// What a command means to do to what the person sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Originals {
    Untouched,
    /// It does nothing but delete these files: paths below the chat, `incoming/…`.
    Deletes(Vec<String>),
    /// It changes, moves or deletes some of it, among other things or in a way that is not exact.
    Changes,
}

/// Judges a command line or script, as given to `bash -c`.
pub fn originals(command: &str) -> Originals {
    if let Some(files) = only_deletes(command) {
        return Originals::Deletes(files);
    }
    let found = assess(command).findings;
    let changes = found.iter().any(|finding| CHANGES_ORIGINALS.contains(&finding.reason.as_str()));
    if changes { Originals::Changes } else { Originals::Untouched }
}

/// The files, if the command is one `rm` of files that are all written out.
fn only_deletes(command: &str) -> Option<Vec<String>> {
    let script = parse::parse(command, 0).ok()?;
    let [one] = script.commands.as_slice() else { return None };
    let plain = one.assignments.is_empty() && one.redirects.is_empty() && !one.piped && !one.group;
    if !plain || script.runs_values || !script.functions.is_empty() {
        return None;
    }
    let words = Args(&one.words);
    if words.first_known().and_then(system_name) != Some("rm") {
        return None;
    }
    let words = words.from(1);
    let operands: Vec<_> = words.operands().collect();
    let known = ["-f", "-v", "-fv", "-vf", "--force", "--verbose", "--"];
    let options =
        words.iter().filter(|word| !operands.iter().any(|other| std::ptr::eq(*other, *word)));
    let plain_options =
        options.into_iter().all(|word| word.known().is_some_and(|it| known.contains(&it)));
    if !plain_options || operands.is_empty() || operands.len() > MAX_FILES {
        return None;
    }
    operands.into_iter().map(file_of).collect()
}

/// A file directly or deeper below `incoming/`.
fn file_of(word: &super::syntax::Word) -> Option<String> {
    if args::target(word) != Target::Original || word.text.ends_with('/') {
        return None;
    }
    let inside = word.known()?;
    let inside = inside.strip_prefix("/chat/").unwrap_or(inside);
    let parts: Vec<&str> =
        inside.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    (parts.len() > 1).then(|| parts.join("/"))
}

#[cfg(test)]
#[path = "originals_tests.rs"]
mod tests;
