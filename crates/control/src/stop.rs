//! The emergency stop: no executor runs, nothing leaves and nothing is sent, until it is released.
//!
//! Promises: it holds from the moment it is called, and over restarts; what was written to agents
//! meanwhile is kept and answered after the release, once; who writes is told why nothing happens.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use cloister_protocol::link::Cause;
use cloister_protocol::{ErrorCode, Language};
use cloister_store::inbox::InboxItem;
use cloister_store::stops::{Stop, Stopped};
use cloister_store::{Actor, Store};
use cloister_words::say;
use futures_util::future::join_all;
use tokio::time::Instant;

use crate::cells::Poke;
use crate::control::part;
use crate::error::{Failed, Fault, Refusal};

/// How long a stop waits for executors to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// The longest reason that is kept, in characters.
const MAX_REASON: usize = 500;

/// Whether everything is stopped; looked at before each effect.
pub(crate) struct EmergencyStop {
    /// Whoever holds the database sees it too: what dials looks at it for itself.
    in_force: Arc<AtomicBool>,
    /// Who and why, as far as it is known already.
    known: RwLock<Option<Stop>>,
}

impl EmergencyStop {
    pub(crate) fn of(store: &Store) -> Self {
        Self { in_force: Arc::clone(&store.stopped), known: RwLock::default() }
    }

    fn set(&self, stop: Option<Stop>) {
        let in_force = stop.is_some();
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = stop;
        self.in_force.store(in_force, Ordering::SeqCst);
    }
}

/// What a stop did.
#[derive(Clone, Debug)]
pub struct StoppedAll {
    pub stop: Stop,
    /// Executors that were ended.
    pub ended: usize,
    /// Executors that are not gone yet.
    pub left: usize,
}

#[derive(Debug, thiserror::Error)]
pub enum StopRefusal {
    /// The stop that is in force, where it is known.
    #[error("{} Nothing is done until it is released.", sentence(Language::En, stop.as_ref()))]
    Stopped { stop: Option<Stop> },
    /// It holds, and would not over a restart.
    #[error(
        "everything is stopped now, but that could not be recorded: it would go on after a restart"
    )]
    NotRecorded(#[source] Fault),
}

impl Refusal for StopRefusal {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Stopped { .. } => ErrorCode::Refused,
            Self::NotRecorded(fault) => fault.code(),
        }
    }

    fn said(&self, to: Language) -> String {
        match self {
            Self::Stopped { stop } => say!(
                to,
                "{stopped} Nothing is done until it is released.",
                stopped = sentence(to, stop.as_ref())
            ),
            Self::NotRecorded(_) => say!(
                to,
                "everything is stopped now, but that could not be recorded: it would go on after a restart"
            ),
        }
    }

    fn fix(&self, to: Language) -> Option<String> {
        match self {
            Self::Stopped { .. } => Some(say!(to, "operators release it: /release")),
            Self::NotRecorded(fault) => {
                let body = fault.body_in(to);
                let fix = body.fix.unwrap_or_else(|| say!(to, "see the log of the control plane"));
                let message = body.message;
                Some(say!(to, "{message}: {fix}; then stop everything once more", message, fix))
            }
        }
    }
}

part! {
    /// The emergency stop.
    pub struct Stops;
}

impl Stops {
    /// Whether everything is stopped until released.
    pub fn is_stopped(&self) -> bool {
        self.control.inner.stopped.in_force.load(Ordering::SeqCst)
    }

    /// The stop that is in force.
    pub async fn emergency_stop(&self) -> Result<Option<Stop>, Fault> {
        Ok(self.control.store().platform().open_stop().await?)
    }

    pub(crate) async fn load_stop(&self) -> Result<(), Fault> {
        let stop = self.control.store().platform().open_stop().await?;
        if let Some(stop) = &stop {
            tracing::warn!(by = stop.stopped_by, reason = stop.reason, "everything is stopped");
        }
        self.control.inner.stopped.set(stop);
        Ok(())
    }

    /// Stops everything. It is in force before it is recorded, and stays so if that fails.
    pub async fn stop_all(
        &self,
        actor: &Actor,
        reason: &str,
    ) -> Result<StoppedAll, Failed<StopRefusal>> {
        self.control.inner.stopped.in_force.store(true, Ordering::SeqCst);
        let ended = self.end_executors().await;
        let reason: String = reason.trim().chars().take(MAX_REASON).collect();
        if self.known().is_none() {
            // It is said who did it and released by whom, also where that can't be recorded.
            let (stopped_by, stopped_at) = (actor.to_string(), self.control.store().clock.now_ms());
            let unrecorded = Stop { id: 0, stopped_by, reason: reason.clone(), stopped_at };
            self.control.inner.stopped.set(Some(unrecorded));
        }
        let stopped = self.control.store().platform().stop_all(actor, &reason).await;
        let stopped = stopped.map_err(|error| StopRefusal::NotRecorded(error.into()))?;
        let (stop, is_new) = match stopped {
            Stopped::Now(stop) => (stop, true),
            Stopped::Before(stop) => (stop, false),
        };
        self.control.inner.stopped.set(Some(stop.clone()));
        tracing::warn!(by = %actor, reason, ended, is_new, "everything is stopped until it is released");
        for chat in self.control.cells().live_chats() {
            self.control.cells().poke(chat, Poke::Stop);
            // Whoever was being answered is told.
            self.control.cells().poke(chat, Poke::Inbox);
        }
        if is_new {
            let text =
                format!("{} `cloister release` lets it go on.", self.stop_sentence(Language::En));
            self.control.admin_hubs().tell_all_hubs(&format!("stop-{}", stop.id), &text).await;
        }
        Ok(StoppedAll { stop, ended, left: self.control.tasks().running_executors() })
    }

    /// Ends every executor; its task goes back to the queue. How many there were.
    async fn end_executors(&self) -> usize {
        let sandboxes = self.control.tasks().give_up_all();
        let count = sandboxes.len();
        let killed = join_all(sandboxes.iter().flatten().map(|sandbox| sandbox.kill()));
        let deadline = Instant::now() + GONE_WITHIN;
        let gone = async {
            killed.await;
            while self.control.tasks().running_executors() > 0 && Instant::now() < deadline {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        if tokio::time::timeout(GONE_WITHIN, gone).await.is_err() {
            tracing::error!("some executors are not gone yet; their doors refuse everything");
        }
        count
    }

    /// Lets everything go on; what was stopped, if something was.
    pub async fn release_all(&self, actor: &Actor) -> Result<Option<Stop>, Fault> {
        let unrecorded = self.known();
        let released = self.control.store().platform().release_all(actor).await?.or(unrecorded);
        self.control.inner.stopped.set(None);
        if released.is_some() {
            tracing::warn!(by = %actor, "everything goes on");
        }
        if let Some(stop) = &released {
            let text = format!("Everything goes on: released by {actor}.");
            self.control.admin_hubs().tell_all_hubs(&format!("release-{}", stop.id), &text).await;
        }
        for chat in self.control.store().inbox().chats_with_unanswered().await? {
            self.control.cells().poke(chat, Poke::Inbox);
        }
        self.control.tasks().look();
        Ok(released)
    }

    /// Refuses something that must not happen while everything is stopped.
    pub(crate) fn refuse_while_stopped(&self) -> Result<(), StopRefusal> {
        if self.is_stopped() {
            return Err(StopRefusal::Stopped { stop: self.known() });
        }
        Ok(())
    }

    /// One sentence: that everything is stopped, by whom and since when.
    pub(crate) fn stop_sentence(&self, to: Language) -> String {
        sentence(to, self.known().as_ref())
    }

    fn known(&self) -> Option<Stop> {
        self.control.inner.stopped.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Tells whoever wrote a message that it is kept until the release, once per stop.
    pub(crate) async fn tell_stopped(&self, row: &InboxItem) -> Result<(), Fault> {
        let stop = self.known().map_or(0, |stop| stop.id);
        let is_message = matches!(row.cause, Cause::Message { .. });
        if !is_message || !self.is_stopped() {
            return Ok(());
        }
        let by = self.control.provenance().person_of(row).await?;
        let to = self.control.people().languages().language_of(by).await?;
        let text = say!(
            to,
            "{stopped} Your message is kept, and answered when it is released; operators do that with /release.",
            stopped = self.stop_sentence(to)
        );
        let key = format!("stopped-{stop}-{}", row.id);
        self.control.notices().tell_once(row.workspace, row.chat, &key, text).await
    }
}

fn sentence(to: Language, stop: Option<&Stop>) -> String {
    let Some(stop) = stop else { return say!(to, "Everything is stopped.") };
    let reason = if stop.reason.is_empty() { String::new() } else { format!(" ({})", stop.reason) };
    say!(
        to,
        "Everything was stopped by {by} at {since}{reason}.",
        by = stop.stopped_by,
        since = minute(stop.stopped_at),
        reason
    )
}

/// A time of the database, to the minute.
fn minute(ms: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
    time.strftime("%Y-%m-%d %H:%M UTC").to_string()
}
