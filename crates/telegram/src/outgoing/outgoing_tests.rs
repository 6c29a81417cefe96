use super::send::tests::recipient;
use super::*;

/// In a group an answer says whom it answers, once; in a private chat that is clear.
#[test]
fn an_answer_says_whom_it_answers_where_several_write() {
    let group = recipient(ConversationKind::Shared, Some("-5/2"));
    assert_eq!(reply_to(&group, "t-m5/0"), Some(77));
    assert_eq!(reply_to(&group, "t-m5/0/anew"), Some(77));
    assert_eq!(reply_to(&group, "t-m5/1"), None, "it goes on, and does not answer again");
    let private = recipient(ConversationKind::Lobby, Some("5"));
    assert_eq!(reply_to(&private, "t-m5/0"), None);
    let mut strange = group;
    strange.origin = Some("{\"message\":\"x\"}".to_owned());
    assert_eq!(reply_to(&strange, "t-m5/0"), None);
    assert_eq!(Origin { message: 77 }.to_json(), "{\"message\":77}");
}

/// Telegram takes no draft with the number zero, and animates those with the same one.
#[test]
fn a_draft_keeps_its_number() {
    let to = recipient(ConversationKind::Room, Some("5/3"));
    assert_eq!(draft_id(&to, "t-m5/0"), draft_id(&to, "t-m5/0"));
    assert_ne!(draft_id(&to, "t-m5/0"), draft_id(&to, "t-m6/0"));
    assert!((0..2000).all(|number| draft_id(&to, &format!("t-m{number}/0")) > 0));
}

#[test]
fn nothing_that_can_not_be_seen_is_sent() {
    for blank in ["", " \n ", "\u{a0}"] {
        let pieces = pieces_of(&markdown::render(blank));
        assert_eq!(pieces.len(), 1);
        assert_eq!(pieces[0].text, NOTHING);
    }
    let long = format!("a{}b", "\n".repeat(9000));
    let pieces = pieces_of(&Text::plain(long));
    assert!(pieces.iter().all(|piece| !piece.is_blank()), "{pieces:?}");
}
