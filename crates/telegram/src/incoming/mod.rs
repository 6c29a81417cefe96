//! From updates to messages: nothing is acknowledged before it is stored.
//!
//! Who speaks is the account that Telegram vouches for; who speaks as a group or a channel is nobody. Taking an
//! update reaches the database and nothing else: what needs the network (a file, a sentence, the answer to a
//! press) is done beside it, so that no conversation waits for another one's.

mod addressed;
mod albums;
mod buttons;
mod changes;
mod content;
mod files;
mod marks;
mod members;
mod messages;
mod saying;
mod speakers;
mod waiting;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use cloister_kit::waiting::{Outcome, Working};
use cloister_kit::{Patience, PlaneError, part};
use cloister_protocol::ErrorCode;
use cloister_protocol::surface::{Dropped, LetWait, OnceAWhile, WhyWaiting};
use futures_util::FutureExt;
use serde_json::Value;

use super::bot::Bot;
use super::updates::wire::{self, Message, Update};
use addressed::Us;
pub(crate) use buttons::Buttons;
pub(crate) use members::Members;
pub(crate) use saying::{Sayings, SayingsState, keep_saying};
pub(crate) use speakers::Speakers;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);

part! {
    /// The intake: what people say, stored before it is acknowledged.
    pub(crate) struct Intake of Bot;
}

/// What the intake remembers of a bot while it runs.
#[derive(Default)]
pub(crate) struct IntakeState {
    patience: Patience,
    working: Working,
    /// One update at a time is taken.
    taking: tokio::sync::Mutex<()>,
}

impl Intake {
    fn us(&self) -> Us {
        let id = i64::try_from(self.bot.me.id).unwrap_or_default();
        let commands = Arc::clone(self.bot.plane.commands());
        Us { id, username: self.bot.me.username.clone(), commands }
    }

    /// Takes one update. Ok: all that must be stored is stored. An error is trouble of our own, and the same
    /// update is to be handed over again; what fails for a reason of its own is put aside, so that it holds up
    /// nobody.
    pub(crate) async fn take_update(&self, raw: &Value) -> Result<(), PlaneError> {
        let _one_at_a_time = self.bot.intake.taking.lock().await;
        let update = match serde_json::from_value::<Update>(raw.clone()) {
            Ok(update) => update,
            Err(error) => {
                let number = Update::number(raw).unwrap_or_default();
                return self.pass_over(number, &format!("it can't be read: {error}")).await;
            }
        };
        let why = match AssertUnwindSafe(Box::pin(self.take(&update, raw))).catch_unwind().await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) if error.may_pass() => return Err(error),
            Ok(Err(error)) => error.chain(),
            Err(_panic) => "a panic; the log has it".to_owned(),
        };
        self.put_aside(&update, raw, &why).await
    }

    async fn take(&self, update: &Update, raw: &Value) -> Result<(), PlaneError> {
        if let Some(message) = &update.message {
            return Box::pin(self.take_arrived(message, raw)).await;
        }
        if let Some(message) = &update.edited_message {
            return Box::pin(self.take_edited(message, raw)).await;
        }
        if let Some(query) = &update.callback_query {
            return Box::pin(self.bot.buttons().take_press(query)).await;
        }
        if let Some(change) = &update.my_chat_member {
            return self.bot.members().take_membership(change).await;
        }
        if let Some(stopped) = &update.stopped_message_generation {
            return Box::pin(self.take_stop(update.update_id, stopped)).await;
        }
        Ok(())
    }

    /// What fails for a reason of its own is tried again beside the others, if it is a message of somebody we
    /// know; anything else is passed over.
    async fn put_aside(&self, update: &Update, raw: &Value, why: &str) -> Result<(), PlaneError> {
        let message = update.message.as_ref().or(update.edited_message.as_ref());
        let known = match message.and_then(|message| speakers::sender(message)) {
            Some(from) => self.bot.speakers().knows(from.id).await?,
            None => false,
        };
        match message {
            Some(message) if known => {
                tracing::warn!(update = update.update_id, why, "not taken yet; it is tried again");
                let name = name_of(update, message);
                self.wait((&message.place(), &name), WhyWaiting::Busy, raw).await
            }
            Some(_) | None => self.pass_over(update.update_id, why).await,
        }
    }

    /// An update is not taken, and never will be: it is on record.
    async fn pass_over(&self, number: i64, why: &str) -> Result<(), PlaneError> {
        self.bot.plane.count_error("skipped");
        tracing::error!(account = self.bot.connector.account, update = number, why, "passed over");
        let (what, why) = (format!("update {number}"), why.to_owned());
        self.bot.plane.call(Dropped { connector: self.bot.id(), what, why }).await
    }

    /// Keeps a message for later, or says that too many wait.
    async fn wait(
        &self,
        (place, event): (&str, &str),
        why: WhyWaiting,
        raw: &Value,
    ) -> Result<(), PlaneError> {
        let waits = LetWait {
            connector: self.bot.id(),
            place: place.to_owned(),
            event: event.to_owned(),
            why,
            sealed: Some(raw.to_string()),
        };
        if self.bot.plane.call(waits).await? {
            self.bot.intake.working.wake();
        } else {
            let words = "Too many of your messages wait already: I did not take the last ones. Send them \
                         again in a few minutes.";
            self.bot.sayings().tell(place, "too-many", MINUTE, words);
        }
        Ok(())
    }

    /// What an error means for a message: it waits, it is given up and the person told, or it is tried again.
    async fn not_taken(&self, message: &Message, error: PlaneError) -> Result<Outcome, PlaneError> {
        let place = message.place();
        if error.is_busy() {
            let body = error.body();
            let words =
                format!("{}. Your message waits, and is taken when there is room.", body.message);
            self.bot.sayings().tell(&place, "busy", HOUR, &words);
            return Ok(Outcome::Later(WhyWaiting::Busy));
        }
        match error.code() {
            ErrorCode::Internal => return Err(error),
            // It passes: a message is never dropped for it.
            ErrorCode::ShuttingDown => return Err(PlaneError::busy(error.to_string(), MINUTE)),
            code => {
                let body = error.body();
                let fix = body.fix.map(|fix| format!(" ({fix})")).unwrap_or_default();
                let words = format!("I did not take that: {}{fix}.", body.message);
                let key = format!("{place} {code:?}");
                if self.bot.plane.call(OnceAWhile { key }).await.unwrap_or_default() {
                    self.bot.sayings().speak(
                        &place,
                        &format!("not-taken-{}", message.name()),
                        &words,
                    );
                }
            }
        }
        Ok(Outcome::Done)
    }
}

/// The name that what waits is known by.
fn name_of(update: &Update, message: &Message) -> String {
    match update.edited_message {
        Some(_) => changes::edit_name(message),
        None => message.name(),
    }
}
