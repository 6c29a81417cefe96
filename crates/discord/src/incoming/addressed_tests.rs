use serde_json::{Value, json};

use super::may_concern;
use crate::wire::Message;

const ME: &str = "42";

fn concerns(more: Value) -> bool {
    let mut message = json!({"id": "1", "channel_id": "2", "guild_id": "7", "type": 0,
        "author": {"id": "3"}, "content": "hello"});
    let fields = message.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
    let message: Message = serde_json::from_value(message).expect("a message");
    may_concern(&message, ME)
}

/// In a channel only what names the agent or answers it is looked at (X6, I3).
#[test]
fn only_a_mention_or_a_reply_is_for_the_agent() {
    assert!(!concerns(json!({})));
    assert!(concerns(json!({"mentions": [{"id": ME}]})));
    assert!(!concerns(json!({"mentions": [{"id": "5"}], "mention_everyone": true})));
    assert!(!concerns(json!({"content": "<@42> as text in a message that mentions nobody"})));
    assert!(concerns(json!({"guild_id": null})), "alone with a person everything is");
    let reply = |to: &str| {
        json!({"type": 19, "message_reference": {"message_id": "9"},
            "referenced_message": {"id": "9", "channel_id": "2", "author": {"id": to}}})
    };
    assert!(concerns(reply(ME)));
    assert!(!concerns(reply("5")));
    assert!(concerns(json!({"mention_roles": ["11"]})), "it may be the bot's own role");
}

#[test]
fn bots_webhooks_and_the_bot_itself_are_nobody() {
    let named = json!([{"id": ME}]);
    assert!(!concerns(json!({"mentions": named, "author": {"id": "3", "bot": true}})));
    assert!(!concerns(json!({"mentions": named, "webhook_id": "8"})));
    assert!(!concerns(json!({"mentions": named, "author": {"id": ME}})));
}
