//! What could not be taken at once: messages with files to be fetched, those that came in a flood, and whatever
//! came after them.

use std::time::Duration;

use cloister_control::ControlError;
use cloister_store::waiting::{WaitingEvent, WhyWaiting};
use futures_util::{StreamExt, stream};

use super::{Outcome, Seen, text};
use crate::discord::bot::Bot;
use crate::discord::wire::Message;

/// How often it is looked anyway.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// How soon after something waits for less load it is looked again.
const LOOK_SOON: Duration = Duration::from_secs(2);
/// How soon a file that could not be fetched is tried again.
const FETCH_AGAIN: Duration = Duration::from_secs(5);
/// How many channels are worked on at the same time.
const CHANNELS_AT_ONCE: usize = 4;
/// How long anything waits at most.
const AT_LAST_MS: i64 = 3 * 24 * 60 * 60 * 1000;

impl Bot {
    /// Takes what waits, as soon as it can be. Does not end.
    pub(crate) async fn take_waiting(&self) {
        loop {
            let pause = match self.retry_all().await {
                Ok(()) => self.next_look().await,
                Err(error) => {
                    tracing::error!(error = error.chain(), "what waits could not be looked at");
                    LOOK_EVERY
                }
            };
            tokio::select! {
                () = self.incoming.changed.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn next_look(&self) -> Duration {
        let waits = self.control.store().waiting_events(self.id()).await.unwrap_or_default();
        let pause = |waiting: &WaitingEvent| match waiting.why {
            WhyWaiting::NoKey => LOOK_EVERY,
            WhyWaiting::Busy => LOOK_SOON,
            WhyWaiting::NoFile => FETCH_AGAIN,
        };
        waits.iter().map(pause).min().unwrap_or(LOOK_EVERY)
    }

    /// Goes once through what waits: channel by channel, in the order in which it came.
    async fn retry_all(&self) -> Result<(), ControlError> {
        let Ok(_alone) = self.incoming.working.try_lock() else {
            return Ok(());
        };
        let waits = self.control.store().waiting_events(self.id()).await?;
        let mut channels: Vec<(String, Vec<WaitingEvent>)> = Vec::new();
        for waiting in waits {
            match channels.iter_mut().find(|(place, _)| *place == waiting.place) {
                Some((_, events)) => events.push(waiting),
                None => channels.push((waiting.place.clone(), vec![waiting])),
            }
        }
        stream::iter(channels)
            .for_each_concurrent(CHANNELS_AT_ONCE, |(channel, events)| async move {
                Box::pin(self.retry_channel(&channel, events)).await;
            })
            .await;
        Ok(())
    }

    async fn retry_channel(&self, channel: &str, events: Vec<WaitingEvent>) {
        for waiting in events {
            match self.retry(&waiting).await {
                Ok(Outcome::Done) => {}
                // After one that must wait, the others do.
                Ok(Outcome::Later(_)) => return,
                Err(error) => {
                    let why = error.chain();
                    tracing::warn!(channel, why, "a message that waits could not be taken");
                    return;
                }
            }
            let let_go =
                self.control.store().stop_waiting(self.id(), channel, &waiting.event).await;
            if let Err(error) = let_go {
                tracing::error!(channel, %error, "a message that waited could not be let go");
                return;
            }
        }
    }

    /// Tries to take a message that waits. One that is given up is done with.
    async fn retry(&self, waiting: &WaitingEvent) -> Result<Outcome, ControlError> {
        let kept = waiting.sealed.as_deref().unwrap_or_default();
        let Ok(message) = serde_json::from_str::<Message>(kept) else {
            tracing::warn!(event = waiting.event, "a message that waited can't be read");
            return Ok(Outcome::Done);
        };
        let seen = Seen { message: &message, edited: text::is_edit(&waiting.event) };
        let guild = message.guild_id.as_deref();
        let Some(place) = self.place(&message.channel_id, guild).await? else {
            return Ok(Outcome::Done);
        };
        let outcome = Box::pin(self.take_words(&place, seen)).await?;
        let age = self.control.store().clock.now_ms().saturating_sub(waiting.since);
        if outcome != Outcome::Done && age > AT_LAST_MS {
            tracing::warn!(event = waiting.event, "a message that waited is given up");
            return Ok(Outcome::Done);
        }
        Ok(outcome)
    }
}
