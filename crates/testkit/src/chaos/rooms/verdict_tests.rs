//! The count is worth what it finds: each broken promise is planted.

use super::{ANNOUNCED, RoomsVerdict};

/// What is found when two things were said and the bot wrote this.
fn found(answers: &[&str]) -> RoomsVerdict {
    let said = ["u0 message 0 of a room", "u0 message 1 of a room"].map(str::to_owned);
    let mut shown = vec!["Welcome. !help says what you can say.".to_owned()];
    shown.extend(answers.iter().map(|text| (*text).to_owned()));
    let mut verdict = RoomsVerdict::default();
    verdict.count_room("!r", &said, &shown);
    verdict
}

const FIRST: &str = "echo: u0 message 0 of a room";
const SECOND: &str = "echo: u0 message 1 of a room";

#[test]
fn all_is_well() {
    let verdict = found(&[FIRST, SECOND]);
    assert!(verdict.holds(), "{verdict:?}");
    assert_eq!((verdict.rooms, verdict.messages), (1, 2));
}

#[test]
fn what_is_wrong_is_found() {
    assert_eq!(found(&[FIRST]).lost, 1);
    assert_eq!(found(&[FIRST, SECOND, SECOND]).doubled, 1);
    assert_eq!(found(&[SECOND, FIRST]).disordered, 1);
    assert_eq!(found(&[FIRST, SECOND, "echo: u0 mess"]).strange, 1);
    assert_eq!(found(&[FIRST, SECOND, "echo:"]).strange, 1);
    for wrong in
        [&[FIRST][..], &[SECOND, FIRST], &[FIRST, FIRST, SECOND], &[FIRST, SECOND, "echo:"]]
    {
        assert!(!found(wrong).holds());
    }
}

/// A platform that can't tell is no excuse: only what says so may be there again.
#[test]
fn a_repetition_is_announced() {
    let announced = found(&[FIRST, ANNOUNCED, FIRST, SECOND]);
    assert!(announced.holds() && announced.announced == 1, "{announced:?}");
    let late = found(&[FIRST, FIRST, ANNOUNCED, SECOND]);
    assert_eq!((late.doubled, late.announced), (1, 0));
}

#[test]
fn silence_is_not_success() {
    let mut verdict = RoomsVerdict::default();
    verdict.count_room("!r", &[], &[]);
    assert!(!verdict.holds());
}
