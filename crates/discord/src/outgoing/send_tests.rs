use super::*;

/// X1: a nonce is made of connector, conversation, key and what is answered alone, and fits.
#[test]
fn nonces_are_stable_short_and_apart() {
    let id = nonce(&["1", "2", "t-m12/0", ""]);
    assert_eq!(id, nonce(&["1", "2", "t-m12/0", ""]));
    assert!(id.len() <= 25 && id.chars().all(|c| c.is_ascii_hexdigit()), "{id}");
    let others = [
        nonce(&["1", "2", "t-m12/1", ""]),
        nonce(&["2", "2", "t-m12/0", ""]),
        nonce(&["12", "", "t-m12/0", ""]),
        nonce(&["1", "2", "t-m12/0", "x"]),
    ];
    assert!(others.iter().all(|other| *other != id));
}

fn gone(code: u64) -> Fault {
    Fault::Gone { code, message: "Unknown".to_owned() }
}

fn forbidden(code: u64) -> Fault {
    Fault::Forbidden { code, message: "no".to_owned() }
}

fn refused(code: u64) -> Fault {
    Fault::Refused { code, message: "no".to_owned() }
}

#[test]
fn what_went_wrong_says_what_is_to_be_done() {
    for fault in [
        gone(10003),
        gone(10004),
        forbidden(50001),
        forbidden(50013),
        forbidden(50007),
        forbidden(50278),
    ] {
        assert!(
            matches!(meaning(fault.clone()), SendError::Gone(why) if !why.is_empty()),
            "{fault:?}"
        );
    }
    assert!(matches!(meaning(Fault::Unauthorized), SendError::Unreachable(_)));
    assert!(matches!(meaning(Fault::Unreachable("500".to_owned())), SendError::Unreachable(_)));
    // An address that whatever stands before Discord does not know.
    assert!(matches!(meaning(gone(0)), SendError::Unreachable(_)));
    let wait = Duration::from_secs(3);
    assert_eq!(meaning(Fault::Wait(wait)), SendError::Wait(wait));
    for fault in [refused(50035), refused(50006), refused(40005), gone(10008)] {
        assert!(matches!(meaning(fault.clone()), SendError::Refused(_)), "{fault:?}");
    }
}

/// What can't be edited any more can be posted anew; a conversation that is gone can't.
#[test]
fn an_edit_that_is_refused_is_not_the_end_of_the_conversation() {
    assert!(matches!(meaning_of_edit(refused(50083)), SendError::Refused(_)));
    assert!(matches!(meaning_of_edit(gone(10008)), SendError::Refused(_)));
    assert!(matches!(meaning_of_edit(gone(10003)), SendError::Gone(_)));
}

/// A server that refuses words or files has not thrown the bot out.
#[test]
fn what_is_refused_for_what_it_says_is_not_the_end_of_the_conversation() {
    assert!(matches!(meaning(forbidden(200_000)), SendError::Refused(_)));
    assert!(matches!(meaning_of_file(forbidden(50013)), SendError::Refused(_)));
    assert!(matches!(meaning_of_file(forbidden(50001)), SendError::Gone(_)));
    let reply = Put::New { nonce: "n", answers: Some("1") };
    let plain = reply.answers_nothing();
    assert!(is_too_fancy(&forbidden(50013), plain) && is_too_fancy(&forbidden(160_002), plain));
    assert!(is_too_fancy(&refused(50035), reply) && !is_too_fancy(&refused(50035), plain));
    assert!(!is_too_fancy(&forbidden(50001), reply) && !is_too_fancy(&Fault::Unauthorized, reply));
}
