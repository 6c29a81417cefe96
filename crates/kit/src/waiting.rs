//! What could not be taken at once: messages with files to be fetched, those that came in a flood, and whatever
//! came after them. Places side by side, each in its order.
//!
//! Promises: what fails holds up its own place alone, and that for a bounded time.

use std::collections::HashSet;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cloister_protocol::surface::{WaitingEvent, WhyWaiting};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::backoff::Backoff;
use crate::connections::kept;
use crate::error::PlaneError;

/// How often it is looked anyway.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// How soon what waits for less load is tried again.
const TRY_SOON: Duration = Duration::from_secs(2);
/// The longest pause before a file that could not be fetched is tried again.
const FETCH_AGAIN: Duration = Duration::from_secs(30);
/// The longest pause before a message with files is tried again that there was no room for: each try fetches
/// them anew.
const FETCH_FOR_NOTHING: Duration = Duration::from_secs(5 * 60);
/// How long what comes after a file waits for it; then it is taken before the file is.
const FILE_HOLDS_MS: i64 = 4_000;
/// How soon a file that holds nobody is tried again: what comes meanwhile waits for that.
const LATE_AGAIN: Duration = Duration::from_secs(5);
/// How many places are worked on at the same time; the others wait for one of these.
const AT_ONCE: usize = 16;
/// How long anything waits at most, in milliseconds.
pub const AT_LAST_MS: i64 = 3 * 24 * 60 * 60 * 1000;

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is stored, answered, or nothing to us.
    Done,
    /// It is to be taken later.
    Later(WhyWaiting),
}

/// What became of the first of what waits in a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing waits any more.
    Nothing,
    /// It is taken; the next one's turn.
    Next,
    /// It is looked again after this long.
    After(Duration),
    /// The same, or as soon as something may be taken that could not be before.
    Rest(Duration),
    /// It is tried again, after a pause that grows.
    Later,
    /// There was no room for it, and its files are to be fetched again: the pause grows to minutes.
    NoRoom,
}

impl Step {
    /// What is done with something that is to be taken later.
    pub const fn later(why: WhyWaiting, has_files: bool) -> Self {
        match why {
            WhyWaiting::NoFile => Self::Later,
            WhyWaiting::Busy | WhyWaiting::NoKey if has_files => Self::NoRoom,
            WhyWaiting::Busy | WhyWaiting::NoKey => Self::After(TRY_SOON),
        }
    }

    /// The same, where nobody waits for what is to be taken later.
    pub fn holding(self, nobody: bool) -> Self {
        match self {
            Self::Later if nobody => Self::After(LATE_AGAIN),
            step => step,
        }
    }
}

/// Whether it is a file that was waited for long enough: it goes on being tried, and what came after it goes first.
pub fn holds_nobody(waiting: &WaitingEvent, now: i64) -> bool {
    waiting.why == WhyWaiting::NoFile && now.saturating_sub(waiting.since) > FILE_HOLDS_MS
}

/// Which places are being worked on, and the sign that there is something new.
#[derive(Debug, Default)]
pub struct Working {
    places: Mutex<HashSet<String>>,
    changed: Notify,
    /// For places that rest.
    again: Notify,
}

impl Working {
    /// Something waits that did not before, or may be taken now.
    pub fn wake(&self) {
        self.changed.notify_one();
        self.again.notify_waiters();
    }

    fn places(&self) -> MutexGuard<'_, HashSet<String>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whoever has things waiting.
pub trait Waits: Send + Sync + 'static {
    /// What its work on a place is called in the log.
    const WORK: &'static str;

    fn working(&self) -> &Working;

    /// Where something waits.
    fn places(&self) -> impl Future<Output = Result<Vec<String>, PlaneError>> + Send;

    /// Takes the first of what waits in a place.
    fn take_next(&self, place: &str) -> impl Future<Output = Result<Step, PlaneError>> + Send;
}

/// Takes what waits, as soon as it can be, until it is stopped.
pub async fn keep_taking<W: Waits>(bot: Arc<W>, tracker: TaskTracker, stop: CancellationToken) {
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        match bot.places().await {
            Ok(places) => {
                for name in places {
                    // One that is worked on sees itself what is new there.
                    if bot.working().places().insert(name.clone()) {
                        let place = Arc::new(PlaceAtWork { bot: Arc::clone(&bot), name });
                        let (turns, until) = (Arc::clone(&turns), stop.clone());
                        let work = move || {
                            let (place, turns) = (Arc::clone(&place), Arc::clone(&turns));
                            let until = until.clone();
                            async move { place.work_through(&turns, &until).await }
                        };
                        tracker.spawn(kept(W::WORK, stop.clone(), work));
                    }
                }
            }
            Err(error) => {
                tracing::error!(error = error.chain(), "what waits could not be looked at");
            }
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = bot.working().changed.notified() => {}
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}

/// A place that something waits in; worked on as long as this lives.
struct PlaceAtWork<W: Waits> {
    bot: Arc<W>,
    name: String,
}

impl<W: Waits> Drop for PlaceAtWork<W> {
    fn drop(&mut self) {
        self.bot.working().places().remove(&self.name);
        // Something may have come after it was looked last.
        self.bot.working().changed.notify_one();
    }
}

impl<W: Waits> PlaceAtWork<W> {
    async fn work_through(&self, turns: &Semaphore, stop: &CancellationToken) {
        let mut pauses = Pauses::new();
        loop {
            // What may be taken since it was looked is not missed.
            let mut again = std::pin::pin!(self.bot.working().again.notified());
            again.as_mut().enable();
            let step = async {
                let _turn = turns.acquire().await;
                Box::pin(self.bot.take_next(&self.name)).await
            };
            let step = tokio::select! {
                () = stop.cancelled() => return,
                step = step => step.unwrap_or_else(|error| {
                    let place = &self.name;
                    tracing::warn!(place, error = error.chain(), "what waits can't be taken now");
                    Step::Later
                }),
            };
            let Some(pause) = pauses.after(step) else { return };
            tokio::select! {
                () = stop.cancelled() => return,
                () = again, if matches!(step, Step::Rest(_)) => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }
}

/// How long is waited between two tries in one place.
struct Pauses {
    file: Backoff,
    room: Backoff,
}

impl Pauses {
    fn new() -> Self {
        Self { file: Backoff::new(FETCH_AGAIN), room: Backoff::new(FETCH_FOR_NOTHING) }
    }

    /// None: there is nothing more to do.
    fn after(&mut self, step: Step) -> Option<Duration> {
        match step {
            Step::Nothing => None,
            Step::Next => {
                *self = Self::new();
                Some(Duration::ZERO)
            }
            Step::After(pause) | Step::Rest(pause) => Some(pause),
            Step::Later => Some(self.file.pause()),
            Step::NoRoom => Some(self.room.pause()),
        }
    }
}

#[cfg(test)]
#[path = "waiting_tests.rs"]
mod tests;
