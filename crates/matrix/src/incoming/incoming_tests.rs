use std::collections::BTreeMap;
use std::sync::Arc;

use matrix_sdk::deserialized_responses::{
    AlgorithmInfo, DecryptedRoomEvent, DeviceLinkProblem, EncryptionInfo,
};
use matrix_sdk::ruma::serde::Raw;
use matrix_sdk::ruma::user_id;

use super::*;

fn decrypted(state: VerificationState) -> TimelineEventKind {
    let info = EncryptionInfo {
        sender: user_id!("@ada:test").to_owned(),
        sender_device: None,
        forwarder: None,
        algorithm_info: AlgorithmInfo::MegolmV1AesSha2 {
            curve25519_key: String::new(),
            sender_claimed_keys: BTreeMap::new(),
            session_id: None,
        },
        verification_state: state,
    };
    TimelineEventKind::Decrypted(DecryptedRoomEvent {
        event: Raw::from_json_string("{}".to_owned()).unwrap(),
        encryption_info: Arc::new(info),
        unsigned_encryption_info: None,
    })
}

fn plain() -> TimelineEventKind {
    TimelineEventKind::PlainText { event: Raw::from_json_string("{}".to_owned()).unwrap() }
}

/// X3: a homeserver can't speak for a person: not by putting their name on what somebody else encrypted, not by
/// writing in the clear.
#[test]
fn words_of_uncertain_origin_are_not_taken() {
    let words = Heard::Said(heard::Said { text: "!yes".to_owned(), ..heard::Said::default() });
    use VerificationLevel as Level;
    for doubtful in [Level::MismatchedSender, Level::VerificationViolation] {
        let kind = decrypted(VerificationState::Unverified(doubtful));
        assert_eq!(doubt(&kind, &words, true), Some(NOT_CERTAIN));
    }
    for usual in [
        VerificationState::Verified,
        VerificationState::Unverified(Level::UnverifiedIdentity),
        VerificationState::Unverified(Level::UnsignedDevice),
        VerificationState::Unverified(Level::None(DeviceLinkProblem::InsecureSource)),
    ] {
        assert_eq!(doubt(&decrypted(usual), &words, true), None);
    }
    assert_eq!(doubt(&plain(), &words, true), Some(IN_THE_CLEAR));
    assert_eq!(doubt(&plain(), &words, false), None);
    assert_eq!(doubt(&plain(), &Heard::Moved, true), None, "state is never encrypted");
}

/// X11: the same is not said again and again, and is said again after a while, also after a clock went back.
#[test]
fn what_was_said_lately_is_not_said_again() {
    let memory = Memory::default();
    let first = |now| memory.first_in("a".to_owned(), MINUTE, now);
    assert!(first(100_000));
    assert!(!first(100_001));
    assert!(!first(159_999));
    assert!(first(160_000));
    assert!(first(50_000), "the clock went back");
    assert!(memory.first_in("b".to_owned(), MINUTE, 50_000), "something else");
}

/// X10: a file that can't be had is given up after a while; that the homeserver is away does not count.
#[test]
fn patience_with_a_file_ends() {
    let memory = Memory::default();
    for _ in 0..1000 {
        assert!(memory.patience_left("$a:test", 0));
    }
    let tries = (0..100).take_while(|_| memory.patience_left("$a:test", 1)).count();
    assert_eq!(tries, 11);
    assert!(memory.patience_left("$a:test", 1), "sent again, it begins anew");
}
