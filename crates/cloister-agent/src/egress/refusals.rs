//! What the broker refused, in words that the model can act on and pass on.

use std::fmt::Write as _;

use serde::Deserialize;

use crate::text;

const MAX_SHOWN: usize = 10;
const MAX_FIELD_BYTES: usize = 300;

/// Remembers how far the list has been read.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    last: u64,
}

#[derive(Deserialize)]
struct List {
    last: u64,
    refusals: Vec<Refusal>,
}

#[derive(Deserialize)]
struct Refusal {
    host: String,
    reason: String,
    #[serde(default)]
    fix: Option<String>,
}

impl Refusals {
    /// Where the rest of the list is.
    pub(super) fn path(&self) -> String {
        format!("/egress/refusals?after={}", self.last)
    }

    /// Takes the rest of the list; nothing is told when it is empty.
    pub(super) fn take(&mut self, body: &[u8]) -> serde_json::Result<Option<String>> {
        let List { last, refusals } = serde_json::from_slice(body)?;
        self.last = last;
        if refusals.is_empty() {
            return Ok(None);
        }
        let mut told = String::from("[network: these destinations were refused]");
        for refusal in refusals.iter().take(MAX_SHOWN) {
            let Refusal { host, reason, fix } = refusal;
            write!(told, "\n- {}: {}", plain(host), plain(reason)).ok();
            if let Some(fix) = fix.as_deref().filter(|fix| !fix.is_empty()) {
                let stop = if told.ends_with(['.', '!', '?']) { "" } else { "." };
                write!(told, "{stop} {}", plain(fix)).ok();
            }
        }
        if let Some(more @ 1..) = refusals.len().checked_sub(MAX_SHOWN) {
            write!(told, "\n- and {more} more").ok();
        }
        Ok(Some(told))
    }
}

/// On one line and of bounded length.
fn plain(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text::head(line.trim(), MAX_FIELD_BYTES).to_owned()
}

#[cfg(test)]
#[path = "refusals_tests.rs"]
mod tests;
