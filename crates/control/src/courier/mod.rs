//! The courier: carries the outbox to a connector, conversation by conversation, in order, each row once.
//!
//! Owns: which worker runs for which conversation, the keys of messages, how texts are cut, when what is
//! being written is shown. Promises: whatever is killed, a row is told once where the platform remembers
//! keys, and announced as a possible repetition where it does not; conversations do not wait for each other;
//! nothing here knows a particular surface.
//!
//! A row is done in four steps: it is written down which message is about to be posted, the surface posts it
//! under its key, it is written down which one it became, the row is marked as told. The listener only says
//! that there is something to look at; what it misses is found by looking at everything every now and then.

mod backoff;
mod desk;
#[cfg(test)]
mod fake;
mod listening;
mod measuring;
mod posting;
mod render;
mod sending;
mod settling;
mod split;
mod streaming;
mod telling;
mod worker;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cloister_protocol::with_causes;
use cloister_store::StoreError;
use cloister_store::conversations::ConversationId;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Semaphore, broadcast, watch};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, timeout};
use tokio_util::sync::CancellationToken;

use crate::control::Control;
use crate::hub::Overheard;
use crate::ports::Surface;
use desk::Desk;
use sending::Sending;
use worker::Worker;

/// How much is sent at once over one connector.
const SENDS_AT_ONCE: usize = 16;

/// How fast the courier goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// How long an answer is being written before it is shown: a short one is one message, never edited.
    first_after: Duration,
    /// The slowest that an unfinished answer is edited, unless the surface asks for more.
    slowest_edit: Duration,
    /// How long a conversation rests after a first failure, and at most.
    first_retry: Duration,
    longest_retry: Duration,
    /// How often everything is looked at.
    look_every: Duration,
    /// How long a surface may take for one message.
    call: Duration,
    /// How long what is being sent may take when the courier stops.
    stop: Duration,
    /// How long something is shown as being written without another sign of life.
    typing_most: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            first_after: Duration::from_millis(400),
            slowest_edit: Duration::from_secs(30),
            first_retry: Duration::from_secs(1),
            longest_retry: Duration::from_secs(60),
            look_every: Duration::from_secs(30),
            call: Duration::from_secs(60),
            stop: Duration::from_secs(2),
            typing_most: Duration::from_secs(600),
        }
    }
}

/// Works until it is stopped. It listens from now on, whenever it gets to work.
pub(crate) fn carry(
    control: Control,
    surface: Arc<dyn Surface>,
    stop: CancellationToken,
) -> impl Future<Output = ()> + Send {
    carry_at(control, surface, stop, Pace::default())
}

fn carry_at(
    control: Control,
    surface: Arc<dyn Surface>,
    stop: CancellationToken,
    pace: Pace,
) -> impl Future<Output = ()> + Send {
    let overheard = control.hub().overhear();
    work(control, surface, stop, pace, overheard)
}

async fn work(
    control: Control,
    surface: Arc<dyn Surface>,
    stop: CancellationToken,
    pace: Pace,
    overheard: broadcast::Receiver<Overheard>,
) {
    // One courier per connector: the one before may still be finishing what it sends.
    let alone = control.surfaces().alone(surface.connector());
    let _alone = tokio::select! {
        () = stop.cancelled() => return,
        alone = alone.lock_owned() => alone,
    };
    let courier = Courier {
        control,
        surface,
        stop,
        pace,
        sends: Arc::new(Semaphore::new(SENDS_AT_ONCE)),
        desks: HashMap::new(),
        busy: HashMap::new(),
        workers: JoinSet::new(),
        ours: HashMap::new(),
        turns: HashMap::new(),
    };
    courier.run(overheard).await;
}

struct Courier {
    control: Control,
    surface: Arc<dyn Surface>,
    stop: CancellationToken,
    pace: Pace,
    sends: Arc<Semaphore>,
    /// Conversations that have a worker.
    desks: HashMap<ConversationId, Arc<watch::Sender<Desk>>>,
    /// Which worker works for which.
    busy: HashMap<Id, ConversationId>,
    workers: JoinSet<()>,
    /// Whether a conversation is on this connector, as far as it was asked.
    ours: HashMap<ConversationId, bool>,
    /// Where the message of a turn was written, if on this connector, as far as it was asked.
    turns: HashMap<i64, Option<ConversationId>>,
}

impl Courier {
    async fn run(mut self, mut overheard: broadcast::Receiver<Overheard>) {
        let mut chats = self.control.surfaces().chat_changes();
        let mut looks = tokio::time::interval(self.pace.look_every);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let stop = self.stop.clone();
        self.take_up_turns().await;
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(ended) = self.workers.join_next_with_id() => self.worker_ended(ended),
                heard = overheard.recv() => match heard {
                    Ok(heard) => self.hear(heard).await,
                    Err(RecvError::Lagged(_)) => self.look_everywhere().await,
                    Err(RecvError::Closed) => break,
                },
                // A conversation may have been made, or be back.
                () = chats.next() => self.look_everywhere().await,
                _ = looks.tick() => self.look_everywhere().await,
            }
        }
        self.wind_up().await;
    }

    /// Lets what is being sent finish.
    async fn wind_up(mut self) {
        let finished = async { while self.workers.join_next().await.is_some() {} };
        if timeout(self.pace.stop, finished).await.is_err() {
            tracing::warn!(
                surface = self.surface.name(),
                conversations = self.workers.len(),
                "some messages were not sent in time; they are taken up at the next start"
            );
        }
        self.workers.shutdown().await;
    }

    /// Finds everything that is to be told or shown, whoever has missed it.
    async fn look_everywhere(&mut self) {
        if let Err(error) = self.try_look_everywhere().await {
            tracing::error!(
                error = with_causes(&error),
                surface = self.surface.name(),
                "the outbox could not be looked at"
            );
        }
    }

    async fn try_look_everywhere(&mut self) -> Result<(), StoreError> {
        let connector = self.surface.connector();
        for conversation in self.control.store().outbox().conversations_to_tell(connector).await? {
            self.put(conversation, Desk::look);
        }
        for (conversation, approval) in
            self.control.store().outbox().questions_to_settle(connector).await?
        {
            self.put(conversation, |desk| desk.settle(approval));
        }
        Ok(())
    }

    /// What people wait for since before the start is being worked on.
    async fn take_up_turns(&mut self) {
        let now = Instant::now();
        match self.control.store().outbox().awaited_answers(self.surface.connector()).await {
            Ok(awaited) => {
                for (conversation, row) in awaited {
                    self.put(conversation, |desk| desk.sign(row, now));
                }
            }
            Err(error) => tracing::error!(
                error = with_causes(&error),
                "it is not known who waits for an answer"
            ),
        }
    }

    /// Leaves something on the desk of a conversation, and sees to it that somebody works there.
    fn put(&mut self, conversation: ConversationId, change: impl FnOnce(&mut Desk)) {
        if let Some(desk) = self.desks.get(&conversation) {
            desk.send_modify(change);
            return;
        }
        let mut desk = Desk::default();
        change(&mut desk);
        if !desk.is_idle() {
            self.start_worker(conversation, Arc::new(watch::Sender::new(desk)));
        }
    }

    fn start_worker(&mut self, conversation: ConversationId, desk: Arc<watch::Sender<Desk>>) {
        let worker = Worker {
            control: self.control.clone(),
            surface: Arc::clone(&self.surface),
            sending: Sending {
                control: self.control.clone(),
                surface: Arc::clone(&self.surface),
                sends: Arc::clone(&self.sends),
                stop: self.stop.clone(),
                pace: self.pace,
            },
            conversation,
            desk: Arc::clone(&desk),
            stop: self.stop.clone(),
            pace: self.pace,
            typing: AtomicBool::new(false),
            sent: AtomicU64::new(0),
            in_vain: Mutex::default(),
        };
        let handle =
            self.workers.spawn(self.control.inner.crew.counted("conversation", worker.run()));
        self.busy.insert(handle.id(), conversation);
        self.desks.insert(conversation, desk);
    }

    /// A worker had nothing more to do; what was left for it since then is for the next one.
    fn worker_ended(&mut self, ended: Result<(Id, ()), JoinError>) {
        let id = match &ended {
            Ok((id, ())) => *id,
            Err(failed) => failed.id(),
        };
        let Some(conversation) = self.busy.remove(&id) else { return };
        let Some(desk) = self.desks.remove(&conversation) else { return };
        if let Err(failed) = ended {
            // It is found again with the next look at everything.
            let conversation = conversation.number();
            tracing::error!(
                error = with_causes(&failed),
                conversation,
                "the worker of a conversation failed"
            );
        } else if !desk.borrow().is_idle() {
            self.start_worker(conversation, desk);
        }
    }
}

#[cfg(test)]
#[path = "courier_tests.rs"]
mod tests;
