use frankenstein::response::ResponseParameters;

use super::*;

fn answer(code: u64, words: &str) -> ErrorResponse {
    ErrorResponse { ok: false, description: words.to_owned(), error_code: code, parameters: None }
}

#[test]
fn what_telegram_says_is_told_apart() {
    let gone = |words: &str| Fault::Gone(words.to_owned());
    let cases = [
        (401, "Unauthorized", Fault::Unauthorized),
        (404, "Not Found", Fault::Unauthorized),
        (409, "Conflict: terminated by other getUpdates request", Fault::Conflict),
        (
            403,
            "Forbidden: bot was blocked by the user",
            gone("Forbidden: bot was blocked by the user"),
        ),
        (400, "Bad Request: chat not found", gone("Bad Request: chat not found")),
        (400, "Bad Request: message is not modified: specified new", Fault::NotModified),
        (400, "Bad Request: TOPIC_NOT_MODIFIED", Fault::NotModified),
        (400, "Bad Request: message thread not found", Fault::ThreadGone),
    ];
    for (code, words, expected) in cases {
        assert_eq!(Fault::of_answer(&answer(code, words)), expected, "{words}");
    }
    let unknown = Fault::of_answer(&answer(404, "Not Found: method not found"));
    assert!(matches!(unknown, Fault::Refused { code: 404, .. }), "the token is right: {unknown:?}");
    let may_not = Fault::of_answer(&answer(403, "Forbidden: BOT_FORUM_CREATE_FORBIDDEN"));
    assert!(matches!(may_not, Fault::Refused { .. }), "the person is still there: {may_not:?}");
    let parse = Fault::of_answer(&answer(400, "Bad Request: can't parse entities: bad offset"));
    assert!(matches!(parse, Fault::CantParse(_)), "{parse:?}");
    let broken = Fault::of_answer(&answer(502, "Bad Gateway"));
    assert_eq!((broken.kind(), broken.passes()), ("server_error", true));
}

#[test]
fn telegram_says_how_long_to_wait_and_where_a_group_went() {
    let mut flood = answer(429, "Too Many Requests: retry after 7");
    let told =
        |retry_after, migrate_to_chat_id| ResponseParameters { migrate_to_chat_id, retry_after };
    flood.parameters = Some(told(Some(7), None));
    assert_eq!(Fault::of_answer(&flood), Fault::Wait(Duration::from_secs(7)));
    flood.parameters = Some(told(Some(u16::MAX), None));
    assert_eq!(Fault::of_answer(&flood), Fault::Wait(LONGEST_WAIT), "nobody waits for a day");
    let mut moved = answer(400, "Bad Request: group chat was upgraded to a supergroup chat");
    moved.parameters = Some(told(None, Some(-1005)));
    assert_eq!(Fault::of_answer(&moved), Fault::Migrated(-1005));
}

/// X1: a wait of a day, as Telegram asks for after a flood, is a wait: what was refused did not get there.
#[test]
fn a_very_long_wait_is_understood() {
    let read = |input: &str| {
        let source = serde_json::from_str::<ErrorResponse>(input).unwrap_err();
        Fault::of(Error::JsonDecode { source, input: input.to_owned() })
    };
    for wait in ["86400", "86400.5", "1e300"] {
        let input = format!(
            r#"{{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{{"retry_after":{wait}}}}}"#
        );
        assert_eq!(read(&input), Fault::Wait(LONGEST_WAIT), "{wait}");
    }
    let page = read("<html>secret</html>");
    assert!(matches!(&page, Fault::Unreachable(why) if !why.contains("secret")), "{page:?}");
}
