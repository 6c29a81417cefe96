use proptest::prelude::*;

use super::*;

const NEW: Put<'_> = Put::New { nonce: "n", answers: None };

fn framed() -> Message {
    let frame = Frame {
        title: "t".to_owned(),
        text: "d".to_owned(),
        fields: vec![("Risk".to_owned(), "outward".to_owned()), ("Why".to_owned(), String::new())],
        footer: "f".to_owned(),
        colour: 7,
    };
    Message { content: "c".to_owned(), frame: Some(frame), rows: Vec::new() }
}

#[test]
fn a_message_is_put_there_once_and_answers_who_asked() {
    let payload = Message::words("hi".to_owned())
        .payload(Put::New { nonce: "abc", answers: Some("42") }, None);
    assert_eq!(
        payload,
        json!({
            "content": "hi",
            "embeds": [],
            "components": [],
            "allowed_mentions": { "parse": [], "replied_user": false },
            "flags": 4,
            "nonce": "abc",
            "enforce_nonce": true,
            "message_reference": { "message_id": "42", "fail_if_not_exists": false },
        })
    );
}

/// X6: whatever a message is and however it is put there, it calls nobody, and no address in it is fetched.
#[test]
fn no_message_rings_a_bell() {
    let file = Attached { name: "a.txt".to_owned(), title: "a".to_owned(), data: Vec::new() };
    let puts = [NEW, Put::Instead, Put::Answer { private: true }, Put::Answer { private: false }];
    for put in puts {
        for (message, file) in [
            (Message::words("@everyone".to_owned()), None),
            (framed(), None),
            (Message::default(), Some(&file)),
        ] {
            let payload = message.payload(put, file);
            assert_eq!(payload["allowed_mentions"], json!({ "parse": [], "replied_user": false }));
            let suppressed = payload["flags"].as_u64().is_some_and(|flags| flags & 4 != 0);
            assert_eq!(suppressed, message.frame.is_none());
        }
    }
}

#[test]
fn what_is_for_one_person_is_marked_so() {
    let flags = |put: Put<'_>| Message::words("x".to_owned()).payload(put, None)["flags"].as_u64();
    assert_eq!(flags(Put::Answer { private: true }), Some(64 + 4));
    assert_eq!(flags(Put::Answer { private: false }), Some(4));
    assert_eq!(flags(NEW), Some(4));
}

#[test]
fn an_edit_takes_everything_away_that_was_there() {
    let payload = Message::words("settled".to_owned()).payload(Put::Instead, None);
    assert_eq!(payload["components"], json!([]));
    assert_eq!(payload["embeds"], json!([]));
    assert_eq!(payload.get("nonce"), None);
}

#[test]
fn nothing_is_sent_empty_except_with_a_file() {
    assert_eq!(Message::words(" \n".to_owned()).payload(NEW, None)["content"], json!("…"));
    let file = Attached { name: "a.txt".to_owned(), title: "ä".to_owned(), data: vec![1] };
    let payload = Message::default().payload(NEW, Some(&file));
    assert_eq!(payload["content"], json!(""));
    assert_eq!(payload["attachments"], json!([{ "id": 0, "filename": "a.txt", "title": "ä" }]));
}

#[test]
fn a_frame_has_what_is_in_it() {
    assert_eq!(
        framed().payload(NEW, None)["embeds"],
        json!([{
            "title": "t", "description": "d", "color": 7, "footer": { "text": "f" },
            "fields": [{ "name": "Risk", "value": "outward", "inline": false }],
        }])
    );
    let plain = framed().without_frame();
    assert_eq!(
        plain.content,
        "c\n**t**\nd\n**Risk** outward\n**Why** \nf".replace("**Why** \n", "")
    );
    assert_eq!(plain.frame, None);
}

/// E62: what can't be read whole is not answered with a press.
#[test]
fn what_would_be_cut_has_nothing_to_press() {
    let mut message = framed();
    message.rows = vec![json!({ "type": 1 })];
    assert_eq!(message.without_frame().rows.len(), 1);
    assert!(message.without_rows().rows.is_empty());
    message.frame = Some(Frame { text: "x".repeat(LONGEST), ..Frame::default() });
    assert!(message.without_frame().rows.is_empty());
}

proptest! {
    /// However long a text is, a message stays within what Discord takes, and no block of code is left open.
    #[test]
    fn a_message_fits(text in "([a-z😀 ]{1,40}|```|\n|\\\\){0,200}") {
        let long = text.repeat(20);
        let even = if long.matches("```").count().is_multiple_of(2) { long } else { format!("{long}\n```") };
        let payload = Message::words(even.clone()).payload(NEW, None);
        let content = payload["content"].as_str().unwrap();
        prop_assert!(length(content) <= LONGEST && !content.is_empty());
        if length(&even) > LONGEST {
            prop_assert!(content.matches("```").count().is_multiple_of(2));
        }
        let frame = Frame { text: even, ..Frame::default() };
        let framed = Message { frame: Some(frame), ..Message::default() }.payload(NEW, None);
        prop_assert!(length(framed["embeds"][0]["description"].as_str().unwrap()) <= LONGEST_IN_FRAME);
    }
}
