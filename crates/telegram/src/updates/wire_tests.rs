use serde_json::json;

use super::*;

fn update(raw: Value) -> Update {
    serde_json::from_value(raw).unwrap()
}

/// What Telegram invents next must not make a message unreadable.
#[test]
fn what_is_not_known_is_left_out() {
    let raw = json!({"update_id": 5, "message": {
        "message_id": 7, "date": 1, "chat": {"id": 42, "type": "hologram", "colour": "red"},
        "from": {"id": 42, "is_bot": false, "first_name": "Ada", "aura": {}},
        "text": "hi", "entities": [{"type": "shimmer", "offset": 0, "length": 2, "depth": 3}],
        "new_thing": {"a": [1, 2]},
    }});
    let message = update(raw).message.unwrap();
    assert_eq!(message.text.as_deref(), Some("hi"));
    assert_eq!(message.chat.kind, ChatKind::Other);
    assert!(!message.is_private(), "what is not known to be private is not");
    assert_eq!(update(json!({"update_id": 6, "telepathy": {}})).message, None);
    assert_eq!(Update::number(&json!({"update_id": 6, "message": "?"})), Some(6));
}

#[test]
fn a_thread_is_a_topic_only_if_it_says_so() {
    let message = |topic: bool| {
        let raw = json!({"update_id": 1, "message": {
            "message_id": 7, "message_thread_id": 3, "is_topic_message": topic,
            "chat": {"id": -100, "type": "supergroup"}, "date": 1,
            "reply_to_message": {"message_id": 3, "date": 1, "chat": {"id": -100, "type": "supergroup"}},
        }});
        update(raw).message.unwrap()
    };
    assert_eq!(message(true).place(), "-100/3");
    assert!(message(true).reply().is_none(), "that is the topic itself");
    assert_eq!(message(false).place(), "-100");
    assert!(message(false).reply().is_some());
}

#[test]
fn who_is_in_a_chat() {
    let member = |status: &str, is_member| Member { status: status.to_owned(), is_member };
    for there in ["creator", "administrator", "member", "something new"] {
        assert!(member(there, None).is_in(), "{there}");
    }
    assert!(member("restricted", Some(true)).is_in());
    for gone in [member("left", None), member("kicked", None), member("restricted", Some(false))] {
        assert!(!gone.is_in(), "{gone:?}");
    }
}
