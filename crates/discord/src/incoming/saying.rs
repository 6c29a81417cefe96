//! Sentences of this part: each once in a while, and none is a reason to take an event again.

use std::time::Duration;

use cloister_kit::{Lately, part, say_patiently};
use cloister_protocol::with_causes;

use crate::bot::Bot;

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
    /// Says something in a channel, unless it was said there so lately.
    pub(super) async fn tell(&self, channel: &str, topic: &str, every: Duration, words: &str) {
        let now = self.bot.plane.now_ms();
        let key = self.bot.sayings.lately.key_of(channel, topic, every, now);
        if let Some(key) = key {
            self.speak(channel, &key, words).await;
        }
    }

    /// Says something in a channel; whether it could be said. That it could not is no reason to take the event
    /// again.
    pub(super) async fn speak(&self, channel: &str, key: &str, words: &str) -> bool {
        let said = say_patiently(|| self.bot.sending().say(channel, key, words)).await;
        if let Err(error) = &said {
            tracing::warn!(
                channel,
                error = with_causes(&error),
                "something could not be said in a channel"
            );
        }
        said.is_ok()
    }
}
