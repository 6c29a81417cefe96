use cloister_protocol::admin::{ConnectorState, ConnectorView};

use super::*;

#[test]
fn a_token_looks_as_discord_gives_it() {
    assert!(looks_right("MTIz.GabCde.x_Y-z"));
    for wrong in ["", "MTIz", "MTIz/x.y", "Bot MTIz.a.b", "https://discord.com"] {
        assert!(!looks_right(wrong), "{wrong}");
    }
}

#[test]
fn who_adds_a_bot_is_told_how_to_get_it_to_a_server() {
    let view = ConnectorView {
        surface: "discord".to_owned(),
        account: "1234".to_owned(),
        address: "https://discord.com".to_owned(),
        state: ConnectorState::Connected,
        problem: None,
        last_heard_at: None,
        conversations: 0,
        waiting: 0,
        facts: vec![("application".to_owned(), "5678".to_owned())],
        reconciled: None,
    };
    let said = words(&AddedConnector { view, recovery_key: None });
    assert!(said.contains("client_id=5678&scope=bot+applications.commands&permissions="), "{said}");
    assert!(said.contains("`pair`") && said.contains("cloister pair CODE"), "{said}");
}
