use cloister_protocol::surface::{ConnectorId, Conversation, ConversationId};
use cloister_protocol::{ChatId, Language, WorkspaceId};
use serde_json::{Value, json};

use super::*;

pub(in crate::outgoing) fn recipient(kind: ConversationKind, origin: Option<&str>) -> Recipient {
    Recipient {
        conversation: Conversation {
            id: ConversationId::from_number(1),
            connector: ConnectorId::from_number(1),
            external_id: Some("!room".to_owned()),
            workspace: WorkspaceId::from_number(1),
            chat: ChatId::from_number(1),
            kind,
            user: None,
            shown_title: None,
            shown_archived: false,
            broken: None,
        },
        origin: origin.map(str::to_owned),
        language: Language::En,
    }
}

fn json_of(content: &RoomMessageEventContent) -> Value {
    serde_json::to_value(content).expect("JSON")
}

#[test]
fn an_answer_carries_its_markdown_and_its_html_and_rings_no_bell() {
    let to = recipient(ConversationKind::Room, Some(r#"{"event":"$q"}"#));
    let content = message(&to, Written::from_markdown("**Hi** @ann").text(Previews::Never));
    assert_eq!(
        json_of(&content),
        json!({
            "msgtype": "m.text",
            "body": "**Hi** @ann",
            "format": "org.matrix.custom.html",
            "formatted_body": "<p><strong>Hi</strong> @ann</p>",
            "m.mentions": {},
        })
    );
    let notice = json_of(&message(&to, Written::from_markdown("done").notice(Previews::Never)));
    assert_eq!(notice, json!({ "msgtype": "m.notice", "body": "done", "m.mentions": {} }));
}

/// X2: what is asked in a thread is answered in it.
#[test]
fn an_answer_goes_to_the_thread_of_its_question() {
    let origin = Origin { event: "$q".to_owned(), thread: Some("$root".to_owned()) };
    let to = recipient(ConversationKind::Room, Some(&origin.to_json()));
    let content = json_of(&message(&to, Written::from_markdown("x").text(Previews::Never)));
    assert_eq!(
        content["m.relates_to"],
        json!({
            "rel_type": "m.thread",
            "event_id": "$root",
            "m.in_reply_to": { "event_id": "$q" },
            "is_falling_back": true,
        })
    );
}

#[test]
fn only_where_several_people_write_does_an_answer_say_what_it_answers() {
    let origin = Origin { event: "$q".to_owned(), thread: None }.to_json();
    let shared = recipient(ConversationKind::Shared, Some(&origin));
    let content = json_of(&message(&shared, Written::from_markdown("x").text(Previews::Never)));
    assert_eq!(content["m.relates_to"], json!({ "m.in_reply_to": { "event_id": "$q" } }));
    for origin in [None, Some("not json"), Some(r#"{"event":"no event"}"#)] {
        let odd = recipient(ConversationKind::Shared, origin);
        let content = json_of(&message(&odd, Written::from_markdown("x").text(Previews::Never)));
        assert_eq!(content.get("m.relates_to"), None, "{origin:?}");
    }
}

#[test]
fn an_edit_carries_the_whole_text_once() {
    let long = format!("**b** {}", "word ".repeat(1000));
    let kind = Written::from_markdown(&long).text(Previews::Never);
    let content = json_of(&replacement("$old".try_into().expect("an id"), kind));
    assert_eq!(content["m.relates_to"], json!({ "rel_type": "m.replace", "event_id": "$old" }));
    assert_eq!(content["m.new_content"]["body"], json!(long));
    assert!(
        content["m.new_content"]["formatted_body"].as_str().expect("html").contains("<strong>")
    );
    let fallback = content["body"].as_str().expect("a body");
    assert!(
        fallback.starts_with("* **b** word") && fallback.ends_with('…') && fallback.len() < 1100
    );
    assert_eq!(content["m.mentions"], json!({}));
}

/// As many of these as one message takes.
pub(in crate::outgoing) fn longest_of(unit: &str) -> String {
    let mut text = String::new();
    while measure(&text) <= LONGEST {
        text.push_str(&unit.repeat(100));
    }
    while measure(&text) > LONGEST {
        text.truncate(text.len() - unit.len());
    }
    text
}

/// The longest message fits into an event of 64 KiB, encrypted, as an edit.
#[test]
fn the_longest_message_fits() {
    for unit in ["word ", "\"quoted\" ", "**b** ", "a\n", "ä€😀 ", "`<&>` ", "- x\n", "\u{202e}"]
    {
        let text = longest_of(unit);
        assert!(measure(&text) <= LONGEST && text.len() > 1000, "{unit:?}: {}", text.len());
        let kind = Written::from_markdown(&text).text(Previews::Never);
        let id = format!("${}", "e".repeat(43));
        let content = replacement(EventId::parse(id).expect("an id"), kind);
        let plaintext = serde_json::to_string(&content).expect("JSON").len() + 300;
        // Base64 of the ciphertext, and what the server puts around it.
        assert!(plaintext * 4 / 3 + 4096 < 64 << 10, "{unit:?}: {plaintext}");
    }
}

#[test]
fn what_hides_is_shown_in_both_forms_and_nothing_is_empty() {
    let written = Written::from_markdown("a\u{202e}b **c**");
    assert_eq!(written.body, "a⟨U+202E⟩b **c**");
    assert_eq!(written.html.as_deref(), Some("<p>a⟨U+202E⟩b <strong>c</strong></p>"));
    assert_eq!(Written::from_markdown(" \n").body, "…");
}
