use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::test_world::World;

async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let wait = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.unwrap_or_else(|_| panic!("{what}"));
}

fn health(state: ConnectorState) -> Health {
    Health { surface: "matrix", state, problem: None, last_heard_at: None, reconciled: None }
}

/// A connector that fails inside is begun anew, what it had started ends, and the operator sees that.
#[tokio::test]
async fn a_connector_that_panics_is_begun_anew() {
    let world = World::new().await;
    let (control, id) = (&world.control, world.connector.id);
    let mut connections = Connections::new(control.clone());
    connections.after_panic = Duration::from_millis(300);
    let lives = Arc::new(AtomicU32::new(0));
    let helpers = Arc::new(AtomicU32::new(0));
    control.report_health(id, health(ConnectorState::Connected));
    let (counted, ended, said) = (Arc::clone(&lives), Arc::clone(&helpers), control.clone());
    connections.run(id, move |stop, tracker| {
        let life = counted.fetch_add(1, Ordering::SeqCst);
        let (ended, said) = (Arc::clone(&ended), said.clone());
        async move {
            said.report_health(id, health(ConnectorState::Connected));
            let over = stop.clone();
            tracker.spawn(async move {
                over.cancelled().await;
                ended.fetch_add(1, Ordering::SeqCst);
            });
            if life == 0 {
                panic!("the first life fails");
            }
            stop.cancelled().await;
        }
    });
    eventually("the first life's helper ends", || helpers.load(Ordering::SeqCst) == 1).await;
    let seen = control.health_of(id).unwrap();
    assert_eq!(seen.state, ConnectorState::Retrying, "{seen:?}");
    eventually("a second life", || lives.load(Ordering::SeqCst) == 2).await;
    assert!(connections.end(id).await);
    assert_eq!(helpers.load(Ordering::SeqCst), 2, "it was waited for");
    assert!(!connections.end(id).await, "it has no life any more");
}

/// What goes on beside the reading goes on after a panic, ends when it is done, and is not begun anew when all
/// is to stop.
#[tokio::test]
async fn a_helper_that_panics_is_begun_anew() {
    let begun = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&begun);
    let helper = move || {
        let life = counted.fetch_add(1, Ordering::SeqCst);
        async move { assert!(life >= 2, "the first two lives fail") }
    };
    let soon = Duration::from_millis(1);
    let kept = kept_after(soon, ("test", CancellationToken::new()), helper);
    tokio::time::timeout(Duration::from_secs(60), kept).await.expect("it ends when it is done");
    assert_eq!(begun.load(Ordering::SeqCst), 3);

    let stop = CancellationToken::new();
    stop.cancel();
    let stopped = kept_after(Duration::MAX, ("test", stop), || async { panic!("inside") });
    tokio::time::timeout(Duration::from_secs(60), stopped).await.expect("it is not begun anew");
}

#[tokio::test]
async fn all_of_them_end_together() {
    let world = World::new().await;
    let connections = Connections::new(world.control.clone());
    let ended = Arc::new(AtomicU32::new(0));
    for number in 1..=3 {
        let ended = Arc::clone(&ended);
        connections.run(ConnectorId::from_number(number), move |stop, _| {
            let ended = Arc::clone(&ended);
            async move {
                stop.cancelled().await;
                ended.fetch_add(1, Ordering::SeqCst);
            }
        });
    }
    connections.end_all().await;
    assert_eq!(ended.load(Ordering::SeqCst), 3);
}

/// What an operator asked for is done to its end, also when they went away.
#[tokio::test]
async fn what_was_begun_is_seen_through() {
    let world = World::new().await;
    let connections = Connections::new(world.control.clone());
    let done = Arc::new(AtomicU32::new(0));
    let (begun, end) = (Arc::clone(&done), CancellationToken::new());
    let go_on = end.clone();
    let work = async move {
        go_on.cancelled().await;
        begun.fetch_add(1, Ordering::SeqCst);
        Ok(())
    };
    let asker = tokio::time::timeout(Duration::from_millis(20), connections.see_through(work));
    assert!(asker.await.is_err(), "the asker does not wait for it");
    end.cancel();
    eventually("it is done all the same", || done.load(Ordering::SeqCst) == 1).await;
    let failed = connections.see_through(async { panic!("inside") as Result<(), _> }).await;
    assert_eq!(failed.unwrap_err().code(), ErrorCode::Internal);
}

#[tokio::test]
async fn a_bot_is_there_from_when_it_can_be_worked_with() {
    let bots: Bots<String> = Bots::default();
    let id = ConnectorId::from_number(1);
    let place = bots.place(id);
    assert!(bots.get(id).is_none());
    place.set(Arc::new("bot".to_owned())).unwrap();
    assert_eq!(bots.get(id).unwrap().as_str(), "bot");
    assert_eq!(bots.list().len(), 1);
    assert_eq!(bots.take(id).unwrap().as_str(), "bot");
    assert!(bots.get(id).is_none() && bots.list().is_empty());
}

#[tokio::test]
async fn an_account_that_is_not_there_is_named_with_what_to_do() {
    let world = World::new().await;
    let error = world.control.connector_of("telegram", "@nobody").await.unwrap_err().body();
    assert_eq!(error.code, ErrorCode::NotFound);
    assert!(error.message.contains("@nobody"), "{error:?}");
    assert!(error.fix.unwrap().contains("cloister telegram list"));
}
