use serde_json::{Value, json};

use super::*;

fn us() -> Us {
    Us { id: 900, username: Some("cloister_bot".to_owned()), commands: Default::default() }
}

fn message(raw: Value) -> Message {
    serde_json::from_value(raw).unwrap()
}

fn said(text: &str, kind: &str, offset: usize, length: usize) -> Addressed {
    let entities = json!([{"type": kind, "offset": offset, "length": length}]);
    addressed(&message(json!({"message_id": 1, "text": text, "entities": entities})), &us())
}

/// X5, I3: in a group only what is meant for the bot is looked at.
#[test]
fn a_group_speaks_to_us_by_name_reply_or_command() {
    assert_eq!(said("hello there", "bold", 0, 5), Addressed::No);
    assert_eq!(said("@cloister_bot hello", "mention", 0, 13), Addressed::ToUs);
    assert_eq!(said("hello @Cloister_Bot", "mention", 6, 13), Addressed::ToUs);
    assert_eq!(said("👋🏽 @cloister_bot", "mention", 5, 13), Addressed::ToUs, "UTF-16 units");
    assert_eq!(said("@cloister_bot2 hello", "mention", 0, 14), Addressed::No);
    assert_eq!(said("/status", "bot_command", 0, 7), Addressed::Command);
    assert_eq!(said("/status@cloister_bot", "bot_command", 0, 20), Addressed::ToUs);
    assert_eq!(said("/status@other_bot", "bot_command", 0, 17), Addressed::ToAnother);
    assert_eq!(said("say /status", "bot_command", 4, 7), Addressed::No, "in the midst of words");
    // Written like a name, and none: Telegram did not mark it.
    let unmarked = message(json!({"message_id": 1, "text": "@cloister_bot hello"}));
    assert_eq!(addressed(&unmarked, &us()), Addressed::No);
    let captioned = message(json!({"message_id": 1, "caption": "@cloister_bot look",
        "caption_entities": [{"type": "mention", "offset": 0, "length": 13}]}));
    assert_eq!(addressed(&captioned, &us()), Addressed::ToUs);
    let by_number = message(json!({"message_id": 1, "text": "Clo hi", "entities":
        [{"type": "text_mention", "offset": 0, "length": 3, "user": {"id": 900}}]}));
    assert_eq!(addressed(&by_number, &us()), Addressed::ToUs);
}

#[test]
fn a_reply_to_us_is_to_us_and_a_topic_of_ours_is_not() {
    let reply = |from: i64, more: Value| {
        let mut earlier = json!({"message_id": 5, "from": {"id": from, "is_bot": true}});
        if let (Some(earlier), Some(more)) = (earlier.as_object_mut(), more.as_object()) {
            earlier.extend(more.clone());
        }
        let raw = json!({"message_id": 9, "text": "yes", "message_thread_id": 5,
            "is_topic_message": true, "reply_to_message": earlier});
        addressed(&message(raw), &us())
    };
    assert_eq!(reply(900, json!({"message_id": 6})), Addressed::ToUs);
    assert_eq!(reply(901, json!({"message_id": 6})), Addressed::No);
    assert_eq!(reply(900, json!({"forum_topic_created": {"name": "x"}})), Addressed::No);
}

#[test]
fn our_name_is_taken_off() {
    for (text, expected) in [
        ("@cloister_bot hello", "hello"),
        ("@Cloister_Bot, hello", "hello"),
        ("hello @cloister_bot", "hello"),
        ("/new@cloister_bot Taxes 2026", "/new Taxes 2026"),
        ("/new@other_bot", "/new@other_bot"),
        ("mail me at a@cloister_bot now", "mail me at a@cloister_bot now"),
        ("@cloister_bot", ""),
    ] {
        assert_eq!(without_us(text, &us()), expected);
    }
}
