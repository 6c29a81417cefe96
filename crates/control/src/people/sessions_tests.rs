use cloister_store::Actor;
use cloister_store::tokens::TokenKind;

use crate::test_world::World;

/// A8: who ended a session stands in the audit, whosever it was.
#[tokio::test]
async fn who_ends_a_session_is_recorded() {
    let world = World::new().await;
    let (root, far) = (Actor::person("root"), i64::MAX);
    let user = world.ada.id;
    let sessions = world.control.sessions();
    sessions.begin(&root, (TokenKind::Session, "hash"), user, far).await.unwrap();
    sessions.end(&Actor::person("ann"), "hash").await.unwrap();
    assert!(sessions.owner("hash").await.unwrap().is_none());
    let entries = world.store().audit().audit_tail(10).await.unwrap();
    let ended = entries.iter().filter(|entry| entry.action == "session.end");
    let by: Vec<_> = ended.map(|entry| entry.actor.as_str()).collect();
    assert_eq!(by, ["ann"]);
}
