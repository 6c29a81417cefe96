//! The line that a person edits, and what is printed above it meanwhile.
//!
//! Reading blocks, and so may printing: each has a thread of its own, and both end with the program.
//! The line editor is rustyline: small (its dependencies were mostly here), with history, bracketed
//! paste and printing above the line that is being written.

use std::io;

use cloister_control::COMMANDS;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Editor, ExternalPrinter, Helper};
use tokio::sync::mpsc;

use crate::output::CliError;

/// Lines that may wait to be read, and to be printed.
const WAITING: usize = 256;
const HISTORY: usize = 500;
/// Commands that this program carries out itself.
const LOCAL: [&str; 3] = ["/file", "/save", "/quit"];

/// What a person did.
#[derive(Debug)]
pub(super) enum Typed {
    Line(String),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// Prints above the line that is being written.
#[derive(Clone)]
pub(super) struct Printer {
    texts: mpsc::Sender<String>,
}

impl Printer {
    pub(super) async fn print(&self, text: String) {
        // The printing thread ends only with a terminal that is gone.
        drop(self.texts.send(text).await);
    }
}

pub(super) fn start(
    prompt: String,
    history: &[String],
) -> Result<(mpsc::Receiver<Typed>, Printer), CliError> {
    let failed = |error: ReadlineError| {
        CliError::io("the terminal can't be used")(io::Error::other(error.to_string()))
    };
    let config = Config::builder()
        .max_history_size(HISTORY)
        .map_err(failed)?
        .bracketed_paste(true)
        .auto_add_history(true)
        .build();
    let memory = MemHistory::with_config(&config);
    let mut editor: Editor<Words, MemHistory> =
        Editor::with_history(config, memory).map_err(failed)?;
    editor.set_helper(Some(Words));
    for line in history {
        editor.add_history_entry(line).map_err(failed)?;
    }
    let (texts, mut to_print) = mpsc::channel::<String>(WAITING);
    // A terminal that can't place its cursor gets text after text.
    let mut above = editor.create_external_printer().ok();
    std::thread::spawn(move || {
        while let Some(text) = to_print.blocking_recv() {
            let printed = match &mut above {
                Some(above) => above.print(format!("{text}\n")).is_ok(),
                None => {
                    io::Write::write_all(&mut io::stdout(), format!("{text}\n").as_bytes()).is_ok()
                }
            };
            if !printed {
                break;
            }
        }
    });
    let (typed, lines) = mpsc::channel(WAITING);
    std::thread::spawn(move || {
        loop {
            let next = match editor.readline(&prompt) {
                Ok(line) => Typed::Line(line),
                Err(ReadlineError::Interrupted) => Typed::Interrupt,
                Err(ReadlineError::Signal(_)) => continue,
                Err(_) => Typed::End,
            };
            let last = matches!(next, Typed::End);
            if typed.blocking_send(next).is_err() || last {
                break;
            }
        }
    });
    Ok((lines, Printer { texts }))
}

/// Completes commands, and takes a line that ends with a backslash as unfinished.
struct Words;

impl Helper for Words {}
impl Highlighter for Words {}

impl Hinter for Words {
    type Hint = String;
}

impl Completer for Words {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &rustyline::Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let typed = line.get(..position).unwrap_or_default();
        if !typed.starts_with('/') || typed.contains(' ') {
            return Ok((0, Vec::new()));
        }
        let shared = COMMANDS.iter().map(|command| format!("/{}", command.name));
        let all = shared.chain(LOCAL.map(str::to_owned));
        Ok((0, all.filter(|command| command.starts_with(typed)).collect()))
    }
}

impl Validator for Words {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(if context.input().ends_with('\\') {
            ValidationResult::Incomplete
        } else {
            ValidationResult::Valid(None)
        })
    }
}
