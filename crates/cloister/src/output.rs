//! What is printed: words for people, JSON for programs, one error envelope.

use std::io::{self, Write};
use std::process::ExitCode;

use cloister_control::{ControlError, Failed, Fault};
use cloister_protocol::{ErrorBody, ErrorCode, ErrorEnvelope};
use cloister_store::Trouble;
use serde::Serialize;

use crate::terminal::{Paint, harmless, harmless_json, stdout_is_terminal};

/// Exit codes, after sysexits.
pub(crate) const USAGE: u8 = 2;
pub(crate) const BAD_CONFIG: u8 = 64;
pub(crate) const UNAVAILABLE: u8 = 69;
/// It did not come in time, and may still come.
pub(crate) const NOT_IN_TIME: u8 = 75;
/// A question waits for somebody's answer.
pub(crate) const QUESTION_WAITS: u8 = 77;
/// Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;
/// As if SIGPIPE had ended us.
const CLOSED_PIPE: u8 = 141;

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub struct CliError {
    pub body: ErrorBody,
    pub exit: u8,
}

impl CliError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { body: ErrorBody::new(code, message), exit: 1 }
    }

    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.body.fix = Some(fix.into());
        self
    }

    pub fn exit(mut self, exit: u8) -> Self {
        self.exit = exit;
        self
    }

    /// Nobody reads what we print any more: not worth a word.
    fn output(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::new(ErrorCode::Cancelled, "").exit(CLOSED_PIPE);
        }
        Self::new(ErrorCode::Internal, format!("the output could not be written: {error}"))
    }

    /// Something of this machine failed.
    pub fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |error| {
            let failed = Self::new(ErrorCode::Internal, format!("{what}: {error}"));
            match Trouble::of(&error) {
                Some(trouble) => failed.fix(trouble.fix()),
                None => failed,
            }
        }
    }
}

impl From<ErrorBody> for CliError {
    fn from(mut body: ErrorBody) -> Self {
        if body.code == ErrorCode::NotFound && body.fix.is_none() {
            let list = where_listed(&body.message);
            body.fix = list.map(|list| format!("`cloister {list}` shows what there is"));
        }
        Self { body, exit: 1 }
    }
}

/// The command that lists what somebody named and is not there. What the control plane says goes to people on every
/// surface, of whom only those here can type commands.
fn where_listed(message: &str) -> Option<&'static str> {
    let kind = message.strip_prefix("there is no ")?.split(' ').next()?;
    Some(match kind {
        "agent" => "agent list",
        "approval" => "task approvals",
        "chat" => "chats list",
        "client" => "admin clients",
        "context" => "context list",
        "grant" => "grant list",
        "model" => "model list",
        "policy" => "policy list",
        "preset" => "model presets",
        "task" => "task list",
        "user" => "user list",
        "workspace" => "workspace list",
        _ => return None,
    })
}

impl From<ControlError> for CliError {
    fn from(error: ControlError) -> Self {
        let body = error.body();
        match body.code {
            // On the command line the operator is the asker: the cause helps them.
            ErrorCode::Internal => match Trouble::of(&error) {
                Some(trouble) => {
                    Self::new(body.code, format!("{} ({})", trouble.words(), error.chain()))
                        .fix(trouble.fix())
                }
                None => Self::new(body.code, error.chain()),
            },
            _ => body.into(),
        }
    }
}

impl<R> From<Failed<R>> for CliError
where
    ControlError: From<Failed<R>>,
{
    fn from(failed: Failed<R>) -> Self {
        ControlError::from(failed).into()
    }
}

impl From<Fault> for CliError {
    fn from(fault: Fault) -> Self {
        ControlError::from(fault).into()
    }
}

impl From<cloister_store::StoreError> for CliError {
    fn from(error: cloister_store::StoreError) -> Self {
        ControlError::from(error).into()
    }
}

/// Where results go.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    pub(crate) json: bool,
}

impl Output {
    pub fn new(json: bool) -> Self {
        Self { json }
    }

    /// Prints a result: the value as JSON, or the words for it.
    pub fn result<T: Serialize>(
        self,
        value: &T,
        words: impl FnOnce() -> String,
    ) -> Result<(), CliError> {
        if self.json { self.json_line(value) } else { self.line(&words()) }
    }

    pub(crate) fn json_line<T: Serialize>(self, value: &T) -> Result<(), CliError> {
        let json = serde_json::to_string(value)
            .map_err(|error| CliError::new(ErrorCode::Internal, error.to_string()))?;
        self.write(&format!("{}\n", harmless_json(&json)))
    }

    pub(crate) fn line(self, text: &str) -> Result<(), CliError> {
        self.piece(&format!("{}\n", text.trim_end_matches('\n')))
    }

    /// Prints text as it comes, without a line end. A program gets it as it is; on a terminal it is
    /// text and nothing else.
    pub(crate) fn piece(self, text: &str) -> Result<(), CliError> {
        if stdout_is_terminal() { self.write(&harmless(text)) } else { self.write(text) }
    }

    fn write(self, text: &str) -> Result<(), CliError> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())
            .and_then(|()| out.flush())
            .map_err(|error| CliError::output(&error))
    }

    /// A remark beside the result.
    pub fn note(self, text: &str) {
        // Nothing can be said about a standard error that is gone.
        drop(writeln!(io::stderr().lock(), "{}", harmless(text)));
    }

    /// A remark that may be overlooked.
    pub(crate) fn remark(self, text: &str) {
        let text = Paint::for_stderr().dim(&harmless(text));
        drop(writeln!(io::stderr().lock(), "{text}"));
    }

    pub fn fail(self, error: &CliError) -> ExitCode {
        if error.exit == CLOSED_PIPE {
            return ExitCode::from(CLOSED_PIPE);
        }
        let printed = if self.json {
            self.json_line(&ErrorEnvelope { error: error.body.clone() }).is_ok()
        } else {
            let fix =
                error.body.fix.as_ref().map(|fix| format!("\n  fix: {fix}")).unwrap_or_default();
            self.note(&format!("error: {}{fix}", error.body.message));
            true
        };
        ExitCode::from(if printed { error.exit } else { 1 })
    }
}

/// What clap has to say: help and version as they are, a mistake as our envelope when JSON is asked.
pub fn usage_error(error: &clap::Error) -> ExitCode {
    let help = !error.use_stderr();
    let json = std::env::args_os().any(|arg| arg == "--json");
    if json && !help {
        let text = error.render().to_string();
        let message = text.trim_start_matches("error: ").trim_end().to_owned();
        return Output::new(true).fail(&CliError::new(ErrorCode::BadRequest, message).exit(USAGE));
    }
    match (error.print(), help) {
        (Ok(()), true) => ExitCode::SUCCESS,
        (Ok(()), false) | (Err(_), _) => ExitCode::from(USAGE),
    }
}

/// A time as people and programs read it.
pub(crate) fn time(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms)
        .map_or_else(|_out_of_range| ms.to_string(), |time| time.to_string())
}

/// A table for people: columns as wide as they need to be.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = head.iter().map(|cell| cell.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    for row in std::iter::once(&head).chain(rows) {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
