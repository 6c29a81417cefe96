use matrix_sdk::ruma::api::error::FromHttpResponseError;
use matrix_sdk::ruma::api::{EndpointError as _, client::uiaa::UiaaResponse};
use matrix_sdk::ruma::exports::http;

use super::*;

/// An answer of a server as the SDK gives it.
fn answer(status: u16, body: &str, retry_after: Option<&str>) -> Error {
    let mut response = http::Response::builder().status(status);
    if let Some(after) = retry_after {
        response = response.header("Retry-After", after);
    }
    let response = response.body(body.as_bytes().to_vec()).expect("a response");
    let error = UiaaResponse::from_http_response(response);
    Error::Http(Box::new(HttpError::Api(Box::new(FromHttpResponseError::Server(error)))))
}

fn meant(status: u16, body: &str, retry_after: Option<&str>) -> SendError {
    meaning(&answer(status, body, retry_after), Duration::from_secs(1_000_000))
}

/// X11: a server that asks to wait is waited for as long as it says.
#[test]
fn a_rate_limit_says_how_long_to_wait() {
    let body = r#"{"errcode":"M_LIMIT_EXCEEDED","error":"slow","retry_after_ms":1500}"#;
    assert_eq!(meant(429, body, None), SendError::Wait(Duration::from_millis(1500)));
    let header = r#"{"errcode":"M_LIMIT_EXCEEDED","error":"slow"}"#;
    assert_eq!(meant(429, header, Some("7")), SendError::Wait(Duration::from_secs(7)));
    assert_eq!(meant(429, header, None), SendError::Wait(DEFAULT_WAIT));
    let forever = r#"{"errcode":"M_LIMIT_EXCEEDED","error":"x","retry_after_ms":99999999999}"#;
    assert_eq!(meant(429, forever, None), SendError::Wait(LONGEST_WAIT));
}

#[test]
fn a_room_that_is_closed_to_us_is_gone_and_a_server_that_is_down_is_not() {
    let forbidden = r#"{"errcode":"M_FORBIDDEN","error":"not in room"}"#;
    assert!(matches!(meant(403, forbidden, None), SendError::Gone(_)));
    let missing = r#"{"errcode":"M_NOT_FOUND","error":"no room"}"#;
    assert!(matches!(meant(404, missing, None), SendError::Gone(_)));
    let large = r#"{"errcode":"M_TOO_LARGE","error":"event too large"}"#;
    assert!(matches!(meant(413, large, None), SendError::Refused(_)));
    let token = r#"{"errcode":"M_UNKNOWN_TOKEN","error":"logged out"}"#;
    assert!(matches!(meant(401, token, None), SendError::Unreachable(_)));
    for status in [500, 502, 503, 504] {
        assert!(matches!(meant(status, "<html>busy</html>", None), SendError::Unreachable(_)));
    }
}

/// X1: an id is made of connector, conversation and key alone, and no two acts share one.
#[test]
fn transaction_ids_are_stable_short_and_apart() {
    let id = transaction(&["1", "2", "post", "t-m12/0"]);
    assert_eq!(id, transaction(&["1", "2", "post", "t-m12/0"]));
    assert!(id.as_str().len() <= 64 && id.as_str().chars().all(|c| c.is_ascii_hexdigit()));
    let others = [
        transaction(&["1", "2", "edit", "t-m12/0"]),
        transaction(&["2", "2", "post", "t-m12/0"]),
        transaction(&["1", "22", "post", "t-m12/0"]),
        transaction(&["12", "2", "post", "t-m12/0"]),
        transaction(&["1", "2", "post", "t-m12/1"]),
        transaction(&["1", "2", "postt-m12/0"]),
    ];
    assert!(others.iter().all(|other| *other != id));
}
