use super::*;

/// X6, X10: while there is no room for hours, the files of a message are not fetched again every few seconds; what
/// has none is taken as soon as there is.
#[test]
fn what_must_be_fetched_again_waits_longer_each_time() {
    let mut pauses = Pauses::new();
    let (mut waited, mut fetched) = (Duration::ZERO, 0);
    while waited < Duration::from_secs(3 * 60 * 60) {
        let pause = pauses.after(Step::later(WhyWaiting::Busy, true)).unwrap();
        assert!(pause <= FETCH_FOR_NOTHING, "{pause:?}");
        waited += pause;
        fetched += 1;
    }
    assert!(fetched < 100, "{fetched} times in three hours");
    let words = pauses.after(Step::later(WhyWaiting::Busy, false)).unwrap();
    assert_eq!(words, TRY_SOON);
    assert_eq!(pauses.after(Step::Next), Some(Duration::ZERO));
    let first = pauses.after(Step::later(WhyWaiting::Busy, true)).unwrap();
    assert!(first <= Duration::from_secs(1), "the next one has not waited yet: {first:?}");
    assert_eq!(pauses.after(Step::Nothing), None);
}

#[test]
fn a_file_that_can_not_be_had_is_tried_again_within_half_a_minute() {
    let mut pauses = Pauses::new();
    for _ in 0..20 {
        let pause = pauses.after(Step::later(WhyWaiting::NoFile, true)).unwrap();
        assert!(pause <= FETCH_AGAIN, "{pause:?}");
    }
}

/// Issue 13, point 23: a file that does not come holds up what was said after it for seconds, and no longer.
#[test]
fn a_file_that_does_not_come_holds_nobody_for_long() {
    let row = |why, since| WaitingEvent {
        id: 1,
        place: "1".to_owned(),
        event: "2".to_owned(),
        why,
        sealed: None,
        since,
        told: false,
    };
    assert!(!holds_nobody(&row(WhyWaiting::NoFile, 0), FILE_HOLDS_MS));
    assert!(holds_nobody(&row(WhyWaiting::NoFile, 0), FILE_HOLDS_MS + 1));
    assert!(!holds_nobody(&row(WhyWaiting::Busy, 0), FILE_HOLDS_MS + 1));
    assert_eq!(
        Step::Later.holding(true),
        Step::After(LATE_AGAIN),
        "what comes meanwhile waits for that"
    );
    assert_eq!(Step::Later.holding(false), Step::Later);
    assert_eq!(Step::Next.holding(true), Step::Next);
}
