use cloister_protocol::surface::ConnectorId;

use super::*;

fn thread(shown_title: Option<&str>, shown_archived: bool) -> Conversation {
    Conversation {
        id: ConversationId::from_number(1),
        connector: ConnectorId::from_number(1),
        external_id: Some("5".to_owned()),
        workspace: WorkspaceId::from_number(1),
        chat: ChatId::from_number(2),
        kind: ConversationKind::Shared,
        user: None,
        shown_title: shown_title.map(str::to_owned),
        shown_archived,
        broken: None,
    }
}

fn wanted(title: &str, archived: bool) -> Wanted {
    Wanted { title: title.to_owned(), archived }
}

#[test]
fn a_thread_is_changed_where_it_differs() {
    let shown = thread(Some("old"), false);
    assert_eq!(
        changes(&shown, &wanted("new\ntitle", false)),
        Some(json!({ "name": "new title", "archived": false }))
    );
    assert_eq!(changes(&shown, &wanted("old", true)), Some(json!({ "archived": true })));
    assert_eq!(changes(&shown, &wanted("old", false)), None);
    assert_eq!(changes(&shown, &wanted(" ", false)), None, "a thread can't be without a name");
    assert_eq!(name(&"ä".repeat(300)).unwrap().chars().count(), MAX_NAME);
}

/// X6: a channel is never renamed or archived, nor what a person has for themselves.
#[test]
fn only_threads_are_changed() {
    assert!(may_be_thread(&thread(Some("x"), false)));
    assert!(!may_be_thread(&thread(None, false)));
    let own = Conversation { kind: ConversationKind::Lobby, ..thread(Some("x"), false) };
    assert!(!may_be_thread(&own));
    let gone = Conversation { broken: Some("gone".to_owned()), ..thread(Some("x"), false) };
    assert!(!may_be_thread(&gone));
}

#[test]
fn what_may_not_be_shown_is_tried_once() {
    let memory = ThreadsState::default();
    let id = ConversationId::from_number(1);
    memory.refuse(id, wanted("a", false));
    assert!(memory.was_refused(id, &wanted("a", false)));
    assert!(!memory.was_refused(id, &wanted("b", false)));
}
