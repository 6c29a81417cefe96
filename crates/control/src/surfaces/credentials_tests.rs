use super::*;
use crate::test_world::World;

const TOKEN: &str = "123456:a-token-of-a-bot";

/// A token is kept sealed, opens again, is replaced and forgotten; a list shows its name alone.
#[tokio::test]
async fn what_a_connector_logs_in_with_is_sealed() {
    let world = World::new().await;
    let (control, id) = (&world.control, world.connector.id);
    assert!(open(control, "telegram", id).await.unwrap().is_none());
    let address = "https://api.telegram.org";
    keep(control, &Actor::person("root"), "telegram", id, address, TOKEN.to_owned().into())
        .await
        .unwrap();
    let opened = open(control, "telegram", id).await.unwrap().unwrap();
    assert_eq!(opened.expose(), TOKEN.as_bytes());
    assert!(!format!("{opened:?}").contains("a-token"));
    assert!(open(control, "discord", id).await.unwrap().is_none(), "another surface's is another");

    let listed = control.secrets().list(Owner::Platform).await.unwrap();
    let names: Vec<&str> = listed.iter().map(|secret| secret.name.as_str()).collect();
    assert_eq!(names, [format!("telegram-{id}")]);
    assert!(!format!("{listed:?}").contains("a-token"));
    let entries = world.store().audit().audit_tail(100).await.unwrap();
    assert!(!format!("{entries:?}").contains("a-token"));

    keep(control, &Actor::person("root"), "telegram", id, address, "other".to_owned().into())
        .await
        .unwrap();
    assert_eq!(open(control, "telegram", id).await.unwrap().unwrap().expose(), b"other");
    forget(control, &Actor::person("root"), "telegram", id).await.unwrap();
    assert!(open(control, "telegram", id).await.unwrap().is_none());
    forget(control, &Actor::person("root"), "telegram", id).await.unwrap();
}

#[test]
fn a_secret_is_bound_to_its_server() {
    for (address, host) in [
        ("https://matrix.example.org", "matrix.example.org"),
        ("https://api.telegram.org/base/", "api.telegram.org"),
        ("http://127.0.0.1:8008", "127.0.0.1:8008"),
        ("http://example.org", "example.org:80"),
        ("wss://gateway.example.org", "gateway.example.org"),
        ("https://user:password@example.org", "example.org"),
        ("http://[::1]:8008", NOWHERE),
        ("", NOWHERE),
        ("ftp://example.org", NOWHERE),
    ] {
        let binding = binding(address).unwrap();
        let hosts: Vec<String> = binding.hosts().iter().map(ToString::to_string).collect();
        assert_eq!(hosts, [host], "{address}");
    }
}
