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
