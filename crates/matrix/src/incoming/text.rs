//! Words of people and the names of events, made fit to be handed over. Pure.

use cloister_protocol::{MessageId, ParseIdError};
use matrix_sdk::ruma::EventId;
use sha2::{Digest, Sha256};

/// How much of a quoted message the agent is shown.
const LONGEST_QUOTE: usize = 4_000;

/// The name that the inbox knows an event by: the same for the same event, always.
pub(super) fn message_id(event: &EventId) -> Result<MessageId, ParseIdError> {
    let id = event.as_str();
    let plain = id.strip_prefix('$').unwrap_or(id);
    plain.parse().or_else(|_unfit: ParseIdError| {
        format!("sha256:{}", hex::encode(Sha256::digest(id.as_bytes()))).parse()
    })
}

/// Without what no keyboard writes: control characters, other ends of line.
pub(super) fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// At most so many characters.
pub(super) fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Without the quotation that clients used to put before a reply.
pub(super) fn without_fallback(text: &str) -> &str {
    if !text.starts_with("> <") && !text.starts_with("> * <") {
        return text;
    }
    let mut rest = text;
    while rest.starts_with('>') {
        let Some((_quoted, more)) = rest.split_once('\n') else { return "" };
        rest = more;
    }
    rest.strip_prefix('\n').unwrap_or(rest)
}

/// Whether this is meant as a command: one line that begins with `!` or `/` and a word.
pub(super) fn is_command(text: &str) -> bool {
    let line = text.trim();
    let Some(rest) = line.strip_prefix(['!', '/']) else { return false };
    let name = rest.split_whitespace().next().unwrap_or_default();
    let word = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphabetic());
    word && rest.starts_with(name) && !line.contains('\n')
}

/// Somebody else's words, each line marked as such.
pub(super) fn quoted(whose: &str, text: &str) -> String {
    let mut quote = format!("> {whose}:");
    for line in short(text.trim(), LONGEST_QUOTE).lines() {
        quote.push_str("\n> ");
        quote.push_str(line);
    }
    quote
}

/// The size of a file as people say it.
pub(super) fn megabytes(bytes: u64) -> String {
    let tenths = bytes.saturating_mul(10).div_ceil(1 << 20);
    if tenths.is_multiple_of(10) || tenths > 100 {
        format!("{} MB", tenths.div_ceil(10))
    } else {
        format!("{}.{} MB", tenths / 10, tenths % 10)
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
