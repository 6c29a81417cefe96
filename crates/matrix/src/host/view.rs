//! An account as an operator sees it.

use std::time::Duration;

use cloister_control::{ControlError, Health};
use cloister_protocol::admin::{ConnectorState, ConnectorView};
use cloister_store::connectors::Connector;

use super::MatrixHost;
use crate::SURFACE;
use crate::bot::BotSettings;
use crate::session::{address, keys, verification};

/// How long an answer about a new account waits for it to be connected.
const FIRST_LOOK: Duration = Duration::from_secs(5);

impl MatrixHost {
    /// The account as it is once it is connected, or after a few seconds.
    pub(super) async fn first_look(
        &self,
        connector: &Connector,
    ) -> Result<ConnectorView, ControlError> {
        let settled = async {
            let starting = |health: &Health| health.state == ConnectorState::Starting;
            while self.control.health_of(connector.id).as_ref().is_none_or(starting) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        // It may take longer, and is shown as starting then.
        tokio::time::timeout(FIRST_LOOK, settled).await.ok();
        self.view(connector).await
    }

    pub(super) async fn view(&self, connector: &Connector) -> Result<ConnectorView, ControlError> {
        let store = self.control.store();
        let health = self.control.health_of(connector.id);
        let known = store.conversations(connector.id).await?;
        let running = self.running().get(&connector.id).cloned();
        let bot = running.as_ref().and_then(|running| running.bot.get());
        let settings = serde_json::from_value::<BotSettings>(connector.settings.clone()).ok();
        let mut facts = Vec::new();
        if let Some(settings) = settings {
            facts.push(("device".to_owned(), settings.device_id));
            let rooms = if settings.encrypted { "encrypted" } else { "not encrypted" };
            facts.push(("new rooms".to_owned(), rooms.to_owned()));
        }
        if let Some(bot) = bot {
            facts.extend(keys::facts(&bot.client).await);
            facts.extend(verification::facts(bot).await);
        }
        if address::goes_in_the_clear(&connector.address) {
            let note = "plain http: what is sent, the access token too, can be read on the way";
            facts.push(("transport".to_owned(), note.to_owned()));
        }
        let state = health.as_ref().map_or(ConnectorState::Starting, |health| health.state);
        Ok(ConnectorView {
            surface: SURFACE.to_owned(),
            account: connector.account.clone(),
            address: connector.address.clone(),
            state,
            problem: health.as_ref().and_then(|health| health.problem.clone()),
            last_heard_at: health.as_ref().and_then(|health| health.last_heard_at),
            conversations: known.iter().filter(|c| c.external_id.is_some()).count() as u64,
            waiting: store.waiting_to_be_told(connector.id).await?,
            facts,
            reconciled: health.and_then(|health| health.reconciled),
        })
    }
}
