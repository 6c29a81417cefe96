use super::*;
use crate::actor::Actor;
use crate::db::Store;
use crate::test_world;

const HERE: &str = "!here:test";
const THERE: &str = "!there:test";

async fn setup() -> (tempfile::TempDir, Store, ConnectorId) {
    let (dir, store) = test_world::store().await;
    let connector = test_world::connector(&store, "matrix", "@bot:test").await;
    (dir, store, connector)
}

fn wait<'a>(connector: ConnectorId, place: &'a str, event: &'a str, why: WhyWaiting) -> ToWait<'a> {
    ToWait { connector, place, event, why, sealed: None }
}

/// X1: what could not be taken yet is taken later, in the order in which it came, and once.
#[tokio::test]
async fn events_wait_in_order_and_once() {
    let (_dir, store, connector) = setup().await;
    for event in ["$1", "$2", "$1"] {
        assert!(
            store.inbox().let_wait(wait(connector, HERE, event, WhyWaiting::Busy)).await.unwrap()
        );
    }
    assert!(store.inbox().let_wait(wait(connector, THERE, "$3", WhyWaiting::NoKey)).await.unwrap());
    assert!(store.inbox().let_wait(wait(connector, HERE, "$0", WhyWaiting::NoKey)).await.unwrap());
    assert!(store.inbox().let_wait(wait(connector, HERE, "$4", WhyWaiting::Busy)).await.unwrap());
    let rows = store.inbox().waiting_events(connector, HERE).await.unwrap();
    let order: Vec<&str> = rows.iter().map(|row| row.event.as_str()).collect();
    assert_eq!(order, ["$1", "$2", "$4", "$0"], "what can be read keeps its order");
    assert!(store.inbox().stop_waiting(connector, HERE, "$4").await.unwrap());
    assert!(store.inbox().waits_in(connector, HERE).await.unwrap());
    assert!(
        !store.inbox().waits_in(connector, THERE).await.unwrap(),
        "a missing key holds nothing up"
    );
    assert!(store.inbox().stop_waiting(connector, HERE, "$1").await.unwrap());
    assert!(store.inbox().stop_waiting(connector, HERE, "$2").await.unwrap());
    assert!(!store.inbox().stop_waiting(connector, HERE, "$2").await.unwrap());
    assert!(!store.inbox().waits_in(connector, HERE).await.unwrap());
}

/// X11: one room's flood fills its own part alone.
#[tokio::test]
async fn a_flood_of_one_room_is_bounded() {
    let (_dir, store, connector) = setup().await;
    for n in 0..MOST_WAITING {
        let event = format!("${n}");
        assert!(
            store.inbox().let_wait(wait(connector, HERE, &event, WhyWaiting::Busy)).await.unwrap()
        );
    }
    assert!(
        !store.inbox().let_wait(wait(connector, HERE, "$more", WhyWaiting::Busy)).await.unwrap()
    );
    assert!(store.inbox().let_wait(wait(connector, HERE, "$0", WhyWaiting::NoFile)).await.unwrap());
    assert!(
        store.inbox().let_wait(wait(connector, THERE, "$more", WhyWaiting::Busy)).await.unwrap()
    );
    assert!(
        store.inbox().let_wait(wait(connector, HERE, "$sealed", WhyWaiting::NoKey)).await.unwrap()
    );
}

/// What waited for an account is forgotten with it.
#[tokio::test]
async fn what_waits_goes_with_its_connector() {
    let (_dir, store, connector) = setup().await;
    let sealed = ToWait {
        sealed: Some("{\"type\":\"m.room.encrypted\"}"),
        ..wait(connector, HERE, "$1", WhyWaiting::NoKey)
    };
    store.inbox().let_wait(sealed).await.unwrap();
    let row = store.inbox().waiting_events(connector, HERE).await.unwrap().remove(0);
    assert!(row.sealed.is_some() && !row.told);
    store.inbox().told_that_it_waits(connector, row.id).await.unwrap();
    assert!(store.inbox().waiting_events(connector, HERE).await.unwrap().remove(0).told);
    store.conversations().remove_connector(&Actor::person("root"), connector).await.unwrap();
    assert!(store.inbox().waiting_events(connector, HERE).await.unwrap().is_empty());
}

/// X1: a conversation's waiting events are read in their order without reading everybody else's.
#[tokio::test]
async fn what_waits_is_read_place_by_place() {
    let (_dir, store, connector) = setup().await;
    for event in ["1", "2", "3"] {
        assert!(
            store.inbox().let_wait(wait(connector, HERE, event, WhyWaiting::NoFile)).await.unwrap()
        );
    }
    assert!(store.inbox().let_wait(wait(connector, THERE, "4", WhyWaiting::Busy)).await.unwrap());
    assert!(
        store.inbox().let_wait(wait(connector, "!sealed", "5", WhyWaiting::NoKey)).await.unwrap()
    );
    assert_eq!(store.inbox().waiting_places(connector, false).await.unwrap(), [HERE, THERE]);
    let all = store.inbox().waiting_places(connector, true).await.unwrap();
    assert_eq!(all, [HERE, THERE, "!sealed"]);
    let first = store.inbox().first_waiting(connector, HERE, 2).await.unwrap();
    assert_eq!(first.iter().map(|row| row.event.as_str()).collect::<Vec<_>>(), ["1", "2"]);
}
