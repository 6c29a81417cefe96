use cloister_protocol::admin::{Credential, Key};
use cloister_store::connectors::ConnectorId;
use serde_json::json;

use super::*;

fn account(address: &str) -> Connector {
    Connector {
        id: ConnectorId::from_number(1),
        surface: "matrix".to_owned(),
        account: "@cloister:example.org".to_owned(),
        address: address.to_owned(),
        settings: json!({"gateway_url": "ws://127.0.0.1:9000"}),
        position: None,
        added_by: "op".to_owned(),
        created_at: 0,
    }
}

fn adding(address: &str, account: &str) -> AddConnector {
    AddConnector {
        address: address.to_owned(),
        account: account.to_owned(),
        credential: Credential::Token(Key::new("t")),
        recovery_key: None,
        encrypted: true,
        owner: None,
        webhook: None,
        gateway: None,
    }
}

#[test]
fn the_servers_of_its_accounts_are_reached_wherever_they_are() {
    let accounts = [account("http://192.168.1.5:8008")];
    let at = |host, port| reachable((host, port), &accounts, None, &[]);
    assert_eq!(at("192.168.1.5", 8008), Some(Whereabouts::Anywhere));
    assert_eq!(at("127.0.0.1", 9000), Some(Whereabouts::Anywhere));
    for (host, port) in [("192.168.1.5", 22), ("192.168.1.6", 8008), ("evil.example", 443)] {
        assert_eq!(at(host, port), None, "{host}:{port}");
    }
}

#[test]
fn what_the_program_declares_is_reached_on_the_internet_alone() {
    let declared = ["api.telegram.org".to_owned(), "*.discord.gg".to_owned()];
    let at = |host, port| reachable((host, port), &[], None, &declared);
    assert_eq!(at("api.telegram.org", 443), Some(Whereabouts::Public));
    assert_eq!(at("API.telegram.org.", 443), Some(Whereabouts::Public));
    assert_eq!(at("gateway-us-east1-b.discord.gg", 443), Some(Whereabouts::Public));
    for (host, port) in [
        ("api.telegram.org", 80),
        ("discord.gg", 443),
        ("evildiscord.gg", 443),
        (".discord.gg", 443),
        ("api.telegram.org.evil.example", 443),
        ("169.254.169.254", 443),
        ("localhost", 443),
    ] {
        assert_eq!(at(host, port), None, "{host}:{port}");
    }
}

#[test]
fn more_is_reached_only_while_an_operator_adds_an_account() {
    let new = adding("example.org", "@cloister:chat.example.org");
    let declared = ["*".to_owned()];
    let at = |host, port| reachable((host, port), &[], Some(&new), &declared);
    assert_eq!(at("example.org", 443), Some(Whereabouts::Anywhere));
    assert_eq!(at("chat.example.org", 443), Some(Whereabouts::Anywhere));
    assert_eq!(at("matrix.elsewhere.example", 8448), Some(Whereabouts::Public));
    assert_eq!(at("matrix.elsewhere.example", 22), None);
    assert_eq!(reachable(("matrix.elsewhere.example", 443), &[], None, &declared), None);
}

/// E53: while an account was added, a connector of any platform reached any public host.
#[test]
fn a_platform_whose_servers_refer_to_none_reaches_no_other_while_adding() {
    let new = adding("", "@bot");
    let declared = ["api.telegram.org".to_owned(), "*.discord.gg".to_owned()];
    let at = |host, port| reachable((host, port), &[], Some(&new), &declared);
    assert_eq!(at("api.telegram.org", 443), Some(Whereabouts::Public));
    for (host, port) in [("evil.example", 443), ("evil.example", 8448), ("*", 443)] {
        assert_eq!(at(host, port), None, "{host}:{port}");
    }
}
