use cloister_protocol::TurnId;

use super::*;
use crate::db::Store;
use crate::test_world;

const MOST_OPEN: MostOpen = MostOpen { of_person: 2, in_workspace: 2, in_all: 3 };

struct Setup {
    _dir: tempfile::TempDir,
    store: Store,
    workspace: WorkspaceId,
}

async fn setup() -> Setup {
    let (dir, store) = test_world::store().await;
    let workspace = test_world::add(&store, "ada").await.workspace;
    store.chats().ensure_first_chat(&Actor::person("test"), workspace).await.unwrap();
    Setup { _dir: dir, store, workspace }
}

impl Setup {
    async fn take(&self, chat: u32, id: &str) -> Result<Taken, StoreError> {
        let inbound = Inbound {
            source: "socket".to_owned(),
            external_id: id.to_owned(),
            workspace: self.workspace,
            chat: ChatId::from_number(chat),
            cause: Cause::Message {
                from: "ada".to_owned(),
                text: id.to_owned(),
                attachments: Vec::new(),
                instead: None,
            },
            meant: Meant::Words,
            heard_in: None,
        };
        self.store.inbox().take_message(inbound, MOST_OPEN).await
    }

    /// The row of a message that must have been taken, and whether it was there before.
    async fn stored(&self, id: &str) -> (i64, bool) {
        match self.take(1, id).await.unwrap() {
            Taken::Stored(accepted) => (accepted.item.id, accepted.duplicate),
            refused => panic!("{id} was not taken: {refused:?}"),
        }
    }
}

#[tokio::test]
async fn the_same_message_is_stored_once_even_when_no_more_are_taken() {
    let setup = setup().await;
    let (first, _) = setup.stored("a").await;
    setup.stored("b").await;
    assert_eq!(setup.stored("a").await, (first, true));
    assert_eq!(setup.store.inbox().open_in(setup.workspace).await.unwrap(), 2);
}

#[tokio::test]
async fn a_message_too_many_waits_outside_until_one_is_answered() {
    let setup = setup().await;
    let (first, _) = setup.stored("a").await;
    setup.stored("b").await;
    assert!(matches!(setup.take(1, "c").await.unwrap(), Taken::TooMany(2)));
    let turn = TurnId::of_trigger(&trigger_id(first).unwrap());
    let chat = (setup.workspace, ChatId::from_number(1));
    setup.store.outbox().end_turn(first, chat, &turn, None).await.unwrap();
    assert!(!setup.stored("c").await.1);
}

#[tokio::test]
async fn a_chat_that_is_archived_or_unknown_takes_nothing() {
    let setup = setup().await;
    let unknown = setup.take(7, "a").await.unwrap_err();
    assert!(matches!(unknown, StoreError::NotFound { what: "chat", .. }), "{unknown:?}");
    let chat = ChatId::from_number(1);
    setup
        .store
        .chats()
        .archive_chat(&Actor::person("test"), setup.workspace, chat, true)
        .await
        .unwrap();
    assert!(matches!(setup.take(1, "a").await.unwrap(), Taken::Archived));
    assert_eq!(setup.store.inbox().open_in(setup.workspace).await.unwrap(), 0);
}
