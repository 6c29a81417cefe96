use super::*;

/// X3: whoever writes what can't be read is told what to do, in words that fit why.
#[test]
fn what_to_do_depends_on_why() {
    let withheld = |code| UnableToDecryptReason::MissingMegolmSession { withheld_code: Some(code) };
    assert!(what_to_do(&withheld(WithheldCode::Unverified)).contains("Verify"));
    assert!(what_to_do(&withheld(WithheldCode::Blacklisted)).contains("Unblock"));
    assert_eq!(what_to_do(&withheld(WithheldCode::NoOlm)), NO_KEY);
    assert_eq!(what_to_do(&UnableToDecryptReason::UnknownMegolmMessageIndex), NO_KEY);
}

/// A slow file in one room is that room's affair; what comes there meanwhile is looked at when it is done.
#[test]
fn a_room_that_takes_long_holds_up_no_other() {
    let mut busy = Busy::default();
    assert!(busy.begin("!slow") && busy.begin("!other"));
    assert!(!busy.begin("!slow"), "one at a time in a room keeps its order");
    assert!(!busy.done("!other"), "nothing new came there");
    assert!(busy.done("!slow"), "something came while it was busy");
}

#[test]
fn rooms_that_no_hand_was_free_for_are_looked_at_again() {
    let mut busy = Busy::default();
    let rooms: Vec<String> = (0..ROOMS_AT_ONCE).map(|n| format!("!{n}")).collect();
    assert!(rooms.iter().all(|room| busy.begin(room)));
    assert!(!busy.begin("!late"));
    assert!(busy.done("!0") && busy.begin("!late"));
}
