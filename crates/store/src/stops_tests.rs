use super::*;
use crate::db::Store;
use crate::test_world;

async fn store() -> (tempfile::TempDir, Store) {
    let (dir, store) = test_world::store().await;
    (dir, store)
}

#[tokio::test]
async fn a_stop_holds_over_restarts_until_it_is_released_once() {
    let (dir, store) = store().await;
    assert_eq!(store.platform().open_stop().await.unwrap(), None);
    let Stopped::Now(stop) =
        store.platform().stop_all(&Actor::person("anna"), "odd traffic").await.unwrap()
    else {
        panic!("nothing was stopped before");
    };
    // Asked again, by somebody else: the first one stands.
    assert_eq!(
        store.platform().stop_all(&Actor::person("ben"), "").await.unwrap(),
        Stopped::Before(stop.clone())
    );
    store.close().await.unwrap();

    let store = Store::open(&dir.path().join("cloister.db")).await.unwrap();
    assert_eq!(store.platform().open_stop().await.unwrap(), Some(stop.clone()));
    assert_eq!(store.platform().release_all(&Actor::person("anna")).await.unwrap(), Some(stop));
    assert_eq!(store.platform().release_all(&Actor::person("anna")).await.unwrap(), None);
    assert_eq!(store.platform().open_stop().await.unwrap(), None);
    let audited: Vec<_> = store.audit().audit_tail(10).await.unwrap();
    let audited: Vec<_> =
        audited.iter().map(|row| (row.actor.as_str(), row.action.as_str())).collect();
    assert_eq!(audited, [("anna", "platform.release"), ("anna", "platform.stop")]);
}
