//! The handle that everything else holds: what control is made of, how it starts and stops.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use cloister_protocol::{TaskId, with_causes};
use cloister_store::Store;
use cloister_vault::Keyring;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::audit_keeper::{AuditKeeper, AuditParts};
use crate::cells::{ChatKey, KnownActor, Poke, Slots};
use crate::crew::Crew;
use crate::error::ControlError;
use crate::gates::Gates;
use crate::history::{History, SettingsCheck};
use crate::hub::Hub;
use crate::layout::Layout;
use crate::limits::Limiter;
use crate::metrics::Metrics;
use crate::options::{
    CellOptions, GateOptions, LimitOptions, SurfaceOptions, UserOptions, WorkOptions,
};
use crate::people::{Access, Pairings};
use crate::policies::Policies;
use crate::ports::{CellBackend, Doors};
use crate::pulse::LastPulse;
use crate::readiness::LastChecks;
use crate::secrets::MasterSettings;
use crate::shown::Shown;
use crate::stop::EmergencyStop;
use crate::surfaces::Surfaces;
use crate::tasks::Running;

/// How long a stop waits for cells and executors to end by themselves.
const STOP_TIME: Duration = Duration::from_secs(8);
/// How often a drain looks whether everything is answered.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// What control is built from.
pub struct Parts {
    pub store: Store,
    pub layout: Layout,
    pub cells: CellOptions,
    pub users: UserOptions,
    pub work: WorkOptions,
    pub limits: LimitOptions,
    pub gates: GateOptions,
    pub surfaces: SurfaceOptions,
    pub backend: Arc<dyn CellBackend>,
    pub doors: Arc<dyn Doors>,
    pub metrics: Arc<Metrics>,
    pub keys: Keyring,
    pub policies: Policies,
    pub audit: AuditParts,
    pub master: MasterSettings,
}

/// Control, cheap to clone.
#[derive(Clone)]
pub struct Control {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) parts: Parts,
    pub(crate) hub: Hub,
    /// All background work; a stop waits for it.
    pub(crate) crew: Crew,
    /// Nothing new is taken; what runs may end.
    closing: CancellationToken,
    pub(crate) stop: CancellationToken,
    pub(crate) limiter: Limiter,
    pub(crate) gates: Gates,
    pub(crate) access: Access,
    pub(crate) shown: Shown,
    pub(crate) pairings: Pairings,
    pub(crate) audit: AuditKeeper,
    /// The master key is replaced by one at a time.
    pub(crate) rotating: tokio::sync::Mutex<()>,
    pub(crate) last_pulse: LastPulse,
    pub(crate) last_checks: LastChecks,
    pub(crate) history: History,
    pub(crate) settings_check: OnceLock<SettingsCheck>,
    pub(crate) stopped: EmergencyStop,
    pub(crate) surfaces: Surfaces,
    /// Something may have become startable.
    pub(crate) task_signal: Notify,
    /// Room for coordinators.
    pub(crate) slots: Slots,
    actors: Mutex<HashMap<ChatKey, KnownActor>>,
    running: Mutex<HashMap<TaskId, Running>>,
}

impl Control {
    pub fn new(parts: Parts) -> Self {
        let stop = CancellationToken::new();
        let inner = Inner {
            limiter: Limiter::new(parts.limits.clone()),
            gates: Gates::default(),
            access: Access::default(),
            shown: Shown::default(),
            pairings: Pairings::default(),
            audit: AuditKeeper::default(),
            rotating: tokio::sync::Mutex::default(),
            last_pulse: LastPulse::default(),
            last_checks: LastChecks::default(),
            history: History::new(parts.layout.clone()),
            settings_check: OnceLock::new(),
            stopped: EmergencyStop::default(),
            surfaces: Surfaces::default(),
            parts,
            hub: Hub::default(),
            crew: Crew::new(stop.clone()),
            closing: CancellationToken::new(),
            stop,
            task_signal: Notify::new(),
            slots: Slots::default(),
            actors: Mutex::default(),
            running: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Takes up what a stop or a kill left behind, then works in the background until `shut_down`.
    pub async fn start(&self) -> Result<(), ControlError> {
        self.inner.parts.backend.sweep().await;
        let failed = "the run directory could not be cleared";
        self.layout().clear_run().map_err(ControlError::io(failed))?;
        self.apply_allowed_proposals().await?;
        self.load_stop().await?;
        let requeued = self.store().requeue_running().await?;
        let settled = self.store().settle_leftovers().await?;
        let waiting = self.store().chats_with_unanswered().await?;
        if requeued > 0 || !waiting.is_empty() {
            tracing::info!(requeued, settled, chats = waiting.len(), "taking up open work");
        }
        for chat in waiting {
            self.poke(chat, Poke::Inbox);
        }
        self.take_up_config();
        self.keep("scheduler", |control| async move { control.schedule_tasks().await });
        self.keep("quotas", |control| async move { control.watch_quotas().await });
        self.keep("watchdog", |control| async move { control.watch_holds().await });
        self.keep("audit", |control| async move { control.keep_audit().await });
        self.keep("spikes", |control| async move { control.watch_spikes().await });
        self.keep("admin hubs", |control| async move { control.keep_admin_hubs().await });
        self.inner.task_signal.notify_one();
        Ok(())
    }

    fn keep<Work>(&self, name: &'static str, begin: impl Fn(Self) -> Work + Send + 'static)
    where
        Work: Future<Output = ()> + Send + 'static,
    {
        let control = self.clone();
        self.inner.crew.keep(name, move || begin(control.clone()));
    }

    /// Takes nothing new and lets running turns end, up to the deadline of the settings. Says whose
    /// did not.
    pub async fn drain(&self) {
        self.inner.closing.cancel();
        if self.is_stopped() {
            // Nothing is answered until it is released.
            return;
        }
        let within = Duration::from_secs(self.work().drain_s);
        if tokio::time::timeout(within, self.all_answered()).await.is_ok() {
            return;
        }
        let late = self.store().chats_with_unanswered().await.unwrap_or_default();
        let late: Vec<String> =
            late.iter().map(|(workspace, chat)| format!("{workspace} {chat}")).collect();
        tracing::warn!(
            chats = late.join(","),
            seconds = within.as_secs(),
            "some turns did not end in time; they are taken up at the next start"
        );
    }

    async fn all_answered(&self) {
        loop {
            match self.store().backlog().await {
                Ok(backlog) if backlog.open == 0 => return,
                Ok(_) => {}
                Err(error) => tracing::warn!(
                    error = with_causes(&error),
                    "it is not known what is unanswered"
                ),
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Stops everything that `start` began. Open work stays in the database.
    pub async fn shut_down(&self) {
        self.inner.closing.cancel();
        self.inner.stop.cancel();
        let late = self.inner.crew.end(STOP_TIME).await;
        if !late.is_empty() {
            tracing::warn!(late = late.join(", "), "some work did not stop in time and is dropped");
        }
    }

    pub fn store(&self) -> &Store {
        &self.inner.parts.store
    }

    pub fn layout(&self) -> &Layout {
        &self.inner.parts.layout
    }

    pub fn hub(&self) -> &Hub {
        &self.inner.hub
    }

    pub fn users(&self) -> &UserOptions {
        &self.inner.parts.users
    }

    pub fn work(&self) -> &WorkOptions {
        &self.inner.parts.work
    }

    pub fn backend(&self) -> &dyn CellBackend {
        &*self.inner.parts.backend
    }

    pub fn metrics(&self) -> &Metrics {
        &self.inner.parts.metrics
    }

    /// What secrets are sealed under.
    pub fn keys(&self) -> &Keyring {
        &self.inner.parts.keys
    }

    pub fn policies(&self) -> &Policies {
        &self.inner.parts.policies
    }

    /// Whether nothing new is taken any more.
    pub fn closing(&self) -> bool {
        self.inner.closing.is_cancelled()
    }

    pub fn stopping(&self) -> bool {
        self.inner.stop.is_cancelled()
    }
}

impl Inner {
    pub(crate) fn actors(&self) -> MutexGuard<'_, HashMap<ChatKey, KnownActor>> {
        self.actors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn running(&self) -> MutexGuard<'_, HashMap<TaskId, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
