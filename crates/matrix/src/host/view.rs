//! An account as an operator sees it.

use std::sync::Arc;

use cloister_kit::adding::goes_in_the_clear;
use cloister_protocol::surface::Connector;

use crate::bot::{Bot, BotSettings};
use crate::session::{keys, verification};

/// What is known of an account besides what every connector shows.
pub(super) async fn facts(bot: Option<Arc<Bot>>, connector: &Connector) -> Vec<(String, String)> {
    let settings = serde_json::from_value::<BotSettings>(connector.settings.clone()).ok();
    let mut facts = Vec::new();
    if let Some(settings) = settings {
        facts.push(("device".to_owned(), settings.device_id));
        let rooms = if settings.encrypted { "encrypted" } else { "not encrypted" };
        facts.push(("new rooms".to_owned(), rooms.to_owned()));
    }
    if let Some(bot) = bot {
        facts.extend(keys::facts(&bot.client).await);
        facts.extend(verification::facts(&bot).await);
    }
    if goes_in_the_clear(&connector.address) {
        let note = "plain http: what is sent, the access token too, can be read on the way";
        facts.push(("transport".to_owned(), note.to_owned()));
    }
    facts
}
