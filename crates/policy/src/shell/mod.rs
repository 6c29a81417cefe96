//! How risky a shell command is.
//!
//! Owns: reading a command as a shell would (quotes, expansions, pipes, lists, groups, functions,
//! here-documents, substitutions), finding every program it runs wherever that stands (`sh -c`, `eval`,
//! `env`, `sudo`, `xargs`, `find -exec` …), and what is known of those programs. A command counts as
//! the worst of what is found in it.
//!
//! Promises: what can't be read is unknown; a program that is not in the table is unknown; unknown is
//! never safe; reading takes bounded time and depth, whatever the text.
//!
//! # Which classes still ask
//!
//! An executor's commands run in a sandbox whose only way out is the broker, so most of them are
//! harmless by construction: they can't reach other people's files, the host, or the network. And the
//! sandbox is assumed to be compromised: code in it can do without a shell whatever it could do with
//! one. So this is not what keeps a hostile executor in. It is what keeps an honest one from doing
//! something its person would have wanted to be asked about, and what a person reads in an approval.
//!
//! Where what a command does to files is on a layer that can be taken back, only the operators' own policies ask; the
//! classes say what for. Where there is none:
//!
//! - *safe* runs. That includes writing and changing the task's own files, which is what an executor
//!   is for, and reading from outside, since the broker judges where to.
//! - *middle* asks once and is remembered: installs and settings, because what is installed runs
//!   later with whatever the task then holds, and dotfiles steer programs.
//! - *destructive* asks every time: deleting or emptying files, moving them to where they end with
//!   the sandbox, writing over what the person sent, throwing away commits. The files in `/chat` are
//!   the person's, and are the one thing in the sandbox that outlives it. Text that is fed to a shell
//!   unseen (`curl … | sh`, `base64 -d | sh`, `eval "$x"`) counts here too.
//! - *outward* asks every time: push, publish, upload, post, mail, sign in. The broker holds the
//!   request itself as well; asked at the command, the question can say what it is for.
//! - *unknown* (code, programs that are not in the table) asks wherever it is not confined. In a
//!   sandbox it runs: `python report.py` is the daily work of an executor, what it sends out is held
//!   at the broker, and what it spoils is its own task's files.
//!
//! Paths are judged by their text, from the task's folder: a `cd` in front is not followed.

mod args;
mod expand;
mod lex;
mod originals;
mod parse;
mod programs;
mod syntax;
mod variables;
mod word;

use std::collections::BTreeSet;

use args::Args;
pub use originals::{Originals, originals};
use programs::{Judged, Rule, Runs, wrapper_hidden};
use syntax::{MAX_DEPTH, Redirect, RedirectKind, Simple, SyntaxError, Word};

use crate::class::Rated;

/// How many commands are listed; more are not judged apart, and count as unknown.
const MAX_FINDINGS: usize = 256;
/// How much of a command is shown in a finding.
const SHOWN_CHARS: usize = 200;

/// One command inside of what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The command, without quotes; `…` stands for what is known only when it runs.
    pub command: String,
    pub rated: Rated,
    pub reason: String,
}

/// How risky a command is, and what makes it so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    pub rated: Rated,
    /// It was too long or too deeply nested to be read to its end.
    pub cut_short: bool,
    pub findings: Vec<Finding>,
}

impl Assessment {
    /// Why it is no safer, in one sentence.
    pub fn reason(&self) -> &str {
        let worst = self.findings.iter().find(|finding| finding.rated == self.rated);
        worst.map_or("there is nothing to run", |finding| &finding.reason)
    }
}

/// Judges a command line or script, as given to `bash -c`.
pub fn assess(command: &str) -> Assessment {
    let mut judge = Judge { findings: Vec::new(), full: false, cut_short: false };
    judge.script(command, 0);
    let Judge { findings, full, cut_short } = judge;
    let worst = findings.iter().map(|finding| finding.rated).max().unwrap_or(Rated::Safe);
    let rated = if full { worst.max(Rated::Unknown) } else { worst };
    Assessment { rated, cut_short, findings }
}

struct Judge {
    findings: Vec<Finding>,
    full: bool,
    cut_short: bool,
}

/// What surrounds a command.
struct Around<'a> {
    functions: &'a BTreeSet<String>,
    depth: u32,
    input: Input<'a>,
}

#[derive(Clone, Copy)]
enum Input<'a> {
    Inherited,
    Piped,
    Text(&'a Word),
}

impl Judge {
    fn found(&mut self, command: impl Into<String>, (rated, reason): Judged) {
        self.add(Finding { command: command.into(), rated, reason: reason.to_owned() });
    }

    fn add(&mut self, finding: Finding) {
        if self.findings.len() >= MAX_FINDINGS {
            self.full = true;
            // What is left out must not be what counts.
            let last = self.findings.last_mut().filter(|last| last.rated < finding.rated);
            if let Some(last) = last {
                *last = finding;
            }
            return;
        }
        self.findings.push(finding);
    }

    fn script(&mut self, text: &str, depth: u32) {
        let script = match parse::parse(text, depth) {
            Ok(script) => script,
            Err(error) => {
                let command = text.chars().take(SHOWN_CHARS).collect();
                let reason = error.to_string();
                self.cut_short |= matches!(error, SyntaxError::TooLong | SyntaxError::TooDeep);
                return self.add(Finding { command, rated: Rated::Unknown, reason });
            }
        };
        if script.runs_values {
            self.found("${…@P}", (Rated::Unknown, "it runs text that a variable holds"));
        }
        for command in &script.commands {
            self.simple(command, &script.functions, depth);
        }
    }

    fn simple(&mut self, command: &Simple, functions: &BTreeSet<String>, depth: u32) {
        let given = !command.words.is_empty();
        for assignment in &command.assignments {
            let judge = if given { variables::passed_on } else { variables::assigned };
            self.found(format!("{}=…", assignment.name), judge(&assignment.name));
            if assignment.value.contains("$(") || assignment.value.contains('`') {
                let hidden = (Rated::Unknown, "a variable holds text that could be run");
                self.found(format!("{}=…", assignment.name), hidden);
            }
        }
        let mut input = if command.piped { Input::Piped } else { Input::Inherited };
        for redirect in &command.redirects {
            match redirect.kind {
                RedirectKind::Text => input = Input::Text(&redirect.target),
                RedirectKind::Read => {
                    input = Input::Piped;
                    self.reading(redirect);
                }
                RedirectKind::Write | RedirectKind::Append | RedirectKind::Duplicate => {
                    self.writing(redirect, given || command.group);
                }
            }
        }
        if given {
            self.words(Args(&command.words), &Around { functions, depth, input });
        }
    }

    fn reading(&mut self, redirect: &Redirect) {
        let text = redirect.target.text.as_str();
        if text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/") {
            self.found(format!("< {text}"), (Rated::Outward, "it opens a connection"));
        }
    }

    fn writing(&mut self, redirect: &Redirect, by_command: bool) {
        let target = &redirect.target;
        let descriptor = target.known().is_some_and(|text| {
            let digits = text.strip_suffix('-').unwrap_or(text);
            digits.bytes().all(|byte| byte.is_ascii_digit())
        });
        if redirect.kind == RedirectKind::Duplicate && descriptor {
            return;
        }
        let judged = programs::written(target);
        let empties = redirect.kind == RedirectKind::Write && !by_command;
        let own = args::target(target) == args::Target::Own;
        let judged = if empties && !own {
            judged.max((Rated::Destructive, "it empties a file"))
        } else {
            judged
        };
        self.found(format!("> {}", shown(std::slice::from_ref(target))), judged);
    }

    fn words(&mut self, words: Args<'_>, around: &Around<'_>) {
        let Some(first) = words.0.first() else { return };
        let text = shown(words.0);
        if around.depth >= MAX_DEPTH {
            return self.found(text, (Rated::Unknown, "it is nested too deep to be judged"));
        }
        let Some(name) = first.known() else {
            let reason = "which program it runs is known only when it runs";
            return self.found(text, (Rated::Unknown, reason));
        };
        let args = words.from(1);
        let Some(name) = system_name(name) else {
            let reason = "it runs a program that is not one of the system's";
            return self.found(text, (Rated::Unknown, reason));
        };
        match programs::rule(name) {
            Some(Rule::Always(judged)) => self.found(text, judged),
            Some(Rule::Judge(judge)) => self.found(text, judge(args)),
            Some(Rule::Manages(manager)) => self.found(text, manager.judge(args)),
            Some(Rule::Wraps(own, runs)) => {
                self.found(text.clone(), own);
                for run in runs(args) {
                    self.run(run, &text, around);
                }
            }
            // Its commands have been found where it is defined.
            None if around.functions.contains(name) => {
                self.found(text, (Rated::Safe, "it is a function of the command itself"));
            }
            None => self.found(text, (Rated::Unknown, "nothing is known of this program")),
        }
    }

    fn run(&mut self, run: Runs<'_>, text: &str, around: &Around<'_>) {
        let Around { functions, depth, input } = *around;
        if self.full {
            // Too many to follow them all, and so too many to vouch for any.
            return self.found(text, wrapper_hidden());
        }
        let deeper = Around { functions, depth: depth + 1, input };
        match run {
            Runs::Words(words) => self.words(words, &deeper),
            Runs::WordsAndMore(words) => {
                let more = Word {
                    text: syntax::HOLE.to_string(),
                    splits: true,
                    starts_open: true,
                    ..Word::default()
                };
                let mut words = words.0.to_vec();
                words.push(more);
                self.words(Args(&words), &deeper);
            }
            Runs::Text(script) => self.script(&script, depth + 1),
            Runs::Nothing(judged) => self.found(text, judged),
            Runs::Input => match input {
                Input::Inherited => self.found(text, programs::RUNS_CODE),
                Input::Piped => self.found(text, wrapper_hidden()),
                Input::Text(word) => {
                    if word.known().is_none() {
                        self.found(text, wrapper_hidden());
                    }
                    self.script(&word.text.replace(syntax::HOLE, " "), depth + 1);
                }
            },
        }
    }
}

/// The name of a program of the system, without its folder.
fn system_name(name: &str) -> Option<&str> {
    const FOLDERS: &[&str] =
        &["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin"];
    match name.rsplit_once('/') {
        None => Some(name),
        Some((folder, name)) => FOLDERS.contains(&folder).then_some(name),
    }
}

fn shown(words: &[Word]) -> String {
    let mut text = String::new();
    for word in words {
        if !text.is_empty() {
            text.push(' ');
        }
        text.extend(
            word.text.chars().map(|c| if c == syntax::HOLE { '…' } else { c }).take(SHOWN_CHARS),
        );
        if text.chars().count() > SHOWN_CHARS {
            return text.chars().take(SHOWN_CHARS).chain(['…']).collect();
        }
    }
    text
}

#[cfg(test)]
#[path = "shell_tests.rs"]
mod tests;
