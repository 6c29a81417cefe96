//! Words of people, made fit to be handed over, and whether they are a command.

pub(crate) use cloister_kit::words::short;

use crate::commands;

/// Whether this is meant as a command: one line that begins with `!` or `/` and a word.
pub(crate) fn is_command(text: &str) -> bool {
    let line = text.trim();
    let Some(rest) = line.strip_prefix(['!', '/']) else { return false };
    let name = rest.split_whitespace().next().unwrap_or_default();
    let word = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphabetic());
    commands::parse(text).is_some() || word && rest.starts_with(name) && !line.contains('\n')
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
