//! A bot as an operator sees it.

use cloister_protocol::surface::Connector;

use crate::bot::BotSettings;

pub(super) fn settings(connector: &Connector) -> BotSettings {
    serde_json::from_value(connector.settings.clone()).unwrap_or_default()
}

/// What is known of a bot besides what every connector shows.
pub(super) fn facts(connector: &Connector) -> Vec<(String, String)> {
    let settings = settings(connector);
    let mut facts = vec![
        ("name".to_owned(), settings.name.clone()),
        ("application".to_owned(), settings.application.clone()),
    ];
    if let Some(gateway) = &settings.gateway_url {
        facts.push(("gateway".to_owned(), gateway.clone()));
    }
    let plain = settings.api().is_some_and(|api| api.plain)
        || settings.gateway_url.as_deref().is_some_and(|url| url.starts_with("ws://"));
    if plain {
        let note = "not encrypted: what is sent, the token too, can be read on the way";
        facts.push(("transport".to_owned(), note.to_owned()));
    }
    facts
}
