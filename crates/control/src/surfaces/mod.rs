//! What control keeps about surfaces while it runs: which connectors are attached, how each is doing, and the
//! signal that chats must be shown differently. What must not be lost is in the database.

mod admin_hub;
mod answering;
mod buttons;
mod choices;
pub(crate) mod credentials;
mod desk;
mod error;
mod hosting;
mod hosts;
mod line;
mod onboarding;
mod program;
mod remote;
pub(crate) mod words;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use cloister_protocol::admin::{ConnectorState, ReconcileReport};
use cloister_protocol::surface::Customs;
use cloister_store::connectors::ConnectorId;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

pub(crate) use admin_hub::AdminHubs;
pub use answering::Pressed;
pub use buttons::{Below, Button, ButtonDone, MOST_BUTTONS, Press, PressedButton};
pub use choices::{Choice, ChoiceKind, TypedIn};
pub(crate) use desk::SurfaceDesk;
pub use error::{SurfaceError, SurfaceRefusal};
pub use program::{ConnectorOptions, ConnectorProgram};
pub use remote::RemoteHost;

use crate::control::part;
use crate::courier;
use crate::error::Fault;
use crate::ports::Surface;

/// How a connector is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    pub surface: &'static str,
    pub state: ConnectorState,
    pub problem: Option<String>,
    /// When the server last answered, in Unix milliseconds.
    pub last_heard_at: Option<i64>,
    pub reconciled: Option<ReconcileReport>,
}

part! {
    /// The surfaces: what a connector may ask, and how connectors are doing.
    pub struct Surfaces;
}

pub(crate) struct SurfaceState {
    health: Mutex<HashMap<ConnectorId, Health>>,
    /// Held by the courier of a connector.
    couriers: Mutex<HashMap<ConnectorId, Arc<tokio::sync::Mutex<()>>>>,
    chats: watch::Sender<u64>,
    telling: onboarding::TellingBySurface,
    hubs: admin_hub::Pace,
    programs: Mutex<Vec<Weak<ConnectorProgram>>>,
}

impl Default for SurfaceState {
    fn default() -> Self {
        Self {
            health: Mutex::default(),
            couriers: Mutex::default(),
            chats: watch::channel(0).0,
            telling: Default::default(),
            hubs: Default::default(),
            programs: Mutex::default(),
        }
    }
}

impl SurfaceState {
    fn health(&self) -> MutexGuard<'_, HashMap<ConnectorId, Health>> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn programs(&self) -> Vec<Arc<ConnectorProgram>> {
        let programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        programs.iter().filter_map(Weak::upgrade).collect()
    }

    fn add_program(&self, program: &Arc<ConnectorProgram>) {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        programs.push(Arc::downgrade(program));
    }

    fn alone(&self, connector: ConnectorId) -> Arc<tokio::sync::Mutex<()>> {
        let mut couriers = self.couriers.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(couriers.entry(connector).or_default())
    }
}

/// A connector that is told what people are to be told. Dropped, it is told nothing more.
#[derive(Debug)]
pub struct Attachment {
    _stop: DropGuard,
}

/// Says when chats were made, renamed or archived, and conversations may have to show it.
#[derive(Debug)]
pub struct ChatChanges(watch::Receiver<u64>);

impl ChatChanges {
    pub async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Surfaces {
    /// From now on the connector is handed what is to be told in its conversations, beginning with what was
    /// left over.
    pub fn attach(&self, surface: Arc<dyn Surface>) -> Attachment {
        let stop = self.control.inner.stop.child_token();
        let work = courier::carry(self.control.clone(), surface, stop.clone());
        self.control.inner.crew.go("courier", work);
        Attachment { _stop: stop.drop_guard() }
    }

    /// The programs of connectors, whether or not they run.
    pub(crate) fn programs(&self) -> Vec<Arc<ConnectorProgram>> {
        self.control.inner.surfaces.programs()
    }

    /// What an operator types to do something about the accounts of a surface: `list`, `status`. One that nothing
    /// serves any more is looked for like one's own.
    pub(crate) fn typed(&self, surface: &str, what: &str) -> String {
        let program = self.programs().into_iter().find(|program| program.surface() == surface);
        program.map_or_else(
            || format!("cloister connector {what} {surface}"),
            |program| program.typed(what),
        )
    }

    /// What the courier of a connector holds while it works.
    pub(crate) fn alone(&self, connector: ConnectorId) -> Arc<tokio::sync::Mutex<()>> {
        self.control.inner.surfaces.alone(connector)
    }

    /// What is different on a surface, as its connector said last.
    pub(crate) async fn customs_of(&self, surface: &str) -> Result<Customs, Fault> {
        Ok(self.control.store().conversations().customs(surface).await?)
    }

    /// Rooms may have to be made, renamed or put away.
    pub fn chats_changed(&self) {
        self.control.inner.surfaces.chats.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub fn chat_changes(&self) -> ChatChanges {
        ChatChanges(self.control.inner.surfaces.chats.subscribe())
    }

    pub fn report_health(&self, connector: ConnectorId, health: Health) {
        self.control.inner.surfaces.health().insert(connector, health);
    }

    pub fn forget_health(&self, connector: ConnectorId) {
        self.control.inner.surfaces.health().remove(&connector);
    }

    pub fn health_of(&self, connector: ConnectorId) -> Option<Health> {
        self.control.inner.surfaces.health().get(&connector).cloned()
    }

    /// Stops when the control plane does.
    pub fn stop_token(&self) -> CancellationToken {
        self.control.inner.stop.child_token()
    }
}
