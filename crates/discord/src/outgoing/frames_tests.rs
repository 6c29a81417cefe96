use super::*;

#[test]
fn what_was_seen_holds_for_a_while() {
    let (frames, now) = (Frames::default(), Instant::now());
    assert_eq!(frames.are_shown(1, now), None);
    frames.note(1, false, now);
    assert_eq!(frames.are_shown(1, now), Some(false));
    assert_eq!(frames.are_shown(2, now), None);
    assert_eq!(frames.are_shown(1, now + HOLDS), None, "permissions change");
    frames.note(1, true, now + HOLDS);
    assert_eq!(frames.are_shown(1, now + HOLDS), Some(true));
}
