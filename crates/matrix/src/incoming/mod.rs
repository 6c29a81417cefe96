//! From Matrix events to messages: nothing is acknowledged before it is stored.
//!
//! Who speaks is the account that the homeserver vouches for and, where a room is encrypted, whose session
//! the words were encrypted with. What can't be taken at once is written down and taken later, in order.

mod changes;
mod devices;
mod files;
mod formatted;
mod heard;
mod messages;
mod private;
mod reactions;
mod saying;
mod speakers;
mod text;
mod waiting;

use std::time::Duration;

use cloister_kit::waiting::{Outcome, Working};
use cloister_kit::{Patience, PlaneError, part};
use cloister_protocol::ErrorCode;
use cloister_protocol::surface::{LetWait, OnceAWhile, WaitsIn, WhyWaiting};
use matrix_sdk::Room;
use matrix_sdk::deserialized_responses::{
    TimelineEvent, TimelineEventKind, VerificationLevel, VerificationState,
};

use crate::bot::Bot;
pub(crate) use devices::{Devices, DevicesState};
use heard::{Heard, Seen};
pub(crate) use private::{Open, Privacy, is_closed, opened_by};
pub(crate) use reactions::Reactions;
pub(crate) use saying::{Sayings, SayingsState};
pub(crate) use speakers::{Speakers, SpeakersState};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);
/// When the homeserver is asked again what it could not be asked now.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// What the intake remembers of an account while it runs.
#[derive(Default)]
pub(crate) struct IntakeState {
    patience: Patience,
    working: Working,
}

impl IntakeState {
    /// Keys came, or something new waits.
    pub(crate) fn wake(&self) {
        self.working.wake();
    }
}

part! {
    /// The intake: what people say, stored before it is acknowledged.
    pub(crate) struct Intake of Bot;
}

impl Intake {
    /// Takes one event of a joined room. Ok: all that must be stored is stored. An error may pass, and the
    /// same event is to be handed over again.
    pub(crate) async fn take_event(
        &self,
        room: &Room,
        event: &TimelineEvent,
    ) -> Result<(), PlaneError> {
        let Some(seen) = seen(event) else {
            tracing::debug!(room = %room.room_id(), "an event could not be read");
            return Ok(());
        };
        let own = Some(&*seen.sender) == self.bot.client.user_id();
        // A Space has a name and members, and nothing is said in it.
        let mute = room.is_space() && !matches!(seen.heard, Heard::Renamed { .. } | Heard::Moved);
        if own || mute {
            return Ok(());
        }
        if let TimelineEventKind::UnableToDecrypt { event: sealed, .. } = &event.kind {
            return self.wait(room, &seen, WhyWaiting::NoKey, Some(sealed.json().get())).await;
        }
        if self.is_forged(room, event, &seen).await? {
            return Ok(());
        }
        let after_others = match &seen.heard {
            Heard::Said(said) if said.file.is_some() => Some(WhyWaiting::NoFile),
            // What helps against a flood goes ahead; what changes the chat comes after what was said before it.
            Heard::Said(said) if self.bot.plane.commands().is_urgent(&said.text) => None,
            Heard::Said(_) | Heard::Edited { .. } => {
                let place = room.room_id().to_string();
                let waits =
                    self.bot.plane.call(WaitsIn { connector: self.bot.id(), place }).await?;
                waits.then_some(WhyWaiting::Busy)
            }
            _ => None,
        };
        let outcome = match after_others {
            // Whoever is not known here gets no file fetched, and nothing kept.
            Some(why) if self.bot.speakers().may_wait(room, &seen).await? => Outcome::Later(why),
            Some(_) | None => Box::pin(self.take(room, &seen)).await?,
        };
        match outcome {
            Outcome::Done => Ok(()),
            Outcome::Later(why) => self.wait(room, &seen, why, None).await,
        }
    }

    /// Does what an event asks for.
    async fn take(&self, room: &Room, seen: &Seen) -> Result<Outcome, PlaneError> {
        match &seen.heard {
            Heard::Said(said) => return self.take_message(room, seen, said).await,
            Heard::Edited { of, text } => return self.take_edit(room, seen, of, text).await,
            Heard::Unusable(what) => self.cannot_use(room, seen, what).await?,
            Heard::Reacted { to, with } => {
                self.bot.reactions().take_reaction(room, seen, to, with).await?
            }
            Heard::Redacted { of } => self.take_redaction(room, seen, of).await?,
            Heard::Renamed { name } => {
                self.bot.members().room_renamed(room, name, (&seen.sender, &seen.id)).await?;
            }
            Heard::Moved => self.bot.privacy().somebody_moved(room).await?,
            Heard::Nothing => {}
        }
        Ok(Outcome::Done)
    }

    /// Whether words are not taken because they may not be the sender's own.
    async fn is_forged(
        &self,
        room: &Room,
        event: &TimelineEvent,
        seen: &Seen,
    ) -> Result<bool, PlaneError> {
        let Some(why) = doubt(&event.kind, &seen.heard, self.is_sealed(room).await?) else {
            return self.bot.devices().is_of_doubtful_device(room, event, seen).await;
        };
        tracing::warn!(room = %room.room_id(), event = %seen.id, "a message of uncertain origin was not taken");
        if self.bot.speakers().knows(&seen.sender).await? {
            self.bot.sayings().tell(room, "forged", HOUR, why).await;
        }
        Ok(true)
    }

    /// Whether a room is encrypted, or ever was.
    async fn is_sealed(&self, room: &Room) -> Result<bool, PlaneError> {
        let sealed = self.bot.encryption().seals(room).await;
        sealed.map_err(|error| PlaneError::busy(error.to_string(), ASK_AGAIN))
    }

    async fn cannot_use(&self, room: &Room, seen: &Seen, what: &str) -> Result<(), PlaneError> {
        if self.bot.speakers().speaker(room, seen, "").await?.is_some() {
            let words = format!(
                "I can't do anything with {what}. Write to me, or send a file, a picture or a voice message."
            );
            self.bot.sayings().tell(room, "unusable", MINUTE, &words).await;
        }
        Ok(())
    }

    /// Keeps an event for later, or says that too many wait.
    async fn wait(
        &self,
        room: &Room,
        seen: &Seen,
        why: WhyWaiting,
        sealed: Option<&str>,
    ) -> Result<(), PlaneError> {
        let (place, event) = (room.room_id().to_string(), seen.id.to_string());
        let sealed = sealed.map(str::to_owned);
        let waits = LetWait { connector: self.bot.id(), place, event, why, sealed };
        if self.bot.plane.call(waits).await? {
            self.bot.intake.wake();
        } else if why != WhyWaiting::NoKey {
            // Who writes what can't be read has been told already, long ago.
            let words = "Too many of your messages wait already: I did not take the last ones. Send them \
                         again in a few minutes.";
            self.bot.sayings().tell(room, "too-many", MINUTE, words).await;
        }
        Ok(())
    }

    /// What an error means for an event: it waits, it is given up and the person told, or it is tried again.
    async fn not_taken(
        &self,
        room: &Room,
        seen: &Seen,
        error: PlaneError,
    ) -> Result<Outcome, PlaneError> {
        if error.is_busy() {
            let body = error.body();
            let words =
                format!("{}. Your message waits, and is taken when there is room.", body.message);
            self.bot.sayings().tell(room, "busy", HOUR, &words).await;
            return Ok(Outcome::Later(WhyWaiting::Busy));
        }
        match error.code() {
            ErrorCode::Internal => return Err(error),
            // It passes: an event is never skipped for it.
            ErrorCode::ShuttingDown => return Err(PlaneError::busy(error.to_string(), MINUTE)),
            code => {
                let body = error.body();
                let fix = body.fix.map(|fix| format!(" ({fix})")).unwrap_or_default();
                let words = format!("I did not take that: {}{fix}.", body.message);
                let words = self.bot.plane.commands().spelled(crate::SIGN.as_char(), &words);
                let again = OnceAWhile { key: format!("matrix {} {code:?}", room.room_id()) };
                if self.bot.plane.call(again).await.unwrap_or(false) {
                    self.bot.sayings().speak(room, &format!("not-taken-{}", seen.id), &words).await;
                }
            }
        }
        Ok(Outcome::Done)
    }
}

const NOT_CERTAIN: &str = "I did not take a message here: it is not certain who wrote it. If you have set up your \
     keys anew, verify me again from your app, then send it again.";
const IN_THE_CLEAR: &str = "This room is encrypted, and a message came in the clear: I did not take it. Send it again \
     with an app that encrypts.";

/// Why words may not be the sender's own: they were encrypted by somebody else, or came in the clear where the
/// room is encrypted. A homeserver could write such things; who sends them is told.
fn doubt(kind: &TimelineEventKind, heard: &Heard, encrypted: bool) -> Option<&'static str> {
    let speaks = matches!(heard, Heard::Said(_) | Heard::Edited { .. } | Heard::Unusable(_));
    match kind {
        TimelineEventKind::Decrypted(decrypted) => {
            match &decrypted.encryption_info.verification_state {
                VerificationState::Unverified(
                    VerificationLevel::MismatchedSender | VerificationLevel::VerificationViolation,
                ) => Some(NOT_CERTAIN),
                VerificationState::Verified | VerificationState::Unverified(_) => None,
            }
        }
        TimelineEventKind::PlainText { .. } => (speaks && encrypted).then_some(IN_THE_CLEAR),
        TimelineEventKind::UnableToDecrypt { .. } => None,
    }
}

/// What an event says.
fn seen(event: &TimelineEvent) -> Option<Seen> {
    let json = serde_json::from_str(event.raw().json().get()).ok()?;
    let seen = Seen::read(&json)?;
    Some(if matches!(event.kind, TimelineEventKind::Decrypted(_)) { seen.opened() } else { seen })
}

#[cfg(test)]
#[path = "incoming_tests.rs"]
mod tests;
