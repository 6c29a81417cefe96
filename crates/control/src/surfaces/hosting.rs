//! Connectors as an operator sees them, whatever their surface.

use std::time::Duration;

use cloister_protocol::admin::{ConnectorState, ConnectorView, ReconcileReport};
use cloister_store::connectors::{Connector, ConnectorId};

use super::Health;
use crate::error::Fault;
use crate::surfaces::Surfaces;

/// How long an answer about a new connector waits for it to be connected.
const FIRST_LOOK: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(50);

impl Surfaces {
    /// Keeps what the last comparison with a connector's server found.
    pub fn note_reconciled(&self, id: ConnectorId, report: ReconcileReport) {
        if let Some(health) = self.health_of(id) {
            self.report_health(id, Health { reconciled: Some(report), ..health });
        }
    }

    /// Waits a few seconds for a new connector to be connected, or to fail. It may take longer, and is shown
    /// as starting then.
    pub async fn first_look(&self, id: ConnectorId) {
        let settled = async {
            let starting = |health: &Health| health.state == ConnectorState::Starting;
            while self.health_of(id).as_ref().is_none_or(starting) {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        tokio::time::timeout(FIRST_LOOK, settled).await.ok();
    }

    /// A connector as an operator sees it, with what its surface knows besides.
    pub async fn connector_view(
        &self,
        connector: &Connector,
        mut facts: Vec<(String, String)>,
    ) -> Result<ConnectorView, Fault> {
        let health = self.health_of(connector.id);
        let known = self.control.store().conversations().of(connector.id).await?;
        let state = health.as_ref().map_or(ConnectorState::Starting, |health| health.state);
        if let Some(hub) = self.control.admin_hubs().hub_of(connector.id).await? {
            let place = hub.conversation.external_id.unwrap_or_default();
            facts.push(("admin hub".to_owned(), place));
        }
        Ok(ConnectorView {
            surface: connector.surface.clone(),
            account: connector.account.clone(),
            address: connector.address.clone(),
            state,
            problem: health.as_ref().and_then(|health| health.problem.clone()),
            last_heard_at: health.as_ref().and_then(|health| health.last_heard_at),
            conversations: known.iter().filter(|c| c.external_id.is_some()).count() as u64,
            waiting: self.control.store().outbox().waiting_to_be_told(connector.id).await?,
            facts,
            reconciled: health.and_then(|health| health.reconciled),
        })
    }
}
