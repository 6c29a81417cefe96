//! Sentences of this part: each once in a while, and none is a reason to take an event again.

use std::time::Duration;

use cloister_kit::{Lately, part};
use cloister_protocol::surface::SendError;
use cloister_protocol::with_causes;
use matrix_sdk::Room;

use crate::bot::Bot;

/// The longest that a sentence is held back because the homeserver asks for it.
const LONGEST_PAUSE: Duration = Duration::from_secs(3);

/// What was said lately.
#[derive(Default)]
pub(crate) struct SayingsState {
    lately: Lately,
}

part! {
    /// What the bot says of its own.
    pub(crate) struct Sayings of Bot;
}

impl Sayings {
    /// Says something in a room, unless it was said there so lately.
    pub(super) async fn tell(&self, room: &Room, topic: &str, every: Duration, words: &str) {
        let now = self.bot.plane.now_ms();
        if !self.bot.sayings.lately.first_in(format!("{topic} {}", room.room_id()), every, now) {
            return;
        }
        let every = i64::try_from(every.as_millis()).unwrap_or(i64::MAX).max(1);
        self.speak(room, &format!("{topic}-{}", now / every), words).await;
    }

    /// Says something in a room. That it could not be said is no reason to take the event again.
    pub(super) async fn speak(&self, room: &Room, key: &str, words: &str) {
        let mut said = self.bot.sending().say(room, key, words).await;
        if let Err(SendError::Wait(pause)) = &said {
            tokio::time::sleep((*pause).min(LONGEST_PAUSE)).await;
            said = self.bot.sending().say(room, key, words).await;
        }
        if let Err(error) = said {
            tracing::warn!(room = %room.room_id(), error = with_causes(&error), "something could not be said in a room");
        }
    }
}
