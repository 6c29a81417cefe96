//! How what happened is handed over to the parts that store it: channel by channel, each in its order.
//!
//! Promises: what can't be handed over for a reason of its own is tried for about a minute, then passed over and put
//! on record, and holds nobody else.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cloister_kit::{Attempt, Handed, HandsOver, PlaneError, patiently};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::super::bot::Bot;
use super::backfill::{Backfill, Next};
use super::events::Event;
use super::helpers::Positions;
use super::position::ShardPosition;

/// Channels that are worked on at once.
const CHANNELS_AT_ONCE: usize = 8;
/// Interactions that are worked on at once: they must be acknowledged within three seconds.
const INTERACTIONS_AT_ONCE: usize = 64;

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

/// Of one shard.
pub(super) struct ShardWork {
    bot: Arc<Bot>,
    shard: u32,
    positions: Arc<Positions>,
    stop: CancellationToken,
    channels: Semaphore,
    interactions: Semaphore,
    /// Requests for what was missed, of all shards.
    asking: Arc<Semaphore>,
}

impl HandsOver for ShardWork {
    type Mark = Mark;
    type Work = Work;

    fn place(work: &Work) -> String {
        match work {
            Work::Event(event) => event.place().to_owned(),
            Work::Missed { channel, .. } => channel.clone(),
        }
    }

    async fn hand_over(&self, work: Work) -> Handed {
        match work {
            Work::Event(event) => self.patiently(&event).await,
            Work::Missed { channel, after, gap } => self.hand_missed((&channel, after), &gap).await,
        }
    }

    /// What was stored is written down at once; that an event came which concerns nobody may wait.
    async fn reached(&self, mark: Mark, stored: bool) {
        self.positions.moved(self.shard, mark.reached(), stored).await;
    }
}

impl ShardWork {
    pub(super) fn new(
        bot: Arc<Bot>,
        shard: u32,
        (positions, asking): (Arc<Positions>, Arc<Semaphore>),
        stop: CancellationToken,
    ) -> Self {
        Self {
            bot,
            shard,
            positions,
            stop,
            channels: Semaphore::new(CHANNELS_AT_ONCE),
            interactions: Semaphore::new(INTERACTIONS_AT_ONCE),
            asking,
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
            let ours: Vec<Event> = said.filter(|event| self.bot.intake().concerns(event)).collect();
            for event in &ours {
                if self.patiently(event).await == Handed::Stopped {
                    return Handed::Stopped;
                }
            }
            gap.0.fetch_max(newest, Ordering::Relaxed);
        }
    }

    async fn patiently(&self, event: &Event) -> Handed {
        let is_interaction = matches!(event, Event::Interaction(_));
        let turns = if is_interaction { &self.interactions } else { &self.channels };
        patiently(turns, &self.stop, &mut Taking { bot: &self.bot, event }).await
    }
}

/// An event that is being taken.
struct Taking<'a> {
    bot: &'a Bot,
    event: &'a Event,
}

impl Attempt for Taking<'_> {
    fn what(&self) -> String {
        format!("an event in {}", self.event.place())
    }

    async fn once(&self) -> Result<(), PlaneError> {
        self.bot.intake().take(self.event).await
    }

    async fn pass_over(&self, why: &str) -> Result<(), PlaneError> {
        self.bot.intake().pass_over(self.event, why).await
    }
}
