use super::*;
use crate::actor::Actor;
use crate::db::Store;
use crate::test_world;

async fn setup() -> (tempfile::TempDir, Store, ConnectorId) {
    let (dir, store) = test_world::store().await;
    let connector = test_world::connector(&store, "matrix", "@bot:test").await;
    (dir, store, connector)
}

/// E82: that a place is encrypted outlives everything that is known of it, and its connector.
#[tokio::test]
async fn an_encrypted_place_stays_one() {
    let (_dir, store, connector) = setup().await;
    assert!(!store.conversations().was_encrypted("matrix", "!a:test").await.unwrap());
    for _ in 0..2 {
        store.conversations().set_encrypted("matrix", "!a:test").await.unwrap();
    }
    store.conversations().forget_conversations(&Actor::person("root"), connector).await.unwrap();
    assert!(store.conversations().was_encrypted("matrix", "!a:test").await.unwrap());
    assert!(!store.conversations().was_encrypted("matrix", "!b:test").await.unwrap());
    assert!(!store.conversations().was_encrypted("other", "!a:test").await.unwrap());
}

/// E81: what was refused is refused when it comes again, and the memory of it does not grow for ever.
#[tokio::test]
async fn refused_events_stay_refused() {
    let (_dir, store, connector) = setup().await;
    assert!(!store.conversations().was_refused(connector, "$1").await.unwrap());
    for _ in 0..2 {
        store.conversations().refuse_event(connector, "$1").await.unwrap();
    }
    assert!(store.conversations().was_refused(connector, "$1").await.unwrap());
    assert!(!store.conversations().was_refused(connector, "$2").await.unwrap());
    let mut tx = store.begin().await.unwrap();
    sqlx::query(
        "WITH RECURSIVE n (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 10050) \
         INSERT INTO refused_events (connector_id, event) SELECT ?, 'x' || i FROM n",
    )
    .bind(connector.number())
    .execute(&mut *tx)
    .await
    .unwrap();
    tx.commit().await.unwrap();
    store.conversations().refuse_event(connector, "$last").await.unwrap();
    assert!(store.conversations().was_refused(connector, "$last").await.unwrap());
    assert!(store.conversations().was_refused(connector, "x10050").await.unwrap());
    assert!(
        !store.conversations().was_refused(connector, "$1").await.unwrap(),
        "the oldest are forgotten"
    );
}
