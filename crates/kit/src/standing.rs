//! How a connector is doing, as others are told: said at each change, logged once per change.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cloister_protocol::admin::ConnectorState;
use cloister_protocol::surface::{Connector, Health};

use crate::backoff::Backoff;
use crate::plane::Plane;

/// One for each connector, whoever works for it.
pub struct Standing {
    plane: Plane,
    connector: Connector,
    now: Mutex<Now>,
}

struct Now {
    backoff: Backoff,
    /// The platform is out of reach, and that was said.
    lost: bool,
    last_heard_at: Option<i64>,
}

impl Standing {
    pub fn new(plane: Plane, connector: Connector, longest: Duration) -> Self {
        let now = Now { backoff: Backoff::new(longest), lost: false, last_heard_at: None };
        Self { plane, connector, now: Mutex::new(now) }
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
            now.last_heard_at = Some(self.plane.now_ms());
            std::mem::take(&mut now.lost)
        };
        if was_lost {
            let (surface, account) = (self.plane.surface(), &self.connector.account);
            tracing::info!(surface, account, "the platform answers again");
        }
        self.report(ConnectorState::Connected, None);
    }

    /// The platform did not answer as it should; says how long to wait before the next try.
    pub fn lost(&self, (kind, why): (&'static str, &str), at_least: Option<Duration>) -> Duration {
        self.plane.count_error(kind);
        let (said, pause) = {
            let mut now = self.now();
            (std::mem::replace(&mut now.lost, true), now.backoff.pause())
        };
        if !said {
            let (surface, account) = (self.plane.surface(), &self.connector.account);
            tracing::warn!(surface, account, why, "the platform can't be used; trying again");
        }
        self.report(ConnectorState::Retrying, Some(why.to_owned()));
        at_least.map_or(pause, |wait| wait.max(pause))
    }

    /// It can't go on before an operator has done something.
    pub fn stopped_by(&self, problem: &str) {
        self.plane.count_error("unauthorised");
        let (surface, account) = (self.plane.surface(), &self.connector.account);
        tracing::error!(surface, account, problem, "a connector can't be connected");
        self.report(ConnectorState::LoggedOut, Some(problem.to_owned()));
    }

    fn report(&self, state: ConnectorState, problem: Option<String>) {
        let last_heard_at = self.now().last_heard_at;
        let health = Health { state, problem, last_heard_at, reconciled: None };
        self.plane.report_health(self.connector.id, health);
    }
}
