use serde_json::json;

use super::{Interaction, Message, made_at, snowflake, snowflake_at, snowflake_since, unix_ms};

fn message(value: serde_json::Value) -> Message {
    serde_json::from_value(value).expect("a message")
}

/// Bots, webhooks and Discord itself are nobody: to answer them is to begin a loop, or worse.
#[test]
fn only_people_write_messages() {
    let person = json!({"id": "1", "channel_id": "2", "type": 0, "author": {"id": "3"}});
    assert!(message(person.clone()).is_by_a_person());
    for change in [
        json!({"author": {"id": "3", "bot": true}}),
        json!({"author": {"id": "3", "system": true}}),
        json!({"webhook_id": "9"}),
        json!({"type": 6}),
        json!({"type": 20}),
        json!({"author": null}),
    ] {
        let mut changed = person.clone();
        let fields = changed.as_object_mut().expect("an object");
        fields.extend(change.as_object().expect("an object").clone());
        assert!(!message(changed).is_by_a_person(), "{change}");
    }
}

#[test]
fn a_forward_is_no_reply() {
    let reply = json!({"id": "1", "channel_id": "2", "type": 19,
        "message_reference": {"type": 0, "message_id": "5"}});
    assert!(message(reply).replies_to().is_some());
    let forward = json!({"id": "1", "channel_id": "2", "type": 0,
        "message_reference": {"type": 1, "message_id": "5"}});
    let forward = message(forward);
    assert!(forward.is_forward() && forward.replies_to().is_none());
}

#[test]
fn a_message_that_waits_is_read_again_as_it_was() {
    let kept = json!({"id": "1", "channel_id": "2", "type": 19, "content": "hi", "guild_id": "7",
        "author": {"id": "3", "username": "ada"}, "mentions": [{"id": "4", "username": "bot"}],
        "attachments": [{"filename": "a.png", "size": 12, "url": "https://cdn.discordapp.com/a.png"}],
        "message_reference": {"message_id": "5"}, "referenced_message":
        {"id": "5", "channel_id": "2", "content": "what?", "author": {"id": "4"}}});
    let before = message(kept);
    let again = message(serde_json::to_value(&before).expect("JSON"));
    assert_eq!(format!("{before:?}"), format!("{again:?}"));
    assert_eq!(again.attachments.len(), 1);
}

/// Who interacts is whom Discord vouches for: in a server the member, else the user.
#[test]
fn an_interaction_is_by_one_account_and_does_not_print_its_token() {
    let asked: Interaction = serde_json::from_value(json!({
        "id": "1", "token": "very-secret", "type": 2, "channel": {"id": "9", "type": 0},
        "member": {"user": {"id": "3"}}, "data": {"name": "status"}
    }))
    .expect("an interaction");
    assert_eq!(asked.by().map(|account| account.id.as_str()), Some("3"));
    assert_eq!(asked.place(), Some("9"));
    assert!(!format!("{asked:?}").contains("very-secret"));
}

#[test]
fn snowflakes_are_numbers_that_say_when() {
    assert_eq!(snowflake("175928847299117063"), Some(175_928_847_299_117_063));
    for wrong in ["", "0", "-1", "12a", "999999999999999999999", "１２"] {
        assert_eq!(snowflake(wrong), None, "{wrong}");
    }
    assert_eq!(made_at(175_928_847_299_117_063), 1_462_015_105_796);
    assert_eq!(made_at(snowflake_at(1_462_015_105_796)), 1_462_015_105_796);
    assert_eq!(snowflake_at(0), 1, "before the first of them");
}

/// A time is read as Discord writes it, whatever the zone.
#[test]
fn a_time_is_read_as_discord_writes_it() {
    for (time, ms) in [
        ("1970-01-01T00:00:00Z", 0),
        ("2016-04-30T11:18:25.796000+00:00", 1_462_015_105_796),
        ("2016-04-30T13:18:25.796+02:00", 1_462_015_105_796),
        ("2016-04-30T06:48:25.796-04:30", 1_462_015_105_796),
        ("2024-02-29T23:59:59.9Z", 1_709_251_199_900),
        ("2000-03-01T00:00:00+00:00", 951_868_800_000),
    ] {
        assert_eq!(unix_ms(time), Some(ms), "{time}");
    }
    for wrong in ["", "now", "2016-04-30", "2016-13-01T00:00:00Z", "2016-04-30T11:18:25", "é-T:Z"]
    {
        assert_eq!(unix_ms(wrong), None, "{wrong}");
    }
    assert_eq!(snowflake_since("2016-04-30T11:18:25.796Z"), Some(snowflake_at(1_462_015_105_796)));
}
