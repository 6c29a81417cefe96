use cloister_protocol::surface::{ConnectorId, Conversation, ConversationId};
use cloister_protocol::{ChatId, Language, UserId, WorkspaceId};

use super::*;

/// A conversation as the courier hands it over.
pub(in crate::outgoing) fn recipient(kind: ConversationKind, id: Option<&str>) -> Recipient {
    let conversation = Conversation {
        id: ConversationId::from_number(9),
        connector: ConnectorId::from_number(1),
        external_id: id.map(str::to_owned),
        workspace: WorkspaceId::from_number(1),
        chat: ChatId::from_number(1),
        kind,
        user: Some(UserId::from_number(1)),
        shown_title: None,
        shown_archived: false,
        broken: None,
    };
    Recipient { conversation, origin: Some(r#"{"message":77}"#.to_owned()), language: Language::En }
}

#[test]
fn a_place_is_a_chat_and_perhaps_a_topic() {
    let place = |kind, id| MessagePlace::of(&recipient(kind, id));
    assert_eq!(
        place(ConversationKind::Room, Some("42/7")),
        Ok(MessagePlace { chat: 42, thread: Some(7) })
    );
    assert_eq!(
        place(ConversationKind::Shared, Some("-100123")),
        Ok(MessagePlace { chat: -100_123, thread: None })
    );
    assert!(matches!(place(ConversationKind::Room, None), Err(SendError::Unreachable(_))));
    for nowhere in ["", "x", "1/", "1/x", "!room:example.org"] {
        let place = place(ConversationKind::Lobby, Some(nowhere));
        assert!(matches!(place, Err(SendError::Gone(_))), "{nowhere:?}");
    }
}

/// I3: what is for one person never goes where others read along, whatever a row says.
#[test]
fn what_is_private_never_goes_to_a_group() {
    for kind in [ConversationKind::Room, ConversationKind::Lobby] {
        let place = MessagePlace::of(&recipient(kind, Some("-100123/4")));
        assert!(matches!(place, Err(SendError::Gone(_))), "{kind:?}: {place:?}");
    }
}

/// X1: what each fault means for what is to be told.
#[test]
fn faults_become_what_control_acts_on() {
    let wait = Duration::from_secs(17);
    assert_eq!(meaning(Fault::Wait(wait)), SendError::Wait(wait));
    assert_eq!(meaning(Fault::ThreadGone), SendError::Gone(TOPIC_LOST.to_owned()));
    let blocked = "Forbidden: bot was blocked by the user".to_owned();
    assert_eq!(meaning(Fault::Gone(blocked.clone())), SendError::Gone(blocked));
    assert!(matches!(meaning(Fault::late()), SendError::Unreachable(_)));
    assert!(matches!(meaning(Fault::Unauthorized), SendError::Unreachable(_)));
    assert!(matches!(meaning(Fault::Conflict), SendError::Unreachable(_)));
    let refused = Fault::Refused { code: 400, description: "message is too long".to_owned() };
    assert!(matches!(meaning(refused), SendError::Refused(why) if why.contains("too long")));
    let closed = Fault::Refused { code: 400, description: "Bad Request: TOPIC_CLOSED".to_owned() };
    assert!(matches!(meaning(closed), SendError::Gone(why) if why.contains("closed")));
    // What was never sent is no repetition when it is sent.
    let refused = Fault::Unreachable("no connection: refused".to_owned());
    assert!(matches!(meaning(refused), SendError::Wait(_)));
}

#[test]
fn a_text_goes_without_marks_only_where_the_marks_are_refused() {
    let refused = |words: &str| Fault::Refused { code: 400, description: words.to_owned() };
    assert!(refuses_marks(&Fault::CantParse("can't parse entities".to_owned())));
    assert!(refuses_marks(&refused("Bad Request: entity begins in a middle of a UTF-16 symbol")));
    assert!(refuses_marks(&refused("Bad Request: wrong HTTP URL specified")));
    for other in ["Bad Request: message is too long", "Bad Request: message to edit not found"] {
        assert!(!refuses_marks(&refused(other)), "{other}");
    }
    assert!(!refuses_marks(&Fault::late()) && !refuses_marks(&Fault::ThreadGone));
}

/// P8: in a group a name rings nobody, also in code that is none where its mark is not taken; in a private chat
/// everything is said as it is.
#[test]
fn a_name_in_a_group_is_silent() {
    use crate::outgoing::{markdown, text::MAX_MARKS};
    let text = markdown::render(&"`@bob` ".repeat(MAX_MARKS + 20));
    let signs = |chat, marks| {
        let said = MessagePlace { chat, thread: None }.says(&text, marks);
        assert_eq!(said.encode_utf16().count(), text.units(), "no mark moves");
        said.matches('@').count()
    };
    assert_eq!(signs(-5, Marks::With), MAX_MARKS);
    assert_eq!(signs(-5, Marks::Without), 0);
    assert_eq!(signs(5, Marks::With), MAX_MARKS + 20);
}
