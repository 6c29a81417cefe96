//! How an account is doing, as others are told: said at each change, logged once per change.

use std::time::Duration;

use cloister_control::{Control, Health};
use cloister_protocol::admin::{ConnectorState, ReconcileReport};
use cloister_store::connectors::ConnectorId;

use super::backoff::Backoff;

pub(crate) struct Standing {
    control: Control,
    id: ConnectorId,
    account: String,
    backoff: Backoff,
    /// The server is out of reach, and that was said.
    lost: bool,
}

impl Standing {
    pub(crate) fn new(control: Control, id: ConnectorId, account: &str, longest: Duration) -> Self {
        let backoff = Backoff::new(longest);
        Self { control, id, account: account.to_owned(), backoff, lost: false }
    }

    pub(crate) fn starting(&self) {
        self.report(ConnectorState::Starting, None);
    }

    /// The server answered.
    pub(crate) fn heard(&mut self) {
        self.backoff.reset();
        if std::mem::take(&mut self.lost) {
            tracing::info!(account = self.account, "the homeserver answers again");
        }
        let mut health = self.health(ConnectorState::Connected, None);
        health.last_heard_at = Some(self.control.store().clock.now_ms());
        self.control.report_health(self.id, health);
    }

    /// The server did not answer as it should; says how long to wait before the next try.
    pub(crate) fn lost(
        &mut self,
        (kind, why): (&'static str, &str),
        at_least: Option<Duration>,
    ) -> Duration {
        self.control.metrics().connector_error(crate::SURFACE, kind);
        if !std::mem::replace(&mut self.lost, true) {
            tracing::warn!(
                account = self.account,
                why,
                "the homeserver can't be used; trying again"
            );
        }
        self.report(ConnectorState::Retrying, Some(why.to_owned()));
        let pause = self.backoff.next();
        at_least.map_or(pause, |wait| wait.max(pause))
    }

    pub(crate) fn logged_out(&self, why: &str) {
        self.control.metrics().connector_error(crate::SURFACE, "unauthorised");
        let problem =
            format!("{why}: add it again with `cloister matrix add` (its rooms and chats stay)");
        tracing::error!(account = self.account, problem, "a Matrix account is logged out");
        self.report(ConnectorState::LoggedOut, Some(problem));
    }

    pub(crate) fn reconciled(&self, report: ReconcileReport) {
        note_reconciled(&self.control, self.id, report);
    }

    fn health(&self, state: ConnectorState, problem: Option<String>) -> Health {
        let was = self.control.health_of(self.id);
        let (last_heard_at, reconciled) =
            was.map_or((None, None), |was| (was.last_heard_at, was.reconciled));
        Health { surface: crate::SURFACE, state, problem, last_heard_at, reconciled }
    }

    fn report(&self, state: ConnectorState, problem: Option<String>) {
        self.control.report_health(self.id, self.health(state, problem));
    }
}

/// Keeps what the last comparison with the server found.
pub(crate) fn note_reconciled(control: &Control, id: ConnectorId, report: ReconcileReport) {
    if let Some(health) = control.health_of(id) {
        control.report_health(id, Health { reconciled: Some(report), ..health });
    }
}
