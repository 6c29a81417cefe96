use cloister_protocol::AgentFrame;
use cloister_protocol::Update;
use cloister_protocol::link::Cause;

use super::*;
use crate::db::Store;
use crate::inbox::{HeardIn, Inbound, Meant, MostOpen, Taken};
use crate::test_world;
use crate::users::User;

const C1: ChatId = ChatId::from_number(1);
const C2: ChatId = ChatId::from_number(2);

struct World {
    _dir: tempfile::TempDir,
    store: Store,
    ada: User,
    bob: User,
    matrix: ConnectorId,
    telegram: ConnectorId,
}

impl World {
    async fn new() -> Self {
        let (dir, store) = test_world::store().await;
        let ada = test_world::add(&store, "ada").await;
        let bob = test_world::add(&store, "bob").await;
        for user in [&ada, &bob] {
            store.chats().ensure_first_chat(&Actor::person("test"), user.workspace).await.unwrap();
        }
        let (matrix, telegram) = (
            test_world::connector(&store, "matrix", "bot").await,
            test_world::connector(&store, "telegram", "bot").await,
        );
        Self { _dir: dir, store, ada, bob, matrix, telegram }
    }

    async fn place(
        &self,
        connector: ConnectorId,
        name: &str,
        chat: ChatId,
        kind: ConversationKind,
    ) -> Conversation {
        let new = NewConversation {
            connector,
            external_id: Some(name.to_owned()),
            chat: (self.ada.workspace, chat),
            kind,
            user: Some(self.ada.id),
        };
        self.store.conversations().put_conversation(&new).await.unwrap()
    }

    async fn lobby(&self) -> Conversation {
        self.place(self.telegram, "1001", C1, ConversationKind::Lobby).await
    }

    async fn shows(&self, place: &Conversation) -> ChatId {
        self.store.conversations().conversation_by_id(place.id).await.unwrap().unwrap().chat
    }

    /// Ada writes; none: on the web.
    async fn writes(&self, chat: ChatId, place: Option<&Conversation>, id: &str) {
        let inbound = Inbound {
            source: "test".to_owned(),
            external_id: id.to_owned(),
            workspace: self.ada.workspace,
            chat,
            cause: Cause::Message {
                from: "ada".to_owned(),
                text: id.to_owned(),
                attachments: Vec::new(),
                instead: None,
            },
            meant: Meant::Words,
            heard_in: place.map(|place| HeardIn { conversation: place.id, origin: None }),
        };
        let most = MostOpen { of_person: 100, in_workspace: 100, in_all: 100 };
        let taken = self.store.inbox().take_message(inbound, most).await.unwrap();
        assert!(matches!(taken, Taken::Stored(_)));
    }

    /// Where something of a chat is told that answers nothing.
    async fn told_in(&self, chat: ChatId, key: &str) -> Option<ConversationId> {
        let frame = AgentFrame::Update(Update::Notice { text: key.to_owned() });
        let told =
            self.store.outbox().notify((self.ada.workspace, chat), key, &frame).await.unwrap();
        told.unwrap().conversation
    }
}

/// X5: a lobby is turned once per message, so that a message that is looked at again turns it no more.
#[tokio::test]
async fn a_lobby_is_turned_once_per_message() {
    let world = World::new().await;
    let lobby = world.lobby().await;
    let actor = Actor::person("test");
    let made =
        world.store.chats().new_chat_in_lobby(&actor, world.ada.workspace, "Taxes", "m1", lobby.id);
    assert_eq!(made.await.unwrap().id, C2);
    assert_eq!(world.shows(&lobby).await, C2);
    world.store.chats().show_in_lobby(lobby.id, C1, "m2").await.unwrap();
    assert_eq!(world.shows(&lobby).await, C1);
    let again =
        world.store.chats().new_chat_in_lobby(&actor, world.ada.workspace, "Taxes", "m1", lobby.id);
    assert_eq!(again.await.unwrap().id, C2, "the same message opens one chat");
    assert_eq!(world.shows(&lobby).await, C1, "and turns the lobby once");
    world.store.chats().show_in_lobby(lobby.id, C2, "m3").await.unwrap();
    world.store.chats().show_in_lobby(lobby.id, C1, "m2").await.unwrap();
    assert_eq!(world.shows(&lobby).await, C2);
}

/// E81: a lobby shows chats of the workspace that it is a lobby to, and of no other; a room shows its own.
#[tokio::test]
async fn a_lobby_never_shows_what_is_not_its_persons() {
    let world = World::new().await;
    let lobby = world.lobby().await;
    let other = world
        .store
        .chats()
        .new_chat(&Actor::person("test"), world.bob.workspace, "Bob's", None)
        .await
        .unwrap()
        .id;
    assert_eq!(other, C2, "bob has one of that number, ada has not");
    assert!(world.store.chats().show_in_lobby(lobby.id, other, "m1").await.is_err());
    assert_eq!(world.shows(&lobby).await, C1);
    let found = world.store.conversations().conversation_by_id(lobby.id).await.unwrap().unwrap();
    assert_eq!(found.workspace, world.ada.workspace);
    let room = world.place(world.telegram, "1001/5", C1, ConversationKind::Room).await;
    world
        .store
        .chats()
        .new_chat(&Actor::person("test"), world.ada.workspace, "Taxes", None)
        .await
        .unwrap();
    assert!(world.store.chats().show_in_lobby(room.id, C2, "m2").await.is_err(), "a room stays");
}

/// X5: a topic that a person opens is one chat, however often it is heard, and is shown wherever they have a home.
#[tokio::test]
async fn a_topic_is_one_chat_and_is_wanted_in_other_homes() {
    let world = World::new().await;
    world.store.chats().set_home(world.telegram, world.ada.id, Some("1001")).await.unwrap();
    world.store.chats().set_home(world.matrix, world.ada.id, Some("!space")).await.unwrap();
    let topic = Thread { connector: world.telegram, external_id: "1001/9", title: "Taxes" };
    let who = (world.ada.id, world.ada.workspace);
    let first =
        world.store.chats().put_own_thread(&Actor::person("test"), topic, who).await.unwrap();
    let again =
        world.store.chats().put_own_thread(&Actor::person("test"), topic, who).await.unwrap();
    assert_eq!((again.id, first.chat, first.kind), (first.id, C2, ConversationKind::Room));
    assert_eq!(first.shown_title.as_deref(), Some("Taxes"));
    assert!(
        world.store.conversations().conversations_to_mend(world.telegram).await.unwrap().is_empty()
    );
    let wanted = world.store.conversations().conversations_to_mend(world.matrix).await.unwrap();
    let wanted: Vec<_> =
        wanted.iter().map(|mend| (mend.title.as_str(), &mend.conversation)).collect();
    let [("Taxes", room)] = wanted.as_slice() else { panic!("{wanted:?}") };
    assert_eq!((room.chat, room.external_id.as_deref()), (C2, None));
}

/// X5: what a person names a topic, its chat is called; the surface that they did it on shows that already.
#[tokio::test]
async fn a_name_follows_from_the_surface() {
    let world = World::new().await;
    let topic = Thread { connector: world.telegram, external_id: "1001/9", title: "Taxes" };
    let who = (world.ada.id, world.ada.workspace);
    let topic =
        world.store.chats().put_own_thread(&Actor::person("test"), topic, who).await.unwrap();
    let room = world.place(world.matrix, "!taxes", C2, ConversationKind::Room).await;
    world.store.conversations().set_shown(room.id, "Taxes", false).await.unwrap();
    world.store.chats().rename_from(&Actor::person("ada"), topic.id, "Taxes 2026").await.unwrap();
    let chat = world.store.chats().chat(world.ada.workspace, C2).await.unwrap();
    assert_eq!(chat.title, "Taxes 2026");
    assert!(
        world.store.conversations().conversations_to_mend(world.telegram).await.unwrap().is_empty()
    );
    let elsewhere = world.store.conversations().conversations_to_mend(world.matrix).await.unwrap();
    assert_eq!(elsewhere.first().unwrap().title, "Taxes 2026");
    assert!(
        world
            .store
            .chats()
            .rename_from(&Actor::person("ada"), ConversationId::from_number(999), "x")
            .await
            .is_err()
    );
}

/// A title that was given here and is not shown yet is newer than a name that comes from the
/// surface; it is still to be shown there.
#[tokio::test]
async fn a_name_from_the_surface_does_not_take_a_newer_title_back() {
    let world = World::new().await;
    let (workspace, who) = (world.ada.workspace, (world.ada.id, world.ada.workspace));
    let topic = Thread { connector: world.telegram, external_id: "1001/9", title: "Taxes" };
    let topic =
        world.store.chats().put_own_thread(&Actor::person("test"), topic, who).await.unwrap();
    world.store.chats().rename_chat(&Actor::person("test"), workspace, C2, "Newer").await.unwrap();
    assert!(
        !world.store.chats().rename_from(&Actor::person("ada"), topic.id, "Older").await.unwrap()
    );
    assert_eq!(world.store.chats().chat(workspace, C2).await.unwrap().title, "Newer");
    let mend = world.store.conversations().conversations_to_mend(world.telegram).await.unwrap();
    assert_eq!(mend.first().map(|mend| mend.title.as_str()), Some("Newer"), "it shows “Older” now");
    world.store.conversations().set_shown(topic.id, "Newer", false).await.unwrap();
    assert!(
        world.store.chats().rename_from(&Actor::person("ada"), topic.id, "Newest").await.unwrap()
    );
    assert_eq!(world.store.chats().chat(workspace, C2).await.unwrap().title, "Newest");
}

/// W7: what ends in the background is told on the surface where its person was last active in any chat: in the
/// conversation that shows its chat there, or else in a lobby.
#[tokio::test]
async fn a_push_goes_where_the_person_was_last_active() {
    let world = World::new().await;
    world
        .store
        .chats()
        .new_chat(&Actor::person("test"), world.ada.workspace, "Taxes", None)
        .await
        .unwrap();
    let first = world.place(world.matrix, "!one", C1, ConversationKind::Room).await;
    let second = world.place(world.matrix, "!two", C2, ConversationKind::Room).await;
    let lobby = world.lobby().await;
    assert_eq!(world.told_in(C1, "a").await, None, "nobody was active anywhere");
    world.writes(C1, Some(&first), "1").await;
    assert_eq!(world.told_in(C1, "b").await, Some(first.id));
    assert_eq!(world.told_in(C2, "c").await, Some(second.id), "its own room on the same surface");
    world.writes(C1, Some(&lobby), "2").await;
    assert_eq!(world.told_in(C1, "d").await, Some(lobby.id));
    assert_eq!(world.told_in(C2, "e").await, Some(lobby.id), "what the lobby does not show, too");
    world.writes(C2, Some(&second), "3").await;
    assert_eq!(world.told_in(C1, "f").await, Some(first.id), "back on Matrix");
    world.store.chats().was_active(lobby.id).await.unwrap();
    assert_eq!(world.told_in(C1, "g").await, Some(lobby.id), "a press counts");
    world.writes(C1, None, "4").await;
    assert_eq!(world.told_in(C1, "h").await, None, "on the web, in this chat");
    assert_eq!(world.told_in(C2, "i").await, Some(second.id), "the web shows that as well");
}

/// W7: what is gone is not told while there is something else, and what a person said again is no new activity.
#[tokio::test]
async fn a_push_goes_nowhere_that_is_gone() {
    let world = World::new().await;
    let room = world.place(world.matrix, "!one", C1, ConversationKind::Room).await;
    let lobby = world.lobby().await;
    // Often enough for a repetition to come within the same millisecond.
    for n in 0..20 {
        let (first, second) = (format!("{n}-1"), format!("{n}-2"));
        world.writes(C1, Some(&room), &first).await;
        world.writes(C1, Some(&lobby), &second).await;
        world.writes(C1, Some(&room), &first).await;
        let told = world.told_in(C1, &first).await;
        assert_eq!(told, Some(lobby.id), "a repetition moves nothing");
    }
    world.store.conversations().set_broken(lobby.id, Some("blocked")).await.unwrap();
    assert_eq!(world.told_in(C1, "b").await, Some(room.id), "what is left");
    world.writes(C1, Some(&room), "3").await;
    assert_eq!(world.told_in(C1, "c").await, Some(room.id));
    world.store.conversations().forget_conversation(room.id).await.unwrap();
    assert_eq!(world.told_in(C1, "d").await, Some(lobby.id), "it waits until she is back");
    let on_web = world.store.outbox().undelivered(world.ada.workspace, C1).await.unwrap();
    assert!(
        on_web.iter().any(|row| row.turn.as_str() == "notice-d"),
        "and the web shows it meanwhile"
    );
    world.store.conversations().forget_conversation(lobby.id).await.unwrap();
    assert_eq!(world.told_in(C1, "e").await, None);
}
