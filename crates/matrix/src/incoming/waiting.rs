//! What could not be taken at once: events without a key, files to be fetched, and whatever came after them.

use std::time::Duration;

use cloister_kit::PlaneError;
use cloister_kit::waiting::{AT_LAST_MS, Outcome, Step, Waits, Working, holds_nobody};
use cloister_protocol::surface::{
    SealedEvent, StopWaiting, ToldThatItWaits, WaitingEvent, WaitingEvents, WaitingPlaces,
    WhyWaiting,
};
use cloister_protocol::with_causes;
use matrix_sdk::Room;
use matrix_sdk::deserialized_responses::{
    TimelineEvent, TimelineEventKind, UnableToDecryptReason, WithheldCode,
};
use matrix_sdk::ruma::events::room::encrypted::OriginalSyncRoomEncryptedEvent;
use matrix_sdk::ruma::serde::Raw;
use matrix_sdk::ruma::{EventId, RoomId};

use super::messages::NotThere;
use super::{HOUR, Intake};
use crate::bot::Bot;

/// How often it is looked at what waits for a key that its person was told about.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// How soon after something waits for less load it is looked again.
const LOOK_SOON: Duration = Duration::from_secs(2);
/// How soon a file that could not be fetched is tried again.
const FETCH_AGAIN: Duration = Duration::from_secs(5);

impl Waits for Bot {
    const WORK: &'static str = "matrix room";

    fn working(&self) -> &Working {
        &self.intake.working
    }

    async fn places(&self) -> Result<Vec<String>, PlaneError> {
        self.plane.call(WaitingPlaces { connector: self.id(), unreadable: Some(true) }).await
    }

    /// Tries all that waits in a room, once; what is left rests until a key comes, or for a while.
    async fn take_next(&self, place: &str) -> Result<Step, PlaneError> {
        let (connector, place) = (self.id(), place.to_owned());
        let waits = self.plane.call(WaitingEvents { connector, place: place.clone() }).await?;
        if waits.is_empty() {
            return Ok(Step::Nothing);
        }
        let left = self.intake().retry_room(&place, waits).await;
        Ok(left.map_or(Step::Next, Step::Rest))
    }
}

impl Intake {
    fn pause_for(&self, waiting: &WaitingEvent) -> Duration {
        match waiting.why {
            WhyWaiting::NoKey if waiting.told => LOOK_EVERY,
            WhyWaiting::NoKey => {
                LOOK_EVERY.min(Duration::from_secs(self.bot.options.key_wait_s.max(1)))
            }
            WhyWaiting::Busy => LOOK_SOON,
            WhyWaiting::NoFile => FETCH_AGAIN,
        }
    }

    /// How long a key may take before the person is told what to do.
    fn key_wait_ms(&self) -> i64 {
        i64::try_from(self.bot.options.key_wait_s).unwrap_or(i64::MAX).saturating_mul(1000)
    }

    /// How long what is left rests; none: nothing is.
    async fn retry_room(&self, place: &str, mut events: Vec<WaitingEvent>) -> Option<Duration> {
        events.sort_by_key(|waiting| self.holds_nobody(waiting));
        let room = <&RoomId>::try_from(place).ok().and_then(|id| self.bot.client.get_room(id));
        // What can be read keeps its order: after one that must wait, the others do.
        let mut held_up = false;
        let mut rests: Option<Duration> = None;
        let mut stays = |waiting: &WaitingEvent| {
            let pause = self.pause_for(waiting);
            rests = Some(rests.map_or(pause, |other| other.min(pause)));
        };
        for waiting in events {
            if held_up && waiting.why != WhyWaiting::NoKey {
                stays(&waiting);
                continue;
            }
            let outcome = match &room {
                Some(room) => self.retry(room, &waiting).await,
                // We are there no longer, or do not know it yet.
                None => Ok(self.later_or_never(None, &waiting).await),
            };
            let done = match outcome {
                Ok(Outcome::Done) => {
                    let (connector, place) = (self.bot.id(), place.to_owned());
                    let done = StopWaiting { connector, place, event: waiting.event.clone() };
                    self.bot.plane.call(done).await.map(|_| true)
                }
                Ok(Outcome::Later(WhyWaiting::NoKey)) => Ok(false),
                // A file that does not come goes on being tried, and holds up nobody.
                Ok(Outcome::Later(WhyWaiting::NoFile)) if self.holds_nobody(&waiting) => Ok(false),
                Ok(Outcome::Later(_)) => {
                    held_up = true;
                    Ok(false)
                }
                Err(error) => Err(error),
            };
            match done {
                Ok(true) => {}
                Ok(false) => stays(&waiting),
                Err(error) => {
                    held_up = true;
                    let error = error.chain();
                    tracing::warn!(place, error, "an event that waits could not be taken");
                    stays(&waiting);
                }
            }
        }
        rests
    }

    /// Tries to take an event that waits. One that is given up is done with, and the person told.
    async fn retry(&self, room: &Room, waiting: &WaitingEvent) -> Result<Outcome, PlaneError> {
        let event = match self.waiting_event(room, waiting).await {
            Ok(event) => event,
            Err(NotThere::Now) => return Ok(self.later_or_never(Some(room), waiting).await),
            Err(NotThere::Ever) => return Ok(Outcome::Done),
        };
        if let TimelineEventKind::UnableToDecrypt { utd_info, .. } = &event.kind {
            if self.age_ms(waiting) > self.key_wait_ms() && !waiting.told {
                self.bot.sayings().tell(room, "no-key", HOUR, what_to_do(&utd_info.reason)).await;
                let told = ToldThatItWaits { connector: self.bot.id(), waiting: waiting.id };
                self.bot.plane.call(told).await?;
            }
            return Ok(self.later_or_never(Some(room), waiting).await);
        }
        let Some(seen) = super::seen(&event) else { return Ok(Outcome::Done) };
        if self.is_forged(room, &event, &seen).await? {
            return Ok(Outcome::Done);
        }
        Box::pin(self.take(room, &seen)).await
    }

    fn age_ms(&self, waiting: &WaitingEvent) -> i64 {
        self.bot.plane.now_ms().saturating_sub(waiting.since)
    }

    /// Whether it is a file that was waited for long enough: what came after it goes first.
    fn holds_nobody(&self, waiting: &WaitingEvent) -> bool {
        holds_nobody(waiting, self.bot.plane.now_ms())
    }

    /// It waits on, if it has not waited for days by a clock that may have jumped. Who was not told that it
    /// waits is told that it was given up.
    async fn later_or_never(&self, room: Option<&Room>, waiting: &WaitingEvent) -> Outcome {
        if self.age_ms(waiting) <= AT_LAST_MS {
            return Outcome::Later(waiting.why);
        }
        tracing::warn!(place = waiting.place, event = waiting.event, "an event is given up");
        if let Some(room) = room.filter(|_| !waiting.told) {
            self.bot.sayings().tell(room, "given-up", HOUR, GIVEN_UP).await;
        }
        Outcome::Done
    }

    /// The event itself: decrypted if it can be by now, else fetched again.
    async fn waiting_event(
        &self,
        room: &Room,
        waiting: &WaitingEvent,
    ) -> Result<TimelineEvent, NotThere> {
        let sealed = SealedEvent { connector: self.bot.id(), waiting: waiting.id };
        let sealed = self.bot.plane.call(sealed).await.map_err(|error| {
            tracing::warn!(error = error.chain(), "an event that waits could not be asked for");
            NotThere::Now
        })?;
        if let Some(sealed) = sealed {
            let raw = Raw::<OriginalSyncRoomEncryptedEvent>::from_json_string(sealed);
            let raw = raw.map_err(|unread| never(&unread))?;
            let opened = room.decrypt_event(&raw, None).await;
            return opened.map_err(|error| not_now(&error));
        }
        let id = <&EventId>::try_from(waiting.event.as_str());
        self.fetch_event(room, id.map_err(|unread| never(&unread))?).await
    }
}

fn never(error: &dyn std::error::Error) -> NotThere {
    tracing::warn!(error = with_causes(&error), "an event that waited can't be read");
    NotThere::Ever
}

fn not_now(error: &dyn std::error::Error) -> NotThere {
    tracing::warn!(error = with_causes(&error), "an event that waits could not be decrypted");
    NotThere::Now
}

/// What a person can do so that their message can be read.
fn what_to_do(reason: &UnableToDecryptReason) -> &'static str {
    match reason {
        UnableToDecryptReason::MissingMegolmSession { withheld_code: Some(code) } => match code {
            WithheldCode::Unverified => {
                "I could not read your message: your app gives its keys to verified devices alone. Open my \
                 profile, choose *Verify*, compare the emoji, then send it again."
            }
            WithheldCode::Blacklisted => {
                "I could not read your message: your app has blocked my device. Unblock it in my profile, \
                 then send it again."
            }
            _ => NO_KEY,
        },
        _ => NO_KEY,
    }
}

const GIVEN_UP: &str = "I could not read or fetch a message of yours for days, and have given it up. Send it again, please.";

const NO_KEY: &str = "I could not read your message: your device has not shared its key with me. Open the app that \
     you wrote it with and leave it open for a minute; I read it when the key comes. Or send it again. If it \
     keeps happening, open my profile and choose *Verify*.";

#[cfg(test)]
#[path = "waiting_tests.rs"]
mod tests;
