use super::*;

/// A8, X6: what is being written is shown at most four times in five seconds, and an end is never held up.
#[test]
fn what_is_unfinished_leaves_room_for_what_is_not() {
    let (pace, start) = (Pace::default(), Instant::now());
    let at = |ms: u64| start + Duration::from_millis(ms);
    for ms in [0, 100, 200, 300] {
        assert_eq!(pace.rest(1, at(ms)), None);
        pace.note(1, at(ms));
    }
    assert_eq!(pace.rest(1, at(1000)), Some(Duration::from_millis(4000)));
    assert_eq!(pace.rest(2, at(1000)), None, "another channel does not wait");
    // An end was sent all the same.
    pace.note(1, at(1000));
    assert_eq!(pace.rest(1, at(1000)), Some(Duration::from_millis(4100)));
    assert_eq!(pace.rest(1, at(5100)), None);
    assert_eq!(pace.rest(1, at(60_000)), None);
}

#[test]
fn channels_are_forgotten_when_there_are_too_many() {
    let (pace, start) = (Pace::default(), Instant::now());
    for channel in 0..(MOST_CHANNELS as u64) {
        pace.note(channel, start);
    }
    pace.note(u64::MAX, start + WINDOW);
    assert!(pace.sent.lock().unwrap().len() < 10);
}
