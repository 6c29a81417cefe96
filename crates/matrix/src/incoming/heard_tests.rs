use proptest::prelude::*;
use serde_json::json;

use super::*;

fn event(kind: &str, content: Value) -> Value {
    json!({
        "type": kind, "event_id": "$e:test", "sender": "@ada:test",
        "origin_server_ts": 1_763_200_000_123u64, "content": content,
    })
}

fn heard(content: Value) -> Heard {
    Seen::read(&event("m.room.message", content)).unwrap().heard
}

fn said(content: Value) -> Said {
    match heard(content) {
        Heard::Said(said) => said,
        other => panic!("not said: {other:?}"),
    }
}

fn file(msgtype: &str, more: Value) -> Value {
    let mut content = json!({ "msgtype": msgtype, "body": "a.bin", "url": "mxc://test/abc" });
    if let (Some(content), Value::Object(more)) = (content.as_object_mut(), more) {
        content.extend(more);
    }
    content
}

#[test]
fn text_is_taken_and_bots_are_not() {
    assert_eq!(said(json!({ "msgtype": "m.text", "body": "hi\u{0}\r\nyou" })).text, "hi\nyou");
    assert_eq!(said(json!({ "msgtype": "m.emote", "body": "!yes" })).text, "* !yes");
    for ignored in [
        json!({ "msgtype": "m.notice", "body": "I am a bot" }),
        json!({ "msgtype": "m.key.verification.request", "body": "verify" }),
        json!({ "msgtype": "m.text", "body": "  \n" }),
        json!({ "msgtype": "m.text" }),
        json!({}),
    ] {
        assert!(matches!(heard(ignored.clone()), Heard::Nothing), "{ignored}");
    }
    let unusable = heard(json!({ "msgtype": "dm.filament.gallery", "body": "x" }));
    assert!(matches!(unusable, Heard::Unusable(what) if what.contains("gallery")));
    let place = json!({ "msgtype": "m.location", "body": "Kiel", "geo_uri": "geo:54.3,10.1" });
    assert_eq!(said(place).text, "location: geo:54.3,10.1 (Kiel)");
}

#[test]
fn replies_and_threads_are_told_apart() {
    let reply = said(json!({
        "msgtype": "m.text", "body": "> <@a:b> before\n\nyes",
        "m.relates_to": { "m.in_reply_to": { "event_id": "$before:test" } },
    }));
    assert_eq!(reply.text, "yes");
    assert_eq!(reply.reply_to.unwrap(), "$before:test");
    let in_thread = said(json!({
        "msgtype": "m.text", "body": "yes",
        "m.relates_to": {
            "rel_type": "m.thread", "event_id": "$root:test", "is_falling_back": true,
            "m.in_reply_to": { "event_id": "$last:test" },
        },
    }));
    assert_eq!(in_thread.thread.unwrap(), "$root:test");
    assert!(in_thread.reply_to.is_none());
    let reply_in_thread = said(json!({
        "msgtype": "m.text", "body": "yes",
        "m.relates_to": {
            "rel_type": "m.thread", "event_id": "$root:test", "is_falling_back": false,
            "m.in_reply_to": { "event_id": "$last:test" },
        },
    }));
    assert_eq!(reply_in_thread.reply_to.unwrap(), "$last:test");
    assert_eq!(reply_in_thread.thread.unwrap(), "$root:test");
}

#[test]
fn an_edit_says_what_it_puts_in_place() {
    let edit = |new: Value| {
        json!({
            "msgtype": "m.text", "body": "* new", "m.new_content": new,
            "m.relates_to": { "rel_type": "m.replace", "event_id": "$old:test" },
        })
    };
    let edited = heard(edit(json!({ "msgtype": "m.text", "body": "new" })));
    assert!(matches!(edited, Heard::Edited { of, text } if of == "$old:test" && text == "new"));
    let notice = heard(edit(json!({ "msgtype": "m.notice", "body": "new" })));
    assert!(matches!(notice, Heard::Nothing));
    assert!(matches!(heard(edit(json!("new"))), Heard::Nothing));
}

/// X10: a caption is the text, a file name is not, and every file has a name that says what it is.
#[test]
fn files_have_names_and_captions() {
    let plain = said(file("m.file", json!({ "info": { "size": 7 } })));
    let sent = plain.file.unwrap();
    assert_eq!((plain.text.as_str(), sent.name.as_str(), sent.size), ("", "a.bin", Some(7)));
    let same = said(file("m.file", json!({ "filename": "a.bin" })));
    assert_eq!(same.text, "");
    let caption = said(file("m.image", json!({ "filename": "b.png", "body": "what is this?" })));
    assert_eq!(caption.text, "what is this?");
    assert_eq!(caption.file.unwrap().name, "b.png");
    let nameless =
        said(file("m.image", json!({ "body": "image", "info": { "mimetype": "image/png" } })));
    assert_eq!(nameless.file.unwrap().name, "image.png");
    let voice = file(
        "m.audio",
        json!({
            "body": "Voice message", "org.matrix.msc3245.voice": {},
            "info": { "mimetype": "audio/ogg; codecs=opus", "size": 9 },
        }),
    );
    assert_eq!(said(voice).file.unwrap().name, "voice-1763200000.ogg");
}

#[test]
fn files_that_lead_nowhere_are_not_fetched() {
    for wrong in [
        json!({ "url": "https://evil.example/a" }),
        json!({ "url": "mxc://test/../../etc/passwd" }),
        json!({ "url": "mxc://test" }),
        json!({ "url": null }),
        json!({ "file": { "url": "mxc://test/abc" } }),
        json!({ "file": "mxc://test/abc" }),
    ] {
        let heard = heard(file("m.file", wrong.clone()));
        assert!(matches!(heard, Heard::Unusable(_)), "{wrong}: {heard:?}");
    }
}

#[test]
fn encrypted_files_keep_their_keys() {
    let encrypted = json!({
        "url": "mxc://test/abc", "v": "v2",
        "key": { "kty": "oct", "key_ops": ["encrypt", "decrypt"], "alg": "A256CTR", "ext": true,
                 "k": "aWF6-32KGYaC3A_FEUCk1Bt0JA37zP0wrStgmdCaW-0" },
        "iv": "w+sE15fzSc0AAAAAAAAAAA",
        "hashes": { "sha256": "fdSLu/YkRx3Wyh3KQabP3rd6+SFiKg5lsJZQHtkSAYA" },
    });
    let sent = said(file("m.file", json!({ "file": encrypted }))).file.unwrap();
    assert!(matches!(sent.source, MediaSource::Encrypted(_)));
}

#[test]
fn reactions_redactions_names_and_members_are_seen() {
    let reaction = json!({
        "m.relates_to": { "rel_type": "m.annotation", "event_id": "$q:test", "key": "👍" },
    });
    let seen = Seen::read(&event("m.reaction", reaction)).unwrap();
    assert!(matches!(seen.heard, Heard::Reacted { to, with } if to == "$q:test" && with == "👍"));
    let mut old = event("m.room.redaction", json!({}));
    old["redacts"] = json!("$gone:test");
    let new = event("m.room.redaction", json!({ "redacts": "$gone:test" }));
    for redaction in [old, new] {
        let seen = Seen::read(&redaction).unwrap();
        assert!(matches!(seen.heard, Heard::Redacted { of } if of == "$gone:test"));
    }
    let mut name = event("m.room.name", json!({ "name": "Taxes" }));
    assert!(matches!(Seen::read(&name).unwrap().heard, Heard::Nothing), "no state");
    name["state_key"] = json!("");
    assert!(matches!(Seen::read(&name).unwrap().heard, Heard::Renamed { name } if name == "Taxes"));
    let mut member = event("m.room.member", json!({ "membership": "join" }));
    member["state_key"] = json!("@eve:test");
    assert!(matches!(Seen::read(&member).unwrap().heard, Heard::Moved));
    let mut state = event("m.room.message", json!({ "msgtype": "m.text", "body": "hi" }));
    state["state_key"] = json!("");
    assert!(matches!(Seen::read(&state).unwrap().heard, Heard::Nothing), "state is no message");
}

fn any_json() -> impl Strategy<Value = Value> {
    let keys = prop::sample::select(vec![
        "msgtype",
        "body",
        "m.relates_to",
        "rel_type",
        "event_id",
        "m.in_reply_to",
        "m.new_content",
        "file",
        "url",
        "info",
        "size",
        "mimetype",
        "filename",
        "key",
        "geo_uri",
        "redacts",
        "name",
        "is_falling_back",
        "org.matrix.msc3245.voice",
        "iv",
        "hashes",
        "sha256",
        "v",
        "k",
    ]);
    let words = prop::sample::select(vec![
        "m.text",
        "m.file",
        "m.image",
        "m.audio",
        "m.emote",
        "m.location",
        "m.replace",
        "m.thread",
        "m.annotation",
        "$e:test",
        "mxc://test/abc",
        "geo:1,2",
        "image/png",
        "v2",
        "> <@a:b> x\n\ny",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        words.prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "\\PC{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..8).prop_map(|fields| {
                fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            }),
        ]
    })
}

proptest! {
    /// Whatever somebody puts into an event, it is read as something or nothing; names stay short, and
    /// nothing that can't be seen is handed over.
    #[test]
    fn any_event_is_read(
        kind in prop::sample::select(vec![
            "m.room.message", "m.reaction", "m.room.redaction", "m.room.name", "m.room.member",
            "m.sticker", "x.y",
        ]),
        content in any_json(),
        state in any::<bool>(),
    ) {
        let mut event = event(kind, content);
        if state {
            event["state_key"] = json!("");
        }
        let seen = Seen::read(&event).unwrap();
        if let Heard::Said(said) = seen.heard {
            prop_assert!(!said.text.trim().is_empty() || said.file.is_some());
            prop_assert!(!said.text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
            if let Some(file) = said.file {
                prop_assert!(file.name.chars().count() <= 264);
            }
        }
    }

    #[test]
    fn no_event_at_all_is_none(anything in any_json()) {
        drop(Seen::read(&anything));
    }
}

/// X3: a redaction and a room's state mean something because the homeserver judged who may do them. What comes
/// encrypted it can't judge, and anybody who is in the room can have written it.
#[test]
fn what_only_the_homeserver_can_judge_is_not_taken_from_inside_an_encryption() {
    let redaction = event("m.room.redaction", json!({ "redacts": "$of:test" }));
    let mut renamed = event("m.room.name", json!({ "name": "mine" }));
    renamed["state_key"] = json!("");
    let mut moved = event("m.room.join_rules", json!({ "join_rule": "public" }));
    moved["state_key"] = json!("");
    for forged in [redaction, renamed, moved] {
        let plain = Seen::read(&forged).unwrap();
        assert!(!matches!(plain.heard, Heard::Nothing), "{plain:?}");
        let sealed = plain.opened();
        assert!(sealed.sealed && matches!(sealed.heard, Heard::Nothing), "{sealed:?}");
    }
    let words = event("m.room.message", json!({ "msgtype": "m.text", "body": "hi" }));
    let sealed = Seen::read(&words).unwrap().opened();
    assert!(sealed.sealed && matches!(sealed.heard, Heard::Said(_)), "{sealed:?}");
}

/// X2: a message that waits is taken back by who wrote it, or by whom the homeserver lets do that; a redaction of
/// somebody else, which it did not carry out, takes nothing back.
#[test]
fn a_message_is_taken_back_by_its_writer_or_by_whom_the_homeserver_lets() {
    let by = |sender: &str| {
        let mut redaction = event("m.room.redaction", json!({ "redacts": "$of:test" }));
        redaction["sender"] = json!(sender);
        redaction["event_id"] = json!("$r:test");
        Seen::read(&redaction).unwrap()
    };
    let message = event("m.room.message", json!({ "msgtype": "m.text", "body": "hi" }));
    assert!(took_back(&message, &by("@ada:test")));
    assert!(!took_back(&message, &by("@mallory:test")));
    let mut gone = event("m.room.message", json!({}));
    gone["unsigned"] = json!({ "redacted_because": { "event_id": "$r:test" } });
    assert!(took_back(&gone, &by("@moderator:test")));
    gone["unsigned"] = json!({ "redacted_because": { "event_id": "$other:test" } });
    assert!(!took_back(&gone, &by("@mallory:test")));
    assert!(!took_back(&json!({}), &by("@ada:test")));
}
