//! What a script says: its simple commands, wherever they stand.
//!
//! Structure is checked while reading and then forgotten: a command counts the same in a pipe, a
//! branch that may never run, a function or a substitution.

use std::collections::BTreeSet;

/// Stands in a word's text for what is known only when the script runs.
pub(super) const HOLE: char = '\0';

/// A word after quotes are taken away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// Its text, with a hole for every expansion.
    pub(super) text: String,
    /// Some of it is in quotes or escaped.
    pub(super) quoted: bool,
    /// It may become several words, or none: an expansion, a glob or braces outside of quotes.
    pub(super) splits: bool,
    /// What it starts with is known only when the script runs: an expansion, a glob or braces.
    pub(super) starts_open: bool,
    /// Where the first `=` of an assignment is, if the word can be one.
    pub(super) assigns: Option<usize>,
}

impl Word {
    /// The text, if the word is exactly that.
    pub(super) fn known(&self) -> Option<&str> {
        (!self.splits && !self.text.contains(HOLE)).then_some(self.text.as_str())
    }

    /// Unquoted and exactly this: a reserved word, where one can stand.
    pub(super) fn is_bare(&self, text: &str) -> bool {
        !self.quoted && !self.splits && self.text == text
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RedirectKind {
    Read,
    /// Replaces what is there.
    Write,
    Append,
    /// Names a descriptor, or closes one.
    Duplicate,
    /// Text in the script becomes the input.
    Text,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Redirect {
    pub(super) kind: RedirectKind,
    /// The file, or the text.
    pub(super) target: Word,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) name: String,
    pub(super) value: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Simple {
    pub(super) assignments: Vec<Assignment>,
    pub(super) words: Vec<Word>,
    pub(super) redirects: Vec<Redirect>,
    /// Reads the output of another command.
    pub(super) piped: bool,
    /// Stands for the redirections of a group, a loop or a subshell.
    pub(super) group: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Script {
    pub(super) commands: Vec<Simple>,
    pub(super) functions: BTreeSet<String>,
    /// Something in it runs text that a variable holds (`${x@P}`).
    pub(super) runs_values: bool,
}

/// Why a script could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SyntaxError {
    #[error("the command is longer than {} KiB", MAX_CHARS / 1024)]
    TooLong,
    #[error("the command is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("a quote, bracket or here-document is not closed")]
    Unclosed,
    #[error("the shell's grammar does not allow what stands here")]
    Unexpected,
}

pub(super) const MAX_CHARS: usize = 64 << 10;
pub(super) const MAX_DEPTH: u32 = 40;
