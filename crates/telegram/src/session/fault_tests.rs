use serde_json::{Value, json};

use super::*;

fn read(code: u64, words: &str, parameters: Value) -> Fault {
    let answer =
        json!({"ok": false, "error_code": code, "description": words, "parameters": parameters});
    Fault::of_answer(&answer.to_string())
}

fn answer(code: u64, words: &str) -> Fault {
    read(code, words, Value::Null)
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
        assert_eq!(answer(code, words), expected, "{words}");
    }
    let unknown = answer(404, "Not Found: method not found");
    assert!(matches!(unknown, Fault::Refused { code: 404, .. }), "the token is right: {unknown:?}");
    let may_not = answer(403, "Forbidden: BOT_FORUM_CREATE_FORBIDDEN");
    assert!(matches!(may_not, Fault::Refused { .. }), "the person is still there: {may_not:?}");
    let parse = answer(400, "Bad Request: can't parse entities: bad offset");
    assert!(matches!(parse, Fault::CantParse(_)), "{parse:?}");
    let broken = answer(502, "Bad Gateway");
    assert_eq!((broken.kind(), broken.passes()), ("server_error", true));
}

#[test]
fn telegram_says_how_long_to_wait_and_where_a_group_went() {
    let flood =
        |wait: u32| read(429, "Too Many Requests: retry after 7", json!({ "retry_after": wait }));
    assert_eq!(flood(7), Fault::Wait(Duration::from_secs(7)));
    assert_eq!(flood(86_400), Fault::Wait(LONGEST_WAIT), "nobody waits for a day");
    let moved = "Bad Request: group chat was upgraded to a supergroup chat";
    let moved = read(400, moved, json!({ "migrate_to_chat_id": -1005 }));
    assert_eq!(moved, Fault::Migrated(-1005));
}

/// X1: a wait of a day, as Telegram asks for after a flood, is a wait: what was refused did not get there.
#[test]
fn a_very_long_wait_is_understood() {
    for wait in ["86400", "86400.5", "1e300"] {
        let input = format!(
            r#"{{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{{"retry_after":{wait}}}}}"#
        );
        assert_eq!(Fault::of_answer(&input), Fault::Wait(LONGEST_WAIT), "{wait}");
    }
    let page = Fault::of_answer("<html>secret</html>");
    assert!(matches!(&page, Fault::Unreachable(why) if !why.contains("secret")), "{page:?}");
}

/// A server may say with a good status that something was not done.
#[test]
fn an_answer_without_a_result_says_why() {
    let error = serde_json::from_str::<u32>("{}").unwrap_err();
    let told = r#"{"ok":false,"error_code":401,"description":"Unauthorized"}"#;
    assert_eq!(Fault::of_unread(told, &error), Fault::Unauthorized);
    let page = Fault::of_unread("<html>secret</html>", &error);
    assert!(matches!(&page, Fault::Unreachable(why) if !why.contains("secret")), "{page:?}");
}
