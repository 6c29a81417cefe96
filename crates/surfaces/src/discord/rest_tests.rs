use std::time::{Duration, Instant};

use cloister_control::ports::SendError;
use twilight_http::api_error::ApiError;

use super::{ApiUrl, Departures, Fault, codes, with_fields};

fn answered(status: u16, body: &str) -> Fault {
    let error: ApiError = serde_json::from_str(body).expect("an error of Discord's");
    Fault::of_answer(status, &error, body.as_bytes())
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

/// A token of an interaction that has run out is not the bot's own.
#[test]
fn an_interaction_that_is_over_does_not_log_the_bot_out() {
    let over = r#"{"code": 50027, "message": "Invalid Webhook Token"}"#;
    let fault = answered(401, over);
    assert!(matches!(fault, Fault::Gone { .. }), "{fault:?}");
    assert_eq!(fault.code(), Some(codes::INVALID_WEBHOOK_TOKEN));
}

#[test]
fn too_fast_says_how_long_to_wait() {
    let limited =
        r#"{"message": "You are being rate limited.", "retry_after": 1.5, "global": false}"#;
    assert_eq!(answered(429, limited), Fault::Wait(Duration::from_millis(1500)));
    let forever = r#"{"message": "slow down", "retry_after": 1e300, "global": true}"#;
    assert!(
        matches!(answered(429, forever), Fault::Wait(wait) if wait <= Duration::from_secs(3600))
    );
}

#[test]
fn what_is_wrong_with_a_request_is_said() {
    let body =
        br#"{"code": 50035, "message": "Invalid Form Body", "errors": {"content": {"_errors":
        [{"code": "BASE_TYPE_MAX_LENGTH", "message": "Must be 2000 or fewer in length."}]}}}"#;
    let said = with_fields("Invalid Form Body", body);
    assert_eq!(said, "Invalid Form Body: Must be 2000 or fewer in length.");
}

#[test]
fn an_address_is_taken_apart() {
    let api = ApiUrl::parse("http://127.0.0.1:4000/").expect("an address");
    assert_eq!((api.host.as_str(), api.plain), ("127.0.0.1:4000", true));
    let api = ApiUrl::parse("https://proxy.example.org/discord/api").expect("an address");
    assert_eq!((api.host.as_str(), api.plain), ("proxy.example.org/discord", false));
    assert_eq!(api.origin(), "https://proxy.example.org");
    for wrong in ["", "discord.com", "http://", "http://a b", "http://x@y", "ws://x"] {
        assert!(ApiUrl::parse(wrong).is_none(), "{wrong}");
    }
}

/// X11: a limit for everything is waited for, whatever the client would do.
#[test]
fn what_was_too_fast_is_not_sent_again_at_once_nor_for_ever() {
    let departures = Departures { sent: Default::default(), last: Default::default() };
    let now = Instant::now();
    assert!(departures.may_leave(now));
    assert!(!departures.may_leave(now + Duration::from_millis(20)), "nobody held it back");
    let mut later = now;
    let sent = (0..10).filter(|_| {
        later += Duration::from_secs(2);
        departures.may_leave(later)
    });
    assert_eq!(sent.count(), 2, "three times in all");
}
