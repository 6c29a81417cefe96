//! Frames, and where there are none: a server may take them off a bot's messages, with or without a word.
//!
//! Promises: what is asked is read before it can be answered with a press. Where it is not known that frames are
//! shown, what can be pressed comes after what there is to read.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use cloister_protocol::surface::ConversationKind;
use tokio::time::Instant;

use super::Sending;
use super::message::{Attached, Message, Put};
use super::send::{Known, MessagePlace, is_too_fancy};
use crate::rest::Fault;

/// So long it is taken for true what was seen: permissions change.
const HOLDS: Duration = Duration::from_secs(10 * 60);
const MOST_CHANNELS: usize = 10_000;

/// In which channels frames are shown.
#[derive(Debug, Default)]
pub(super) struct Frames {
    seen: Mutex<HashMap<u64, (bool, Instant)>>,
}

impl Frames {
    fn are_shown(&self, channel: u64, now: Instant) -> Option<bool> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(&channel).filter(|(_, at)| now < *at + HOLDS).map(|(shown, _)| *shown)
    }

    fn note(&self, channel: u64, shown: bool, now: Instant) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= MOST_CHANNELS {
            seen.clear();
        }
        seen.insert(channel, (shown, now));
    }
}

impl Sending {
    /// Posts a message in a channel; plainer where the bot may have no frames, or may not say what it answers.
    pub(super) async fn put_there(
        &self,
        (channel, kind): (u64, ConversationKind),
        message: &Message,
        put: Put<'_>,
        file: Option<&Attached>,
    ) -> Result<String, Fault> {
        let shown = match kind {
            ConversationKind::Room | ConversationKind::Lobby => Some(true),
            ConversationKind::Shared => self.bot.sending.frames.are_shown(channel, Instant::now()),
        };
        let place = MessagePlace::Channel(channel);
        if message.frame.is_none() || shown == Some(false) {
            let plain = message.without_frame();
            return Ok(self.put_or_plainer(place, &plain, put, file).await?.id);
        }
        // Nothing is pressed before it is known that it can be read.
        let doubtful = shown.is_none() && !message.rows.is_empty();
        let first = if doubtful { &message.without_rows() } else { message };
        let known = self.put_or_plainer(place, first, put, file).await?;
        let lost = known.lost_frame(message);
        self.bot.sending.frames.note(channel, !lost, Instant::now());
        if (lost || doubtful)
            && let Ok(id) = known.id.parse()
        {
            let whole = if lost { &message.without_frame() } else { message };
            let there = MessagePlace::Message { channel, message: id };
            self.put(there, whole, Put::Instead, None).await?;
        }
        Ok(known.id)
    }

    /// Puts something in the place of what a message said.
    pub(super) async fn put_instead(
        &self,
        (channel, id): (u64, u64),
        message: &Message,
    ) -> Result<(), Fault> {
        let place = MessagePlace::Message { channel, message: id };
        let known = self.put_or_plainer(place, message, Put::Instead, None).await?;
        if known.lost_frame(message) {
            self.put(place, &message.without_frame(), Put::Instead, None).await?;
        }
        Ok(())
    }

    /// Puts a message there, or a plainer one where that is refused.
    async fn put_or_plainer(
        &self,
        place: MessagePlace<'_>,
        message: &Message,
        put: Put<'_>,
        file: Option<&Attached>,
    ) -> Result<Known, Fault> {
        match self.put(place, message, put, file).await {
            Err(fault) if is_too_fancy(&fault, put) => {
                let plainer = message.without_frame();
                if plainer == *message && put.answers_nothing() == put {
                    return Err(fault);
                }
                self.put(place, &plainer, put.answers_nothing(), file).await
            }
            done => done,
        }
    }
}

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;
