use cloister_protocol::surface::SendError;

use super::{Fault, codes, with_fields};

fn answered(status: u16, body: &str) -> Fault {
    Fault::of_answer(status, body.as_bytes())
}

#[test]
fn each_answer_means_one_thing() {
    let unknown = r#"{"code": 10003, "message": "Unknown Channel"}"#;
    assert!(matches!(answered(404, unknown).for_sending(), SendError::Gone(_)));
    let blocked = r#"{"code": 50007, "message": "Cannot send messages to this user"}"#;
    assert!(matches!(answered(403, blocked).for_sending(), SendError::Gone(_)));
    let empty = r#"{"code": 50006, "message": "Cannot send an empty message"}"#;
    assert!(matches!(answered(400, empty).for_sending(), SendError::Refused(_)));
    let ours = r#"{"code": 0, "message": "401: Unauthorized"}"#;
    assert_eq!(answered(401, ours), Fault::Unauthorized);
    assert!(matches!(Fault::Unauthorized.for_sending(), SendError::Unreachable(_)));
    let theirs = r#"{"code": 0, "message": "500: Internal Server Error"}"#;
    assert!(matches!(answered(503, theirs).for_sending(), SendError::Unreachable(_)));
}

/// Some refusals name the wrong fields and nothing else: they are refusals all the same.
#[test]
fn a_refusal_in_few_words_is_one() {
    for words in
        [r#"{"content": ["Must be 2000 or fewer in length."]}"#, r#"{"message": "no"}"#, "{}"]
    {
        let fault = answered(400, words);
        assert!(matches!(fault.for_sending(), SendError::Refused(_)), "{words}");
    }
    assert!(matches!(answered(404, "{}").for_sending(), SendError::Gone(_)));
}

/// A page of whatever stands before Discord says nothing about what was asked.
#[test]
fn what_is_no_answer_of_discords_may_pass() {
    for status in [301, 400, 403, 404, 502] {
        let fault = answered(status, "<html>cloudflare</html>");
        assert!(matches!(fault, Fault::Unreachable(_)), "{status}: {fault:?}");
    }
}

/// A token of an interaction that has run out is not the bot's own.
#[test]
fn an_interaction_that_is_over_does_not_log_the_bot_out() {
    let over = r#"{"code": 50027, "message": "Invalid Webhook Token"}"#;
    let fault = answered(401, over);
    assert!(matches!(fault, Fault::Gone { .. }), "{fault:?}");
    assert_eq!(fault.code(), Some(codes::INVALID_WEBHOOK_TOKEN));
}

#[test]
fn what_is_wrong_with_a_request_is_said() {
    let body =
        br#"{"code": 50035, "message": "Invalid Form Body", "errors": {"content": {"_errors":
        [{"code": "BASE_TYPE_MAX_LENGTH", "message": "Must be 2000 or fewer in length."}]}}}"#;
    let said = with_fields("Invalid Form Body", body);
    assert_eq!(said, "Invalid Form Body: Must be 2000 or fewer in length.");
}
