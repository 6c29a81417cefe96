use cloister_protocol::surface::Customs;
use cloister_protocol::{AgentFrame, ChatId, Update};

use super::*;
use crate::conversations::{Conversation, ConversationKind, NewConversation};
use crate::db::Store;
use crate::identities::Account;
use crate::test_world;
use crate::users::User;

const C1: ChatId = ChatId::from_number(1);

struct World {
    _dir: tempfile::TempDir,
    store: Store,
    ada: User,
}

async fn world() -> World {
    let (dir, store) = test_world::store().await;
    let ada = test_world::add(&store, "ada").await;
    store.chats().ensure_first_chat(&Actor::person("test"), ada.workspace).await.unwrap();
    World { _dir: dir, store, ada }
}

impl World {
    async fn connector(&self, surface: &str) -> ConnectorId {
        test_world::connector(&self.store, surface, "77").await
    }

    async fn linked(&self, surface: &str, id: &str) {
        let account = Account {
            surface: surface.into(),
            external_id: id.into(),
            display_name: String::new(),
        };
        self.store
            .users()
            .link_identity(&Actor::person("root"), &account, self.ada.id)
            .await
            .unwrap();
    }

    async fn place(
        &self,
        connector: ConnectorId,
        id: Option<&str>,
        kind: ConversationKind,
    ) -> Conversation {
        let chat = match kind {
            ConversationKind::Room => {
                self.store
                    .chats()
                    .new_chat(&Actor::person("test"), self.ada.workspace, "x", None)
                    .await
                    .unwrap()
                    .id
            }
            ConversationKind::Lobby | ConversationKind::Shared => C1,
        };
        let new = NewConversation {
            connector,
            external_id: id.map(str::to_owned),
            chat: (self.ada.workspace, chat),
            kind,
            user: Some(self.ada.id),
        };
        self.store.conversations().put_conversation(&new).await.unwrap()
    }

    async fn there(&self, place: &Conversation) -> bool {
        self.store.conversations().conversation_by_id(place.id).await.unwrap().is_some()
    }

    async fn unlink(&self, surface: &str, id: &str) {
        self.store
            .users()
            .unlink_identity(&Actor::person("root"), self.ada.id, surface, id)
            .await
            .unwrap();
    }
}

/// I1: what a person shared with the agent over an account goes with it; what was to be told there waits on the
/// web, and what has no place is told there from now on.
#[tokio::test]
async fn an_unlinked_account_is_told_nothing_more() {
    let world = world().await;
    let telegram = world.connector("telegram").await;
    world.linked("telegram", "1001").await;
    world.store.chats().set_home(telegram, world.ada.id, Some("1001")).await.unwrap();
    let lobby = world.place(telegram, Some("1001"), ConversationKind::Lobby).await;
    let topic = world.place(telegram, Some("1001/5"), ConversationKind::Room).await;
    let wanted = world.place(telegram, None, ConversationKind::Room).await;
    world.store.chats().was_active(lobby.id).await.unwrap();
    let chat = (world.ada.workspace, C1);
    let frame = AgentFrame::Update(Update::Notice { text: "private".into() });
    let waits = world.store.outbox().notify(chat, "one", &frame).await.unwrap().unwrap();
    assert_eq!(waits.conversation, Some(lobby.id));

    world.unlink("telegram", "1001").await;
    for gone in [&lobby, &topic, &wanted] {
        assert!(!world.there(gone).await, "{gone:?}");
    }
    assert_eq!(world.store.chats().home(telegram, world.ada.id).await.unwrap(), None);
    assert!(world.store.outbox().conversations_to_tell(telegram).await.unwrap().is_empty());
    assert!(world.store.conversations().conversations_to_mend(telegram).await.unwrap().is_empty());
    let later = world.store.outbox().notify(chat, "two", &frame).await.unwrap().unwrap();
    assert_eq!(later.conversation, None);
    let web = world.store.outbox().undelivered(chat.0, chat.1).await.unwrap();
    let ids: Vec<i64> = web.iter().map(|row| row.id).collect();
    assert_eq!(ids, [waits.id, later.id], "nothing is lost");
}

/// I1: what is known to be another account's of the same person stays, and so does what is elsewhere; where it is
/// not known whose it is, it goes.
#[tokio::test]
async fn other_accounts_keep_what_is_theirs() {
    let world = world().await;
    let telegram = world.connector("telegram").await;
    let discord = world.connector("discord").await;
    let matrix = world.connector("matrix").await;
    let sees = Customs { sees_readers: true, ..Customs::USUAL };
    world.store.conversations().set_customs("matrix", sees).await.unwrap();
    for (surface, id) in [
        ("telegram", "1001"),
        ("telegram", "100"),
        ("discord", "5"),
        ("discord", "6"),
        ("matrix", "@a:x"),
    ] {
        world.linked(surface, id).await;
    }
    world.store.chats().set_home(telegram, world.ada.id, Some("100")).await.unwrap();
    let lost = world.place(telegram, Some("1001"), ConversationKind::Lobby).await;
    let other = world.place(telegram, Some("100"), ConversationKind::Lobby).await;
    let topic = world.place(telegram, Some("100/5"), ConversationKind::Room).await;
    let wanted = world.place(telegram, None, ConversationKind::Room).await;
    let dm = world.place(discord, Some("900"), ConversationKind::Lobby).await;
    let room = world.place(matrix, Some("!room"), ConversationKind::Room).await;
    world.unlink("telegram", "1001").await;
    assert!(!world.there(&lost).await);
    for kept in [&other, &topic, &wanted, &dm, &room] {
        assert!(world.there(kept).await, "{kept:?}");
    }
    assert!(world.store.chats().home(telegram, world.ada.id).await.unwrap().is_some());
    world.unlink("discord", "5").await;
    assert!(!world.there(&dm).await, "it may be with either account");
    world.unlink("matrix", "@a:x").await;
    assert!(world.there(&room).await, "its connector sees who reads there");
}
