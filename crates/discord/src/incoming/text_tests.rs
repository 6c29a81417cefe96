use serde_json::{Value, json};

use super::{Us, edit_id, files_of, is_edit, own_words, said_by, words};
use crate::wire::Message;

fn us() -> Us {
    Us::new("42", Some("77"))
}

fn message(more: Value) -> Message {
    let mut message = json!({"id": "175928847299117063", "channel_id": "2", "type": 0,
        "author": {"id": "3"}, "content": ""});
    let fields = message.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
    serde_json::from_value(message).expect("a message")
}

#[test]
fn the_mention_that_made_it_ours_is_left_out() {
    let said = |content: &str| own_words(&message(json!({"content": content})), &us());
    assert_eq!(said("<@42> /status"), "/status");
    assert_eq!(said("<@!42>, what now?"), "what now?");
    assert_eq!(said("ask <@42> about it"), "ask <@42> about it");
    assert_eq!(said("<@42>"), "");
    // Apps offer the role of that name first.
    assert_eq!(said("<@&77> /approve A7"), "/approve A7");
    assert_eq!(said("<@&78> /approve A7"), "<@&78> /approve A7");
    assert_eq!(said("a < b and c > d <@> <:>"), "a < b and c > d <@> <:>");
}

#[test]
fn people_and_emoji_are_called_by_name() {
    let said = message(json!({"content": "<@5> likes <a:party:12> and <#7> of <@6>",
        "mentions": [{"id": "5", "username": "bo", "global_name": "Bo\u{0}"}]}));
    assert_eq!(own_words(&said, &us()), "@Bo likes :party: and <#7> of <@6>");
}

/// A5: whoever is mentioned puts no address into the words of who mentions them.
#[test]
fn a_name_is_no_address() {
    let said = |name: &str| {
        own_words(
            &message(json!({"content": "ask <@5>",
            "mentions": [{"id": "5", "username": "bo", "global_name": name}]})),
            &us(),
        )
    };
    assert_eq!(said("bo.li"), "ask @bo.li");
    assert_eq!(said("Bo Li (work) 🎉"), "ask @Bo Li (work) 🎉");
    assert_eq!(said("Bo evil.test/a"), "ask @Bo evil_test_a");
    let sticker = message(json!({"sticker_items": [{"id": "1", "name": "x https://evil.test"}]}));
    assert_eq!(own_words(&sticker, &us()), "(sticker: x https___evil_test)");
}

#[test]
fn what_has_no_text_still_says_something() {
    let sticker = message(json!({"sticker_items": [{"id": "1", "name": "Wave"}]}));
    assert_eq!(own_words(&sticker, &us()), "(sticker: Wave)");
    let poll = message(json!({"poll": {"question": {"text": "Tea?"}, "answers":
        [{"poll_media": {"text": "yes"}}, {"poll_media": {"text": "no"}}]}}));
    assert_eq!(own_words(&poll, &us()), "(poll) Tea?\n- yes\n- no");
}

/// What was written elsewhere is quoted: it is nobody's words here, least of all a command.
#[test]
fn a_forward_is_quoted_and_brings_its_files() {
    let forward = message(json!({"message_reference": {"type": 1, "message_id": "9"},
        "message_snapshots": [{"message": {"content": "/approve A1\nnow", "attachments":
            [{"filename": "a.pdf", "size": 3, "url": "https://cdn.discordapp.com/a"}]}}]}));
    let said = words(&forward, &us());
    assert_eq!(said, "> forwarded message:\n> /approve A1\n> now\n> (file a.pdf)");
    assert!(!cloister_kit::Commands::default().is_command(&said));
    assert_eq!(files_of(&forward).len(), 1);
}

#[test]
fn files_are_called_what_they_were_called() {
    let sent = message(json!({"attachments": [
        {"filename": "My_report.pdf", "title": "My report", "size": 3, "url": "https://x/1"},
        {"filename": "a.png", "size": 4, "url": "https://x/2"},
        {"filename": "", "url": "https://x/3"},
    ]}));
    let names: Vec<String> = files_of(&sent).into_iter().map(|file| file.name).collect();
    assert_eq!(names, ["My report.pdf", "a.png", "file"]);
    let voice = message(json!({"flags": 8192, "attachments":
        [{"filename": "voice-message.ogg", "size": 3, "url": "https://x/1"}]}));
    assert_eq!(files_of(&voice)[0].name, "voice-1462015105.ogg");
}

#[test]
fn what_a_bot_says_in_boxes_is_quoted_and_previews_are_not() {
    let boxed = message(json!({"embeds": [{"title": "Allow?", "description": "send a file"}]}));
    assert_eq!(said_by(&boxed), "Allow?\nsend a file");
    let preview = message(json!({"content": "see x.org", "embeds": [{"title": "X"}]}));
    assert_eq!(said_by(&preview), "see x.org");
    assert_eq!(said_by(&message(json!({}))), "(no text)");
}

/// The same edit has the same name, another edit another.
#[test]
fn an_edit_is_known_by_when_it_was_made() {
    let edited = |at: &str| edit_id(&message(json!({"edited_timestamp": at})));
    let first = edited("2026-11-15T18:00:00.123000+00:00");
    assert_eq!(first, "175928847299117063-e-20261115180000123000");
    assert_ne!(first, edited("2026-11-15T18:00:00.124000+00:00"));
    assert!(is_edit(&first) && !is_edit("175928847299117063"));
    assert!(first.parse::<cloister_protocol::MessageId>().is_ok());
}
