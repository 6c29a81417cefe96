//! Hands what happened over to the parts that store it: channels side by side, within a channel in order.
//!
//! Promises: the position moves only past what was handed over in full; what can't be handed over for a reason
//! of its own is tried for about a minute, then passed over and put on record, and holds nobody else.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cloister_kit::PlaneError;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::super::bot::Bot;
use super::backfill::{Backfill, Next};
use super::events::Event;
use super::helpers::Positions;
use super::ledger::{Entry, Ledger};
use super::position::ShardPosition;

/// Channels that are worked on at once.
const CHANNELS_AT_ONCE: usize = 8;
/// Interactions that are worked on at once: they must be acknowledged within three seconds.
const INTERACTIONS_AT_ONCE: usize = 64;
/// Events that may be on their way; the next one waits.
const EVENTS_AT_ONCE: usize = 1024;
/// The pauses between the tries of what fails for a reason of its own.
const PAUSES: [Duration; 4] = [
    Duration::from_secs(2),
    Duration::from_secs(8),
    Duration::from_secs(20),
    Duration::from_secs(30),
];
/// The pause between the tries of what fails because of us, such as a full disk.
const LONG_PAUSE: Duration = Duration::from_secs(5);

/// Something to be handed over.
#[derive(Clone, Debug)]
pub(super) enum Work {
    Event(Event),
    /// What was said in a channel after a message, and is not told by itself.
    Missed {
        channel: String,
        after: u64,
        gap: Gap,
    },
}

/// How far the channels were asked after a session was lost: the newest message of them all.
#[derive(Clone, Debug, Default)]
pub(super) struct Gap(Arc<AtomicU64>);

/// How far a shard is when something is handed over.
#[derive(Debug)]
pub(super) struct Mark {
    pub(super) position: ShardPosition,
    /// The gap before it, which is closed when this is reached.
    pub(super) gap: Gap,
}

impl Mark {
    fn reached(self) -> ShardPosition {
        let seen = self.position.seen.max(self.gap.0.load(Ordering::Relaxed));
        ShardPosition { seen, ..self.position }
    }
}

impl Work {
    fn place(&self) -> &str {
        match self {
            Self::Event(event) => event.place(),
            Self::Missed { channel, .. } => channel,
        }
    }
}

/// Of one shard.
pub(super) struct Handover {
    shared: Arc<Shared>,
    tracker: TaskTracker,
    events: Arc<Semaphore>,
    /// The last job of each channel: the next one begins when it ends.
    last: HashMap<String, oneshot::Receiver<()>>,
}

struct Shared {
    bot: Arc<Bot>,
    shard: u32,
    positions: Arc<Positions>,
    stop: CancellationToken,
    channels: Semaphore,
    interactions: Semaphore,
    /// Requests for what was missed, of all shards.
    asking: Arc<Semaphore>,
    ledger: Mutex<Ledger<Mark>>,
}

/// Whether something was handed over, or the bot is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handed {
    Over,
    Stopped,
}

impl Handover {
    pub(super) fn new(
        bot: Arc<Bot>,
        shard: u32,
        (positions, asking): (Arc<Positions>, Arc<Semaphore>),
        tracker: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let shared = Shared {
            bot,
            shard,
            positions,
            stop,
            channels: Semaphore::new(CHANNELS_AT_ONCE),
            interactions: Semaphore::new(INTERACTIONS_AT_ONCE),
            asking,
            ledger: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
            tracker,
            events: Arc::new(Semaphore::new(EVENTS_AT_ONCE)),
            last: HashMap::new(),
        }
    }

    /// Begins to hand something over; the position is reached when all of it and all before it is.
    pub(super) async fn begin(&mut self, mark: Mark, work: Vec<Work>) {
        let entry = self.shared.ledger.lock().await.open(mark, work.len());
        if work.is_empty() {
            return self.shared.move_position(false).await;
        }
        let Ok(permit) = Arc::clone(&self.events).acquire_owned().await else { return };
        let permit = Arc::new(permit);
        if self.last.len() > 2 * CHANNELS_AT_ONCE {
            self.last.retain(|_, job| matches!(job.try_recv(), Err(TryRecvError::Empty)));
        }
        for work in work {
            let (done, job) = oneshot::channel();
            let before = self.last.insert(work.place().to_owned(), job);
            let work = one(Arc::clone(&self.shared), work, before, entry);
            let (permit, done): (Arc<OwnedSemaphorePermit>, _) = (Arc::clone(&permit), done);
            self.tracker.spawn(async move {
                work.await;
                drop(permit);
                // Nobody may wait for it.
                done.send(()).ok();
            });
        }
    }
}

fn one(
    shared: Arc<Shared>,
    work: Work,
    before: Option<oneshot::Receiver<()>>,
    entry: Entry,
) -> BoxFuture<'static, ()> {
    async move {
        if let Some(before) = before {
            before.await.ok();
        }
        if shared.hand_over(&work).await == Handed::Over {
            shared.ledger.lock().await.done(entry);
            shared.move_position(true).await;
        }
    }
    .boxed()
}

impl Shared {
    /// Something was stored, or (`at_once` is false) an event came that concerns nobody.
    async fn move_position(&self, at_once: bool) {
        let mut ledger = self.ledger.lock().await;
        if let Some(reached) = ledger.reached() {
            self.positions.moved(self.shard, reached.reached(), at_once).await;
        }
    }

    async fn hand_over(&self, work: &Work) -> Handed {
        match work {
            Work::Event(event) => self.patiently(event).await,
            Work::Missed { channel, after, gap } => self.hand_missed((channel, *after), gap).await,
        }
    }

    /// Page by page: no more of a channel is held than that.
    async fn hand_missed(&self, of: (&str, u64), gap: &Gap) -> Handed {
        let mut backfill = Backfill::new(&self.bot, of, &self.asking, &self.stop);
        loop {
            let (page, newest) = match backfill.next().await {
                Next::Page(page, newest) => (page, newest),
                Next::End => return Handed::Over,
                Next::Stopped => return Handed::Stopped,
            };
            let said = page.into_iter().map(|message| Event::Said(Box::new(message)));
            let ours: Vec<Event> = said.filter(|event| self.bot.concerns(event)).collect();
            for event in &ours {
                if self.patiently(event).await == Handed::Stopped {
                    return Handed::Stopped;
                }
            }
            gap.0.fetch_max(newest, Ordering::Relaxed);
        }
    }

    /// Tries until it works, is given up, or the bot is to stop.
    async fn patiently(&self, event: &Event) -> Handed {
        let place = event.place();
        let mut pauses = PAUSES.into_iter();
        let mut told = false;
        loop {
            let Some(done) = self.once(event).await else { return Handed::Stopped };
            let (why, passing) = match done {
                Ok(()) => return Handed::Over,
                Err(Failed::Error(error)) => (error.chain(), error.may_pass()),
                Err(Failed::Panic) => ("a panic; the log has it".to_owned(), false),
            };
            let pause = if passing { Some(LONG_PAUSE) } else { pauses.next() };
            let pause = match pause {
                Some(pause) => pause,
                None => match self.pass_over(event, &why).await {
                    Some(handed) => return handed,
                    None => LONG_PAUSE,
                },
            };
            if !std::mem::replace(&mut told, true) {
                tracing::warn!(place, why, "not taken yet; it is tried again");
            }
            tokio::select! {
                () = self.stop.cancelled() => return Handed::Stopped,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// It will not be taken, which goes on record; none: that could not be done yet.
    async fn pass_over(&self, event: &Event, why: &str) -> Option<Handed> {
        let done = tokio::select! {
            () = self.stop.cancelled() => return Some(Handed::Stopped),
            done = self.bot.pass_over(event, why) => done,
        };
        match done {
            Ok(()) => Some(Handed::Over),
            Err(error) => {
                tracing::error!(why = error.chain(), "what is passed over is not on record yet");
                None
            }
        }
    }

    /// One try; none: the bot is to stop.
    async fn once(&self, event: &Event) -> Option<Result<(), Failed>> {
        let is_interaction = matches!(event, Event::Interaction(_));
        let turns = if is_interaction { &self.interactions } else { &self.channels };
        let work = async {
            let _turn = turns.acquire().await;
            match AssertUnwindSafe(Box::pin(self.bot.take(event))).catch_unwind().await {
                Ok(done) => done.map_err(Failed::Error),
                Err(_panic) => Err(Failed::Panic),
            }
        };
        tokio::select! {
            () = self.stop.cancelled() => None,
            done = work => Some(done),
        }
    }
}

enum Failed {
    Error(PlaneError),
    Panic,
}
