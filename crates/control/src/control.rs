//! The handle that everything else holds: what control is made of, how it starts and stops.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cloister_protocol::with_causes;
use cloister_store::{Clock, Store};
use cloister_vault::Keyring;
use ref_cast::RefCast;
use tokio_util::sync::CancellationToken;

use crate::audit::{Audit, AuditKeeper, AuditParts};
use crate::cells::Cells;
use crate::cells::{CellState, Poke};
use crate::commands::BeingMade;
use crate::commands::Chats;
use crate::commands::Commands;
use crate::config::Config;
use crate::config::Policies;
use crate::config::{History, SettingsCheck};
use crate::crew::{Crew, Rounds};
use crate::egress::EgressRules;
use crate::error::{ControlError, Fault};
use crate::gates::GateState;
use crate::gates::Gates;
use crate::gates::Provenance;
use crate::hub::Hub;
use crate::inbox::Inbox;
use crate::inbox::Shown;
use crate::layers::Landings;
use crate::layout::Layout;
use crate::limits::Limiter;
use crate::metrics::Metrics;
use crate::models::Models;
use crate::notices::Notices;
use crate::options::{
    CellOptions, FileOptions, GateOptions, LimitOptions, SurfaceOptions, UserOptions, WorkOptions,
};
use crate::people::Contexts;
use crate::people::People;
use crate::people::{Access, Pairings, ToOwners};
use crate::people::{Accounts, Sessions};
use crate::personal::PersonalData;
use crate::ports::{CellBackend, Doors};
use crate::secrets::MasterSettings;
use crate::secrets::Secrets;
use crate::status::LastChecks;
use crate::status::LastPulse;
use crate::status::Status;
use crate::stop::EmergencyStop;
use crate::stop::Stops;
use crate::surfaces::AdminHubs;
use crate::surfaces::SurfaceState;
use crate::surfaces::Surfaces;
use crate::tasks::RunningTasks;
use crate::tasks::Tasks;

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
    pub files: FileOptions,
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

/// Defines the handle of a part of control: cheap to clone, and control itself seen as one. What a part holds in
/// memory is private to its module; all that others can do with it are the handle's methods.
macro_rules! part {
    ($(#[$doc:meta])* $vis:vis struct $name:ident;) => {
        cloister_kit::part! {
            $(#[$doc])*
            #[derive(Clone)]
            $vis struct $name seen in control: $crate::control::Control;
        }
    };
}
pub(crate) use part;

pub(crate) struct Inner {
    pub(crate) parts: Parts,
    pub(crate) hub: Hub,
    /// All background work; a stop waits for it.
    pub(crate) crew: Crew,
    /// Nothing new is taken; what runs may end.
    closing: CancellationToken,
    pub(crate) stop: CancellationToken,
    pub(crate) limiter: Limiter,
    pub(crate) gates: GateState,
    pub(crate) access: Access,
    pub(crate) shown: Shown,
    pub(crate) pairings: Pairings,
    pub(crate) audit: AuditKeeper,
    /// The master key is replaced by one at a time.
    pub(crate) rotating: tokio::sync::Mutex<()>,
    pub(crate) branching: BeingMade,
    pub(crate) last_pulse: LastPulse,
    pub(crate) last_checks: LastChecks,
    pub(crate) history: History,
    pub(crate) settings_check: OnceLock<SettingsCheck>,
    pub(crate) stopped: EmergencyStop,
    pub(crate) surfaces: SurfaceState,
    pub(crate) cells: CellState,
    pub(crate) tasks: RunningTasks,
    pub(crate) landings: Landings,
}

impl Control {
    pub fn new(parts: Parts) -> Self {
        let stop = CancellationToken::new();
        let hub = Hub::default();
        let owners = ToOwners { hub: hub.clone(), language: parts.surfaces.language };
        parts.store.tell_with(Arc::new(owners));
        let inner = Inner {
            limiter: Limiter::new(parts.limits.clone()),
            gates: GateState::new(&parts.gates),
            access: Access::default(),
            shown: Shown::default(),
            pairings: Pairings::default(),
            audit: AuditKeeper::default(),
            rotating: tokio::sync::Mutex::default(),
            branching: BeingMade::default(),
            last_pulse: LastPulse::default(),
            last_checks: LastChecks::default(),
            history: History::new(parts.layout.clone()),
            settings_check: OnceLock::new(),
            stopped: EmergencyStop::of(&parts.store),
            surfaces: SurfaceState::default(),
            parts,
            hub,
            crew: Crew::new(stop.clone()),
            closing: CancellationToken::new(),
            stop,
            cells: CellState::default(),
            tasks: RunningTasks::default(),
            landings: Landings::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Takes up what a stop or a kill left behind, then works in the background until `shut_down`.
    pub async fn start(&self) -> Result<(), ControlError> {
        self.inner.parts.backend.sweep().await;
        let failed = "the run directory could not be cleared";
        self.layout().clear_run().map_err(Fault::io(failed))?;
        self.gates().apply_allowed_proposals().await?;
        self.stops().load_stop().await?;
        self.tasks().layers().take_up().await?;
        let requeued = self.store().tasks().requeue_running().await?;
        let settled = self.store().tasks().settle_leftovers().await?;
        let waiting = self.store().inbox().chats_with_unanswered().await?;
        if requeued > 0 || !waiting.is_empty() {
            tracing::info!(requeued, settled, chats = waiting.len(), "taking up open work");
        }
        for chat in waiting {
            self.cells().poke(chat, Poke::Inbox);
        }
        self.config().take_up_config();
        self.keep("scheduler", |control, rounds| async move {
            control.tasks().schedule_tasks(&rounds).await;
        });
        self.keep("quotas", |control, rounds| async move {
            control.cells().watch_quotas(&rounds).await;
        });
        self.keep("landings", |control, rounds| async move {
            control.tasks().layers().keep_landings(&rounds).await;
        });
        self.keep("layers", |control, rounds| async move {
            crate::layers::Pruning::ref_cast(&control).keep_layers(&rounds).await;
        });
        self.keep("watchdog", |control, rounds| async move {
            control.status().watch_holds(&rounds).await;
        });
        self.keep("memory", |control, rounds| async move {
            control.status().watch_memory(&rounds).await;
        });
        self.keep("audit", |control, rounds| async move {
            control.audit().keep_audit(&rounds).await;
        });
        self.keep("spikes", |control, rounds| async move {
            control.status().watch_spikes(&rounds).await;
        });
        self.keep("admin hubs", |control, rounds| async move {
            control.admin_hubs().keep_admin_hubs(&rounds).await;
        });
        self.tasks().look();
        Ok(())
    }

    fn keep<Work>(&self, name: &'static str, begin: impl Fn(Self, Rounds) -> Work + Send + 'static)
    where
        Work: Future<Output = ()> + Send + 'static,
    {
        let control = self.clone();
        self.inner.crew.keep(name, move |rounds| begin(control.clone(), rounds));
    }

    /// Takes nothing new and lets running turns end, up to the deadline of the settings. Says whose
    /// did not.
    pub async fn drain(&self) {
        self.inner.closing.cancel();
        if self.stops().is_stopped() {
            // Nothing is answered until it is released.
            return;
        }
        let within = Duration::from_secs(self.work().drain_s);
        if tokio::time::timeout(within, self.all_answered()).await.is_ok() {
            return;
        }
        let late = self.store().inbox().chats_with_unanswered().await.unwrap_or_default();
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
            match self.store().inbox().backlog().await {
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

    pub(crate) fn store(&self) -> &Store {
        &self.inner.parts.store
    }

    pub fn clock(&self) -> &Clock {
        &self.store().clock
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

/// The parts, each by its handle.
impl Control {
    pub fn inbox(&self) -> &Inbox {
        Inbox::ref_cast(self)
    }

    pub fn chats(&self) -> &Chats {
        Chats::ref_cast(self)
    }

    pub(crate) fn commands(&self) -> &Commands {
        Commands::ref_cast(self)
    }

    pub fn cells(&self) -> &Cells {
        Cells::ref_cast(self)
    }

    pub fn tasks(&self) -> &Tasks {
        Tasks::ref_cast(self)
    }

    pub fn gates(&self) -> &Gates {
        Gates::ref_cast(self)
    }

    pub(crate) fn provenance(&self) -> &Provenance {
        Provenance::ref_cast(self)
    }

    pub fn people(&self) -> &People {
        People::ref_cast(self)
    }

    pub fn accounts(&self) -> &Accounts {
        Accounts::ref_cast(self)
    }

    pub fn sessions(&self) -> &Sessions {
        Sessions::ref_cast(self)
    }

    pub fn contexts(&self) -> &Contexts {
        Contexts::ref_cast(self)
    }

    pub fn personal_data(&self) -> &PersonalData {
        PersonalData::ref_cast(self)
    }

    pub fn surfaces(&self) -> &Surfaces {
        Surfaces::ref_cast(self)
    }

    pub(crate) fn admin_hubs(&self) -> &AdminHubs {
        AdminHubs::ref_cast(self)
    }

    pub fn audit(&self) -> &Audit {
        Audit::ref_cast(self)
    }

    pub fn models(&self) -> &Models {
        Models::ref_cast(self)
    }

    pub fn secrets(&self) -> &Secrets {
        Secrets::ref_cast(self)
    }

    pub fn egress(&self) -> &EgressRules {
        EgressRules::ref_cast(self)
    }

    pub fn config(&self) -> &Config {
        Config::ref_cast(self)
    }

    pub fn status(&self) -> &Status {
        Status::ref_cast(self)
    }

    pub fn stops(&self) -> &Stops {
        Stops::ref_cast(self)
    }

    pub(crate) fn notices(&self) -> &Notices {
        Notices::ref_cast(self)
    }
}
