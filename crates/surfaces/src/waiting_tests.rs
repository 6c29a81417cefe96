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
