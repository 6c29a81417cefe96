use std::time::Duration;

use super::*;

fn chunk(seq: u32, text: &str) -> TextChunk {
    TextChunk { turn: "t-m1".parse().unwrap(), seq, text: text.to_owned() }
}

fn text(desk: &Desk) -> Option<String> {
    let turn = desk.turns().first()?;
    turn.is_legible().then(|| turn.text.clone())
}

/// A8
#[test]
fn chunks_make_a_text_that_starts_anew_when_it_is_told_to() {
    let (mut desk, now) = (Desk::default(), Instant::now());
    desk.add(1, &chunk(0, "one "), now);
    desk.add(1, &chunk(1, "two"), now);
    assert_eq!(text(&desk).as_deref(), Some("one two"));
    desk.restart(1);
    assert_eq!(text(&desk), None);
    desk.add(1, &chunk(0, "three"), now);
    assert_eq!(text(&desk).as_deref(), Some("three"));
    desk.ended(1);
    assert!(desk.is_idle());
}

#[test]
fn a_text_with_a_hole_is_not_shown_until_it_is_sent_again() {
    let (mut desk, now) = (Desk::default(), Instant::now());
    desk.add(1, &chunk(3, "from the middle"), now);
    assert_eq!(text(&desk), None);
    desk.add(1, &chunk(0, "from "), now);
    desk.add(1, &chunk(2, "nowhere"), now);
    assert_eq!(text(&desk), None);
    desk.add(1, &chunk(0, "from the start"), now);
    assert_eq!(text(&desk).as_deref(), Some("from the start"));
}

#[test]
fn what_is_kept_is_bounded() {
    let (mut desk, now) = (Desk::default(), Instant::now());
    for row in 0..1000 {
        desk.sign(row, now);
    }
    assert_eq!(desk.turns().len(), MOST_TURNS);
    let piece = "x".repeat(1000);
    for seq in 0..1000 {
        desk.add(999, &chunk(seq, &piece), now);
    }
    let kept = desk.turns().last().map_or(0, |turn| turn.text.len());
    assert!(kept <= MOST_TEXT + 1000, "{kept}");
}

/// A8: what shows no sign of life is not shown as being worked on for ever.
#[test]
fn a_turn_of_which_nothing_is_heard_is_forgotten() {
    let (mut desk, now, pace) = (Desk::default(), Instant::now(), Pace::default());
    desk.sign(1, now);
    desk.sign(2, now + Duration::from_secs(300));
    assert_eq!(desk.busy_until(&pace), Some(now + Duration::from_secs(300) + pace.typing_most));
    assert!(!desk.expire(now + pace.typing_most - Duration::from_secs(1), &pace));
    assert!(desk.expire(now + pace.typing_most, &pace));
    assert_eq!(desk.turns().len(), 1);
    assert!(desk.expire(now + pace.typing_most * 2, &pace));
    assert!(desk.is_idle());
}
