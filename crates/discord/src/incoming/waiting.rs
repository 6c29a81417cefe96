//! What could not be taken at once: messages with files to be fetched, those that came in a flood, and whatever
//! came after them. Channels side by side, each in its order.
//!
//! Promises: a message that fails holds up its own channel alone, and that for a bounded time; what is given up
//! is on record, and who wrote it is told.

use std::panic::AssertUnwindSafe;

use cloister_kit::PlaneError;
use cloister_kit::waiting::{AT_LAST_MS, Outcome, Step, Waits, Working, holds_nobody};
use cloister_protocol::surface::{
    FirstWaiting, StopWaiting, WaitingEvent, WaitingPlaces, WhyWaiting,
};
use futures_util::FutureExt;

use super::{Intake, Seen, text};
use crate::bot::Bot;
use crate::wire::Message;

/// How much of what waits in a channel is looked at: files that do not come are passed by.
const LOOKED_AT: u32 = 40;
/// What a failure of its own costs of the patience with a message.
const FAILURE: u32 = 2;

impl Waits for Bot {
    const WORK: &'static str = "discord channel";

    fn working(&self) -> &Working {
        &self.intake.working
    }

    async fn places(&self) -> Result<Vec<String>, PlaneError> {
        self.plane.call(WaitingPlaces { connector: self.id(), unreadable: None }).await
    }

    async fn take_next(&self, channel: &str) -> Result<Step, PlaneError> {
        let (connector, place) = (self.id(), channel.to_owned());
        let now = self.plane.now_ms();
        let first = FirstWaiting { connector, place: place.clone(), most: LOOKED_AT };
        let mut rows = self.plane.call(first).await?;
        rows.sort_by_key(|row| holds_nobody(row, now));
        let Some(row) = rows.into_iter().next() else { return Ok(Step::Nothing) };
        let kept = row.sealed.as_deref().unwrap_or_default();
        let step = match serde_json::from_str::<Message>(kept) {
            Ok(message) => {
                let seen = Seen { message: &message, edited: text::is_edit(&row.event) };
                self.intake().retry(seen, &row).await?
            }
            Err(error) => {
                let why = format!("what was kept of it can't be read: {error}");
                self.intake().given_up((channel, &row.event), &why, false).await?;
                Step::Next
            }
        };
        if step == Step::Next {
            let event = row.event.clone();
            self.plane.call(StopWaiting { connector, place, event }).await?;
        }
        Ok(step.holding(holds_nobody(&row, now)))
    }
}

impl Intake {
    /// Tries to take a message that waits. One that is given up is done with.
    async fn retry(&self, seen: Seen<'_>, row: &WaitingEvent) -> Result<Step, PlaneError> {
        let tried = AssertUnwindSafe(Box::pin(self.take_again(seen))).catch_unwind().await;
        let (step, why) = match tried {
            Ok(Ok(Outcome::Done)) => return Ok(Step::Next),
            Ok(Ok(Outcome::Later(why))) => (wait_for(why, seen), "it waited for days".to_owned()),
            Ok(Err(error)) if error.may_pass() => return Err(error),
            Ok(Err(error)) => (self.failed(row), error.chain()),
            Err(_panic) => (self.failed(row), "a panic; the log has it".to_owned()),
        };
        let age = self.bot.plane.now_ms().saturating_sub(row.since);
        if step != Step::Next && age <= AT_LAST_MS {
            return Ok(step);
        }
        self.given_up((&row.place, &row.event), &why, true).await?;
        Ok(Step::Next)
    }

    async fn take_again(&self, seen: Seen<'_>) -> Result<Outcome, PlaneError> {
        let message = seen.message;
        let place =
            self.bot.places().place(&message.channel_id, message.guild_id.as_deref()).await?;
        let Some(place) = place else { return Ok(Outcome::Done) };
        self.take_words(&place, seen).await
    }

    /// It failed for a reason of its own: it is tried a few times, then done with.
    fn failed(&self, row: &WaitingEvent) -> Step {
        let left = self.bot.intake.patience.left(&row.event, FAILURE);
        if left { Step::Later } else { Step::Next }
    }
}

/// When a message is tried again that can't be taken yet.
fn wait_for(why: WhyWaiting, seen: Seen<'_>) -> Step {
    let has_files = !seen.edited && !text::files_of(seen.message).is_empty();
    Step::later(why, has_files)
}

#[cfg(test)]
#[path = "waiting_tests.rs"]
mod tests;
