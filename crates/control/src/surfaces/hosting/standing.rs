//! How a connector is doing, as others are told: said at each change, logged once per change.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cloister_protocol::admin::{ConnectorState, ReconcileReport};
use cloister_store::connectors::{Connector, ConnectorId};

use super::backoff::Backoff;
use crate::control::Control;
use crate::surfaces::Health;

/// One for each connector, whoever works for it.
pub struct Standing {
    control: Control,
    connector: Connector,
    surface: &'static str,
    now: Mutex<Now>,
}

struct Now {
    backoff: Backoff,
    /// The platform is out of reach, and that was said.
    lost: bool,
}

impl Standing {
    pub fn new(
        control: Control,
        surface: &'static str,
        connector: Connector,
        longest: Duration,
    ) -> Self {
        let now = Mutex::new(Now { backoff: Backoff::new(longest), lost: false });
        Self { control, connector, surface, now }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn starting(&self) {
        self.report(ConnectorState::Starting, None);
    }

    /// The platform answered.
    pub fn heard(&self) {
        let was_lost = {
            let mut now = self.now();
            now.backoff.reset();
            std::mem::take(&mut now.lost)
        };
        if was_lost {
            let (surface, account) = (self.surface, &self.connector.account);
            tracing::info!(surface, account, "the platform answers again");
        }
        let mut health = self.health(ConnectorState::Connected, None);
        health.last_heard_at = Some(self.control.store().clock.now_ms());
        self.control.report_health(self.connector.id, health);
    }

    /// The platform did not answer as it should; says how long to wait before the next try.
    pub fn lost(&self, (kind, why): (&'static str, &str), at_least: Option<Duration>) -> Duration {
        self.control.metrics().connector_error(self.surface, kind);
        let (said, pause) = {
            let mut now = self.now();
            (std::mem::replace(&mut now.lost, true), now.backoff.pause())
        };
        if !said {
            let (surface, account) = (self.surface, &self.connector.account);
            tracing::warn!(surface, account, why, "the platform can't be used; trying again");
        }
        self.report(ConnectorState::Retrying, Some(why.to_owned()));
        at_least.map_or(pause, |wait| wait.max(pause))
    }

    /// It can't go on before an operator has done something.
    pub fn stopped_by(&self, problem: &str) {
        self.control.metrics().connector_error(self.surface, "unauthorised");
        let (surface, account) = (self.surface, &self.connector.account);
        tracing::error!(surface, account, problem, "a connector can't be connected");
        self.report(ConnectorState::LoggedOut, Some(problem.to_owned()));
    }

    fn health(&self, state: ConnectorState, problem: Option<String>) -> Health {
        let was = self.control.health_of(self.connector.id);
        let (last_heard_at, reconciled) =
            was.map_or((None, None), |was| (was.last_heard_at, was.reconciled));
        Health { surface: self.surface, state, problem, last_heard_at, reconciled }
    }

    fn report(&self, state: ConnectorState, problem: Option<String>) {
        self.control.report_health(self.connector.id, self.health(state, problem));
    }
}

impl Control {
    /// Keeps what the last comparison with a connector's server found.
    pub fn note_reconciled(&self, id: ConnectorId, report: ReconcileReport) {
        if let Some(health) = self.health_of(id) {
            self.report_health(id, Health { reconciled: Some(report), ..health });
        }
    }
}
