//! The names of events, and what clients put around words. Pure.

pub(super) use cloister_kit::words::{behind_marks, called, clean, quoted, short};
use cloister_protocol::{MessageId, ParseIdError};
use matrix_sdk::ruma::EventId;
use sha2::{Digest, Sha256};

/// The name that the inbox knows an event by: the same for the same event, always.
pub(super) fn message_id(event: &EventId) -> Result<MessageId, ParseIdError> {
    let id = event.as_str();
    let plain = id.strip_prefix('$').unwrap_or(id);
    plain.parse().or_else(|_unfit: ParseIdError| {
        format!("sha256:{}", hex::encode(Sha256::digest(id.as_bytes()))).parse()
    })
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

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
