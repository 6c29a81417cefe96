//! What could not be taken at once: events without a key, files to be fetched, and whatever came after them.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use cloister_kit::PlaneError;
use cloister_kit::waiting::{AT_LAST_MS, Outcome, holds_nobody};
use cloister_protocol::surface::{
    SealedEvent, StopWaiting, ToldThatItWaits, WaitingEvent, WaitingEvents, WhyWaiting,
};
use cloister_protocol::with_causes;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use matrix_sdk::Room;
use matrix_sdk::deserialized_responses::{
    TimelineEvent, TimelineEventKind, UnableToDecryptReason, WithheldCode,
};
use matrix_sdk::ruma::events::room::encrypted::OriginalSyncRoomEncryptedEvent;
use matrix_sdk::ruma::serde::Raw;
use matrix_sdk::ruma::{EventId, RoomId};
use tokio::time::{Instant, sleep_until};

use super::messages::NotThere;
use super::{HOUR, Intake};

/// How often it is looked anyway.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// How soon after something waits for less load it is looked again.
const LOOK_SOON: Duration = Duration::from_secs(2);
/// How soon a file that could not be fetched is tried again.
const FETCH_AGAIN: Duration = Duration::from_secs(5);
/// How many rooms are worked on at the same time.
const ROOMS_AT_ONCE: usize = 32;

/// What is being done at the same time. All of it is polled together: a look must never wait for what only the
/// rooms can give back.
type Work<'a> = FuturesUnordered<BoxFuture<'a, Ended>>;

/// Something that was being done.
enum Ended {
    /// A room whose events were taken, as far as they could be.
    Room(String),
    Look(Look),
}

/// What was found waiting.
struct Look {
    /// Every room is begun with, or only those that could not be begun with before.
    everywhere: bool,
    waits: Result<Vec<WaitingEvent>, PlaneError>,
}

impl Intake {
    /// Takes what waits, as soon as it can be: room by room, so that a slow one holds up no other. Does not end.
    pub(crate) async fn take_waiting(&self) {
        let mut work = Work::new();
        let mut busy = Busy::default();
        let mut next_look = Instant::now();
        let mut looking = false;
        loop {
            let everywhere = Instant::now() >= next_look;
            if !looking && (everywhere || busy.has_hand_for_more()) {
                looking = true;
                work.push(self.look(everywhere).map(Ended::Look).boxed());
            }
            tokio::select! {
                Some(ended) = work.next() => match ended {
                    Ended::Room(place) => busy.done(&place),
                    Ended::Look(look) => {
                        looking = false;
                        let everywhere = look.everywhere;
                        let pause = self.begin_with_rooms(look, &work, &mut busy);
                        if everywhere {
                            next_look = Instant::now() + pause;
                        }
                    }
                },
                // What comes during a look may not be in it: it is heard of after it.
                () = self.bot.intake.changed.notified(), if !looking => next_look = Instant::now(),
                () = sleep_until(next_look), if !looking => {}
            }
        }
    }

    async fn look(&self, everywhere: bool) -> Look {
        let waits = self.bot.plane.call(WaitingEvents { connector: self.bot.id() }).await;
        Look { everywhere, waits }
    }

    /// Begins with the rooms where something waits, and says when to look again.
    fn begin_with_rooms<'a>(&'a self, look: Look, work: &Work<'a>, busy: &mut Busy) -> Duration {
        let waits = match look.waits {
            Ok(waits) => waits,
            Err(error) => {
                tracing::error!(error = error.chain(), "what waits could not be looked at");
                busy.give_up_more();
                return LOOK_EVERY;
            }
        };
        let pause = waits.iter().map(|waiting| self.pause_for(waiting)).min();
        let mut by_room: Vec<(String, Vec<WaitingEvent>)> = Vec::new();
        for waiting in waits {
            match by_room.iter_mut().find(|(place, _)| *place == waiting.place) {
                Some((_, events)) => events.push(waiting),
                None => by_room.push((waiting.place.clone(), vec![waiting])),
            }
        }
        let more = busy.take_more();
        for (place, events) in by_room {
            if (look.everywhere || more.contains(&place)) && busy.begin(&place) {
                let room = async move {
                    self.retry_room(&place, events).await;
                    Ended::Room(place)
                };
                work.push(room.boxed());
            }
        }
        pause.unwrap_or(LOOK_EVERY)
    }

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

    async fn retry_room(&self, place: &str, mut events: Vec<WaitingEvent>) {
        events.sort_by_key(|waiting| self.holds_nobody(waiting));
        let room = <&RoomId>::try_from(place).ok().and_then(|id| self.bot.client.get_room(id));
        // What can be read keeps its order: after one that must wait, the others do.
        let mut held_up = false;
        for waiting in events {
            if held_up && waiting.why != WhyWaiting::NoKey {
                continue;
            }
            let outcome = match &room {
                Some(room) => self.retry(room, &waiting).await,
                // We are there no longer, or do not know it yet.
                None => Ok(self.later_or_never(None, &waiting).await),
            };
            let kept = match outcome {
                Ok(Outcome::Done) => {
                    let (connector, place) = (self.bot.id(), place.to_owned());
                    let done = StopWaiting { connector, place, event: waiting.event };
                    self.bot.plane.call(done).await.map(drop)
                }
                Ok(Outcome::Later(WhyWaiting::NoKey)) => Ok(()),
                // A file that does not come goes on being tried, and holds up nobody.
                Ok(Outcome::Later(WhyWaiting::NoFile)) if self.holds_nobody(&waiting) => Ok(()),
                Ok(Outcome::Later(_)) => {
                    held_up = true;
                    Ok(())
                }
                Err(error) => {
                    held_up = true;
                    tracing::warn!(
                        place,
                        error = error.chain(),
                        "an event that waits could not be taken"
                    );
                    Ok(())
                }
            };
            if let Err(error) = kept {
                let error = error.chain();
                tracing::error!(place, error, "an event that waited could not be let go");
                return;
            }
        }
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

/// Which rooms are being worked on, and which are to be begun with when a hand is free. A room that was tried
/// and must wait rests until everything is looked at.
#[derive(Debug, Default)]
struct Busy {
    /// Whether something came there meanwhile.
    working: HashMap<String, bool>,
    more: HashSet<String>,
}

impl Busy {
    /// Whether to begin with a room now.
    fn begin(&mut self, place: &str) -> bool {
        if let Some(again) = self.working.get_mut(place) {
            *again = true;
            return false;
        }
        if self.working.len() >= ROOMS_AT_ONCE {
            self.more.insert(place.to_owned());
            return false;
        }
        self.working.insert(place.to_owned(), false);
        true
    }

    fn done(&mut self, place: &str) {
        if self.working.remove(place) == Some(true) {
            self.more.insert(place.to_owned());
        }
    }

    fn has_hand_for_more(&self) -> bool {
        !self.more.is_empty() && self.working.len() < ROOMS_AT_ONCE
    }

    fn take_more(&mut self) -> HashSet<String> {
        std::mem::take(&mut self.more)
    }

    /// They are found when everything is looked at.
    fn give_up_more(&mut self) {
        self.more.clear();
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
