use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::Crew;

const SHORT: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn who_does_not_stop_in_time_is_named() {
    let stop = CancellationToken::new();
    let crew = Crew::new(stop.clone());
    crew.go("stubborn", std::future::pending());
    crew.go("stubborn", std::future::pending());
    let minded = stop.clone();
    crew.go("mindful", async move { minded.cancelled().await });
    assert_eq!(crew.busy(), ["mindful", "stubborn ×2"]);
    stop.cancel();
    assert_eq!(crew.end(SHORT).await, ["stubborn ×2"]);
}

#[tokio::test(start_paused = true)]
async fn who_falls_over_is_begun_anew_and_counted() {
    let stop = CancellationToken::new();
    let crew = Crew::new(stop.clone());
    let (begun, again) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let (count, told, minded) = (Arc::clone(&begun), Arc::clone(&again), stop.clone());
    crew.keep("keeper", move |_rounds| {
        let (first, told) = (count.fetch_add(1, Ordering::SeqCst) == 0, Arc::clone(&told));
        let stop = minded.clone();
        async move {
            assert!(!first, "the first falls over");
            told.notify_one();
            stop.cancelled().await;
        }
    });
    again.notified().await;
    assert_eq!(begun.load(Ordering::SeqCst), 2);
    assert_eq!(crew.fell(), ["keeper"]);
    assert_eq!(crew.busy(), ["keeper"]);
    stop.cancel();
    assert!(crew.end(SHORT).await.is_empty());
    assert!(crew.busy().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_is_done_once_and_falls_over_takes_nobody_along() {
    let crew = Crew::new(CancellationToken::new());
    crew.go("errand", async { panic!("inside") });
    crew.go("errand", async {});
    assert!(crew.end(SHORT).await.is_empty());
    assert_eq!(crew.fell(), ["errand"]);
}

#[tokio::test(start_paused = true)]
async fn who_goes_round_no_more_is_named() {
    let (stop, hang) = (CancellationToken::new(), Arc::new(Notify::new()));
    let crew = Crew::new(stop.clone());
    let every = Duration::from_secs(60);
    let until = Arc::clone(&hang);
    crew.keep("lively", move |rounds| async move {
        loop {
            rounds.begins(every);
            tokio::time::sleep(every).await;
        }
    });
    crew.keep("stuck", move |rounds| {
        let until = Arc::clone(&until);
        async move {
            rounds.begins(every);
            until.notified().await;
            rounds.begins(every);
            std::future::pending().await
        }
    });
    crew.go("errand", std::future::pending());
    tokio::time::sleep(every * 2).await;
    assert!(crew.late().is_empty(), "a round may be missed");
    tokio::time::sleep(every * 2).await;
    assert_eq!(crew.late(), ["stuck (last seen 240 s ago)"]);
    hang.notify_one();
    tokio::time::sleep(every).await;
    assert!(crew.late().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_somebody_else_waits_for_is_counted_and_its_panic_is_theirs() {
    let crew = Crew::new(CancellationToken::new());
    let mut others = tokio::task::JoinSet::new();
    others.spawn(crew.counted("conversation", std::future::pending::<()>()));
    others.spawn(crew.counted("conversation", async { panic!("inside") }));
    assert_eq!(crew.busy(), ["conversation ×2"]);
    assert!(others.join_next().await.unwrap().unwrap_err().is_panic());
    assert_eq!(crew.fell(), ["conversation"]);
    assert_eq!(crew.busy(), ["conversation"]);
    others.shutdown().await;
    assert!(crew.busy().is_empty());
}
