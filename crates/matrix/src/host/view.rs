//! An account as an operator sees it.

use cloister_control::ControlError;
use cloister_protocol::admin::ConnectorView;
use cloister_store::connectors::Connector;

use super::MatrixHost;
use crate::bot::BotSettings;
use crate::session::{address, keys, verification};

impl MatrixHost {
    /// The account as it is once it is connected, or after a few seconds.
    pub(super) async fn first_look(
        &self,
        connector: &Connector,
    ) -> Result<ConnectorView, ControlError> {
        self.control.first_look(connector.id).await;
        self.view(connector).await
    }

    pub(super) async fn view(&self, connector: &Connector) -> Result<ConnectorView, ControlError> {
        let settings = serde_json::from_value::<BotSettings>(connector.settings.clone()).ok();
        let mut facts = Vec::new();
        if let Some(settings) = settings {
            facts.push(("device".to_owned(), settings.device_id));
            let rooms = if settings.encrypted { "encrypted" } else { "not encrypted" };
            facts.push(("new rooms".to_owned(), rooms.to_owned()));
        }
        if let Some(bot) = self.bots.get(connector.id) {
            facts.extend(keys::facts(&bot.client).await);
            facts.extend(verification::facts(&bot).await);
        }
        if address::goes_in_the_clear(&connector.address) {
            let note = "plain http: what is sent, the access token too, can be read on the way";
            facts.push(("transport".to_owned(), note.to_owned()));
        }
        self.control.connector_view(connector, facts).await
    }
}
