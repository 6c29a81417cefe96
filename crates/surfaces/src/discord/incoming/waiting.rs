//! What could not be taken at once: messages with files to be fetched, those that came in a flood, and whatever
//! came after them. Channels side by side, each in its order.
//!
//! Promises: a message that fails holds up its own channel alone, and that for a bounded time; what is given up
//! is on record, and who wrote it is told.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use cloister_control::ControlError;
use cloister_store::waiting::{WaitingEvent, WhyWaiting};
use futures_util::FutureExt;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Outcome, Seen, may_pass, text};
use crate::backoff::Backoff;
use crate::discord::bot::Bot;
use crate::discord::wire::Message;

/// How often it is looked anyway.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// How soon what waits for less load is tried again.
const TRY_SOON: Duration = Duration::from_secs(2);
/// The longest pause before a file that could not be fetched is tried again.
const FETCH_AGAIN: Duration = Duration::from_secs(30);
/// The longest pause before a message with files is tried again that there was no room for: each try fetches
/// them anew.
const FETCH_FOR_NOTHING: Duration = Duration::from_secs(5 * 60);
/// How many channels are worked on at the same time; the others wait for one of these.
const AT_ONCE: usize = 16;
/// What a failure of its own costs of the patience with a message.
const FAILURE: u32 = 2;
/// How long anything waits at most.
const AT_LAST_MS: i64 = 3 * 24 * 60 * 60 * 1000;

/// Takes what waits, as soon as it can be, until it is stopped.
pub(crate) async fn keep_taking(bot: Arc<Bot>, tracker: TaskTracker, stop: CancellationToken) {
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        match bot.control.store().waiting_places(bot.id()).await {
            Ok(channels) => {
                for name in channels {
                    // One that is worked on sees itself what is new there.
                    if bot.incoming.working().insert(name.clone()) {
                        let queue = Queue { bot: Arc::clone(&bot), name };
                        let (turns, stop) = (Arc::clone(&turns), stop.clone());
                        tracker.spawn(async move { queue.work_through(&turns, &stop).await });
                    }
                }
            }
            Err(error) => tracing::error!(%error, "what waits could not be looked at"),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = bot.incoming.changed.notified() => {}
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}

/// A channel that something waits in; worked on as long as this lives.
struct Queue {
    bot: Arc<Bot>,
    name: String,
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.bot.incoming.working().remove(&self.name);
        // Something may have come after it was looked last.
        self.bot.incoming.wake();
    }
}

/// What became of the first of what waits in a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Nothing waits any more.
    Nothing,
    /// It is taken; the next one's turn.
    Next,
    /// It is tried again soon: that costs little.
    Soon,
    /// It is tried again, after a pause that grows.
    Later,
    /// The same, and the pause grows longer.
    MuchLater,
}

/// How long the pauses of a channel have grown.
struct Pauses {
    later: Backoff,
    much_later: Backoff,
}

impl Pauses {
    fn new() -> Self {
        Self { later: Backoff::new(FETCH_AGAIN), much_later: Backoff::new(FETCH_FOR_NOTHING) }
    }

    /// How long to wait after a step; none: there is nothing to wait for.
    fn after(&mut self, step: Step) -> Option<Duration> {
        match step {
            Step::Nothing => None,
            Step::Next => {
                *self = Self::new();
                Some(Duration::ZERO)
            }
            Step::Soon => Some(TRY_SOON),
            Step::Later => Some(self.later.next()),
            Step::MuchLater => Some(self.much_later.next()),
        }
    }
}

impl Queue {
    async fn work_through(&self, turns: &Semaphore, stop: &CancellationToken) {
        let mut pauses = Pauses::new();
        loop {
            let step = async {
                let _turn = turns.acquire().await;
                Box::pin(self.bot.take_next(&self.name)).await
            };
            let step = tokio::select! {
                () = stop.cancelled() => return,
                step = step => step.unwrap_or_else(|error| {
                    let channel = &self.name;
                    tracing::warn!(channel, why = error.chain(), "what waits can't be taken now");
                    Step::Later
                }),
            };
            let Some(pause) = pauses.after(step) else { return };
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }
}

impl Bot {
    /// Takes the first of what waits in a channel.
    async fn take_next(&self, channel: &str) -> Result<Step, ControlError> {
        let store = self.control.store();
        let Some(row) = store.first_waiting(self.id(), channel, 1).await?.into_iter().next() else {
            return Ok(Step::Nothing);
        };
        let kept = row.sealed.as_deref().unwrap_or_default();
        let step = match serde_json::from_str::<Message>(kept) {
            Ok(message) => {
                let seen = Seen { message: &message, edited: text::is_edit(&row.event) };
                self.retry(seen, &row).await?
            }
            Err(error) => {
                let why = format!("what was kept of it can't be read: {error}");
                self.given_up((channel, &row.event), &why, false).await?;
                Step::Next
            }
        };
        if step == Step::Next {
            store.stop_waiting(self.id(), channel, &row.event).await?;
        }
        Ok(step)
    }

    /// Tries to take a message that waits. One that is given up is done with.
    async fn retry(&self, seen: Seen<'_>, row: &WaitingEvent) -> Result<Step, ControlError> {
        let tried = AssertUnwindSafe(Box::pin(self.take_again(seen))).catch_unwind().await;
        let (step, why) = match tried {
            Ok(Ok(Outcome::Done)) => return Ok(Step::Next),
            Ok(Ok(Outcome::Later(why))) => (wait_for(why, seen), "it waited for days".to_owned()),
            Ok(Err(error)) if may_pass(&error) => return Err(error),
            Ok(Err(error)) => (self.failed(row), error.chain()),
            Err(_panic) => (self.failed(row), "a panic; the log has it".to_owned()),
        };
        let age = self.control.store().clock.now_ms().saturating_sub(row.since);
        if step != Step::Next && age <= AT_LAST_MS {
            return Ok(step);
        }
        self.given_up((&row.place, &row.event), &why, true).await?;
        Ok(Step::Next)
    }

    async fn take_again(&self, seen: Seen<'_>) -> Result<Outcome, ControlError> {
        let message = seen.message;
        let place = self.place(&message.channel_id, message.guild_id.as_deref()).await?;
        let Some(place) = place else { return Ok(Outcome::Done) };
        self.take_words(&place, seen).await
    }

    /// It failed for a reason of its own: it is tried a few times, then done with.
    fn failed(&self, row: &WaitingEvent) -> Step {
        let left = self.incoming.patience_left(&row.event, FAILURE);
        if left { Step::Later } else { Step::Next }
    }
}

/// When a message is tried again that can't be taken yet.
fn wait_for(why: WhyWaiting, seen: Seen<'_>) -> Step {
    match why {
        WhyWaiting::NoFile => Step::Later,
        WhyWaiting::Busy | WhyWaiting::NoKey => {
            let has_files = !seen.edited && !text::files_of(seen.message).is_empty();
            if has_files { Step::MuchLater } else { Step::Soon }
        }
    }
}

#[cfg(test)]
#[path = "waiting_tests.rs"]
mod tests;
