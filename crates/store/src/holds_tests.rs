use super::*;

fn held_for(holds: &Holds) -> Option<Duration> {
    let held = holds.longer_than(Duration::ZERO);
    held.into_iter().find(|hold| !hold.waits).map(|hold| hold.since)
}

/// Another program has the database: who has a turn gives up after a while, and the next one is no better off. It is one
/// hold, from the first of them on, until somebody can write again.
#[tokio::test(start_paused = true)]
async fn who_is_shut_out_hands_on_since_when() {
    let holds = Arc::new(Holds::default());
    let wait = |kind| holds.wait(kind, Location::caller()).unwrap();
    let [first, second, third] = [(); 3].map(|()| wait(HoldKind::Writer));
    let seconds = Duration::from_secs;
    first.has_turn();
    tokio::time::advance(seconds(10)).await;
    first.is_shut_out();
    drop(first);
    second.has_turn();
    tokio::time::advance(seconds(2)).await;
    assert_eq!(held_for(&holds), Some(seconds(12)));
    let reader = wait(HoldKind::Reader);
    reader.has_turn();
    let held = holds.longer_than(Duration::ZERO);
    assert!(held.iter().any(|hold| hold.kind == HoldKind::Reader && hold.since.is_zero()));
    drop(reader);
    second.is_shut_out();
    drop(second);
    third.has_turn();
    assert_eq!(held_for(&holds), Some(seconds(12)));
    // This one can write.
    drop(third);
    let next = wait(HoldKind::Writer);
    next.has_turn();
    assert_eq!(held_for(&holds), Some(Duration::ZERO));
}
