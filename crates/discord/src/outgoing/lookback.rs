//! What Discord has forgotten: it knows a nonce again for a few minutes only.
//!
//! Whether a message got there that was being sent longer ago is found by looking at what the bot said since.

use cloister_kit::PlaneError;
use cloister_protocol::surface::{InDoubtSince, IsPosted, Recipient, SendError};
use serde::Deserialize;

use super::Sending;
use super::message::Message;
use super::send::meaning;
use crate::rest::{Fault, at};

/// So long a nonce is surely known.
const REMEMBERED_MS: i64 = 60_000;
/// How far the clocks may differ.
const SKEW_MS: i64 = 30_000;
/// When Discord's time begins.
const EPOCH_MS: i64 = 1_420_070_400_000;
/// How many messages are looked at.
const LOOKED_AT: u16 = 100;
/// The least of an unfinished answer that is known again.
const LEAST_KNOWN: usize = 20;

/// As much of a message as tells which it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
struct Said {
    id: String,
    #[serde(default)]
    author: Author,
    #[serde(default)]
    content: String,
    #[serde(default)]
    embeds: Vec<Embed>,
    #[serde(default)]
    attachments: Vec<Attachment>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
struct Author {
    #[serde(default)]
    id: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
struct Embed {
    #[serde(default)]
    description: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
struct Attachment {
    #[serde(default)]
    filename: String,
}

impl Sending {
    /// The message that something became which was being posted when everything stopped, longer ago than Discord
    /// remembers.
    pub(super) async fn posted_long_ago(
        &self,
        to: &Recipient,
        key: &str,
        (message, file): (&Message, Option<&str>),
    ) -> Result<Option<String>, SendError> {
        let unread = |error: PlaneError| SendError::Unreachable(error.to_string());
        let (conversation, key) = (to.conversation.id, key.to_owned());
        let since =
            self.bot.plane.call(InDoubtSince { conversation, key }).await.map_err(unread)?;
        let Some(since) = since.filter(|since| self.bot.plane.now_ms() - since > REMEMBERED_MS)
        else {
            return Ok(None);
        };
        let after = snowflake(since - SKEW_MS);
        let looked_at = at::messages_after(self.channel_of(to)?, after, LOOKED_AT);
        let said: Vec<Said> =
            self.bot.get(looked_at).await.or_else(may_not_look).map_err(meaning)?;
        let me = self.bot.me.id.to_string();
        // The oldest first: it is the nearest to when it was sent.
        for said in said.iter().rev().filter(|said| said.author.id == me) {
            let posted = IsPosted { conversation, message: said.id.clone() };
            let other = self.bot.plane.call(posted).await.map_err(unread)?;
            if !other && is_it(said, message, file) {
                return Ok(Some(said.id.clone()));
            }
        }
        Ok(None)
    }
}

/// A bot that may write and not read finds nothing.
fn may_not_look(fault: Fault) -> Result<Vec<Said>, Fault> {
    match fault {
        Fault::Forbidden { .. } => Ok(Vec::new()),
        fault => Err(fault),
    }
}

/// The first id that Discord gave at a time.
fn snowflake(at_ms: i64) -> u64 {
    u64::try_from(at_ms.saturating_sub(EPOCH_MS)).unwrap_or(0) << 22
}

/// Whether a message says what was to be said, or the beginning of it.
fn is_it(said: &Said, message: &Message, file: Option<&str>) -> bool {
    if let Some(name) = file {
        return said.attachments.iter().any(|attached| attached.filename == name);
    }
    if let Some(frame) = &message.frame {
        let text = frame.text.trim();
        return said.embeds.iter().any(|embed| embed.description.trim() == text);
    }
    let (there, meant) = (said.content.trim(), message.content.trim());
    let beginning = there.trim_end_matches(['*', '_', '`', '~', '\n', '…']);
    there == meant || beginning.chars().count() >= LEAST_KNOWN && meant.starts_with(beginning)
}

#[cfg(test)]
#[path = "lookback_tests.rs"]
mod tests;
