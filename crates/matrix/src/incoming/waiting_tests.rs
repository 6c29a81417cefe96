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
    busy.done("!other");
    assert!(!busy.has_hand_for_more(), "nothing new came there: it rests");
    busy.done("!slow");
    assert!(busy.has_hand_for_more(), "something came while it was busy");
    assert_eq!(busy.take_more().into_iter().collect::<Vec<_>>(), ["!slow"]);
}

/// Rooms that no hand was free for get their turn, and those that were just tried do not take it from them.
#[test]
fn with_more_rooms_than_hands_each_gets_its_turn_once() {
    let mut busy = Busy::default();
    let rooms: Vec<String> = (0..ROOMS_AT_ONCE).map(|n| format!("!{n}")).collect();
    assert!(rooms.iter().all(|room| busy.begin(room)));
    assert!(!busy.begin("!late") && !busy.has_hand_for_more());
    busy.done("!0");
    assert!(busy.has_hand_for_more());
    let more = busy.take_more();
    assert!(more.contains("!late") && !more.contains("!0"));
    assert!(busy.begin("!late"));
    for room in &rooms {
        busy.done(room);
    }
    busy.done("!late");
    assert!(!busy.has_hand_for_more(), "all rest until everything is looked at");
}
