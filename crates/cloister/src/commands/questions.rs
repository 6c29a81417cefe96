//! Questions on the terminal.

use std::io::{self, BufRead, IsTerminal, Write};

use cloister_protocol::ErrorCode;
use cloister_protocol::admin::Key;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use crate::output::CliError;
use crate::terminal::harmless;

pub(super) fn say(text: &str) -> Result<(), CliError> {
    let mut err = io::stderr().lock();
    err.write_all(harmless(text).as_bytes())
        .and_then(|()| err.flush())
        .map_err(CliError::io("the terminal is gone"))
}

pub(super) fn ask(question: &str) -> Result<String, CliError> {
    say(question)?;
    let mut line = String::new();
    let read =
        io::stdin().lock().read_line(&mut line).map_err(CliError::io("the terminal is gone"))?;
    if read == 0 {
        return Err(CliError::new(ErrorCode::Cancelled, "the questions were not answered")
            .fix("answer them on a terminal, or give the answers as options (--help lists them)"));
    }
    Ok(line.trim().to_owned())
}

/// Reads a secret without showing it.
pub(super) fn prompt_secret(question: &str) -> Result<Key, CliError> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return ask("").map(Key::new);
    }
    let failed = "the terminal can't hide what is typed";
    let shown = tcgetattr(&stdin).map_err(|errno| CliError::io(failed)(errno.into()))?;
    let mut hidden = shown.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&stdin, OptionalActions::Now, &hidden)
        .map_err(|errno| CliError::io(failed)(errno.into()))?;
    let answer = ask(question);
    tcsetattr(&stdin, OptionalActions::Now, &shown)
        .map_err(|errno| CliError::io(failed)(errno.into()))?;
    say("\n")?;
    answer.map(Key::new)
}
