//! What is known of programs: a table, and a judgement where options matter.

mod files;
mod lists;
mod network;
mod packages;
mod sed;
mod version_control;
mod wrappers;

use super::args::Args;
use crate::class::Rated;

/// A class, and why.
pub(super) type Judged = (Rated, &'static str);

/// What a wrapper runs.
#[derive(Clone, Debug)]
pub(super) enum Runs<'a> {
    /// The program and arguments that start at this word of its own arguments.
    Words(Args<'a>),
    /// The words, with more that are known only when it runs.
    WordsAndMore(Args<'a>),
    /// Text, as a shell would.
    Text(String),
    /// What it reads from its input, as a shell would.
    Input,
    /// Nothing but itself.
    Nothing(Judged),
}

pub(super) enum Rule {
    Always(Judged),
    Judge(fn(Args<'_>) -> Judged),
    /// It is judged by its subcommand.
    Manages(&'static packages::Manager),
    /// It runs other programs, and is itself of this class at least.
    Wraps(Judged, for<'a> fn(Args<'a>) -> Vec<Runs<'a>>),
}

pub(super) const READS: Judged = (Rated::Safe, "it reads and prints");
pub(super) const RUNS_CODE: Judged =
    (Rated::Unknown, "it runs code, and what that does can't be told beforehand");
pub(super) const HIDDEN_OPTION: Judged =
    (Rated::Unknown, "an option of it is known only when it runs");

pub(super) use files::{CHANGES_ORIGINALS, written};

/// How text is judged that is fed to a shell unseen.
pub(super) const fn wrapper_hidden() -> Judged {
    wrappers::HIDDEN
}

/// The rule for a program by its name, without its folder.
pub(super) fn rule(name: &str) -> Option<Rule> {
    lists::rule(name)
        .or_else(|| files::rule(name))
        .or_else(|| network::rule(name))
        .or_else(|| packages::rule(name))
        .or_else(|| version_control::rule(name))
        .or_else(|| wrappers::rule(name))
}
