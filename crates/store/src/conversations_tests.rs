use cloister_protocol::link::Cause;
use cloister_protocol::{AgentFrame, TurnId, Update};

use super::*;
use crate::actor::Actor;
use crate::db::Store;
use crate::inbox::Inbound;
use crate::test_world;

const C1: ChatId = ChatId::from_number(1);

struct World {
    _dir: tempfile::TempDir,
    store: Store,
    workspace: WorkspaceId,
    user: UserId,
    connector: ConnectorId,
}

async fn world() -> World {
    let (dir, store) = test_world::store().await;
    let ada = test_world::add(&store, "ada").await;
    store.chats().ensure_first_chat(&Actor::person("test"), ada.workspace).await.unwrap();
    let connector = test_world::connector(&store, "matrix", "@bot:a").await;
    World { _dir: dir, store, workspace: ada.workspace, user: ada.id, connector }
}

impl World {
    fn conversation(&self, kind: ConversationKind, id: Option<&str>) -> NewConversation {
        NewConversation {
            connector: self.connector,
            external_id: id.map(str::to_owned),
            chat: (self.workspace, C1),
            kind,
            user: Some(self.user),
        }
    }

    async fn put(&self, kind: ConversationKind, id: Option<&str>) -> Conversation {
        self.store.conversations().put_conversation(&self.conversation(kind, id)).await.unwrap()
    }

    async fn to_mend(&self) -> Vec<(Option<String>, String, bool)> {
        let mend = self.store.conversations().conversations_to_mend(self.connector).await.unwrap();
        mend.into_iter().map(|m| (m.conversation.external_id, m.title, m.archived)).collect()
    }
}

/// X2, X4: a chat has one room per account, however often and at once it is put in place.
#[tokio::test]
async fn rooms_that_race_are_one_row() {
    let world = world().await;
    let wanted = world.conversation(ConversationKind::Room, None);
    let made = world.conversation(ConversationKind::Room, Some("!a"));
    let mut puts = tokio::task::JoinSet::new();
    for n in 0..20 {
        let (store, new) = (world.store.clone(), if n % 2 == 0 { &wanted } else { &made }.clone());
        puts.spawn(async move { store.conversations().put_conversation(&new).await.unwrap().id });
    }
    let ids = puts.join_all().await;
    assert!(ids.windows(2).all(|pair| pair.first() == pair.last()), "{ids:?}");
    let all = world.store.conversations().of(world.connector).await.unwrap();
    let [one] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!(one.external_id.as_deref(), Some("!a"), "what was wanted is what was made");
    let another = world.put(ConversationKind::Room, Some("!b")).await;
    assert_eq!(another.external_id.as_deref(), Some("!a"), "a second room of a chat is not taken");
}

#[tokio::test]
async fn a_conversation_shows_one_chat() {
    let world = world().await;
    let lobby = world.put(ConversationKind::Lobby, Some("!dm")).await;
    let again = world.put(ConversationKind::Room, Some("!dm")).await;
    assert_eq!((again.id, again.kind), (lobby.id, ConversationKind::Lobby));
    let room = world.put(ConversationKind::Room, Some("!room")).await;
    assert_ne!(room.id, lobby.id, "a chat has a lobby and a room");
    world.store.conversations().set_broken(room.id, Some("left")).await.unwrap();
    let found =
        world.store.conversations().conversation(world.connector, "!room").await.unwrap().unwrap();
    assert_eq!(found.broken.as_deref(), Some("left"));
    let mended = world.put(ConversationKind::Room, Some("!room")).await;
    assert_eq!((mended.id, mended.broken), (room.id, None), "what is put in place works again");
}

/// X4: what the surface does not show as it is, and nothing else, is to be mended.
#[tokio::test]
async fn what_is_not_shown_as_it_is_is_to_be_mended() {
    let world = world().await;
    let workspace = world.workspace;
    let room = world.put(ConversationKind::Room, None).await;
    assert_eq!(world.to_mend().await, [(None, String::new(), false)], "to be made");
    world.store.chats().archive_chat(&Actor::person("test"), workspace, C1, true).await.unwrap();
    assert!(world.to_mend().await.is_empty(), "a room of an archived chat is not made");
    world.store.chats().archive_chat(&Actor::person("test"), workspace, C1, false).await.unwrap();
    world.put(ConversationKind::Room, Some("!a")).await;
    world.store.conversations().set_shown(room.id, "", false).await.unwrap();
    assert!(world.to_mend().await.is_empty(), "shown as it is");
    world.store.chats().rename_chat(&Actor::person("test"), workspace, C1, "Taxes").await.unwrap();
    assert_eq!(world.to_mend().await, [(Some("!a".into()), "Taxes".into(), false)]);
    world.store.chats().archive_chat(&Actor::person("test"), workspace, C1, true).await.unwrap();
    world.store.conversations().set_shown(room.id, "Taxes", false).await.unwrap();
    assert_eq!(world.to_mend().await, [(Some("!a".into()), "Taxes".into(), true)]);
    world.store.conversations().set_broken(room.id, Some("left")).await.unwrap();
    assert!(world.to_mend().await.is_empty(), "nothing can be done there");
    world.put(ConversationKind::Lobby, Some("!dm")).await;
    assert!(world.to_mend().await.is_empty(), "a person's own conversation is left as it is");
}

#[tokio::test]
async fn a_forgotten_conversation_tells_on_the_web() {
    let world = world().await;
    let lobby = world.put(ConversationKind::Lobby, Some("!dm")).await;
    let inbound = crate::inbox::Inbound {
        source: "matrix".into(),
        external_id: "1".into(),
        workspace: world.workspace,
        chat: C1,
        cause: cloister_protocol::link::Cause::Message {
            from: "ada".into(),
            text: "hi".into(),
            attachments: Vec::new(),
            instead: None,
        },
        meant: crate::inbox::Meant::Words,
        heard_in: Some(HeardIn { conversation: lobby.id, origin: None }),
    };
    let most = crate::inbox::MostOpen { of_person: 9, in_workspace: 9, in_all: 9 };
    world.store.inbox().take_message(inbound, most).await.unwrap();
    let frame = AgentFrame::Update(Update::Notice { text: "x".into() });
    world.store.outbox().notify((world.workspace, C1), "x", &frame).await.unwrap().unwrap();
    assert_eq!(world.store.outbox().to_tell(lobby.id).await.unwrap().len(), 1);
    world.store.conversations().forget_conversation(lobby.id).await.unwrap();
    assert_eq!(world.store.outbox().undelivered(world.workspace, C1).await.unwrap().len(), 1);
    let owed = world.store.inbox().unanswered(world.workspace).await.unwrap();
    assert_eq!(owed.first().unwrap().conversation, None, "it is answered on the web");
}

#[tokio::test]
async fn a_home_is_kept_until_it_is_replaced() {
    let world = world().await;
    let (connector, user) = (world.connector, world.user);
    assert_eq!(world.store.chats().home(connector, user).await.unwrap(), None);
    for home in ["!one", "!two"] {
        world.store.chats().set_home(connector, user, Some(home)).await.unwrap();
        assert_eq!(world.store.chats().homes(connector).await.unwrap(), [(user, home.to_owned())]);
    }
    world.store.chats().set_home(connector, user, None).await.unwrap();
    assert!(world.store.chats().homes(connector).await.unwrap().is_empty());
}

/// X2: who comes to a surface finds a room for each of their chats, and each new chat gets one in every home.
#[tokio::test]
async fn every_chat_of_a_person_is_wanted_as_a_room_once() {
    let world = world().await;
    let (store, workspace) = (&world.store, world.workspace);
    store.chats().new_chat(&Actor::person("test"), workspace, "before", None).await.unwrap();
    let archived =
        store.chats().new_chat(&Actor::person("test"), workspace, "put away", None).await.unwrap();
    store.chats().archive_chat(&Actor::person("test"), workspace, archived.id, true).await.unwrap();
    assert!(world.to_mend().await.is_empty(), "nobody came yet");

    for _ in 0..2 {
        store.conversations().want_rooms(world.connector, world.user, workspace).await.unwrap();
    }
    let title = |titles: &[&str]| titles.iter().map(|t| (None, (*t).to_owned(), false)).collect();
    let expected: Vec<_> = title(&["", "before"]);
    assert_eq!(world.to_mend().await, expected);

    store.chats().set_home(world.connector, world.user, Some("!space")).await.unwrap();
    for _ in 0..2 {
        store
            .chats()
            .new_chat(&Actor::person("test"), workspace, "after", Some("once"))
            .await
            .unwrap();
    }
    let expected: Vec<_> = title(&["", "before", "after"]);
    assert_eq!(world.to_mend().await, expected);
}

/// X4: what is known of a room is lost while a turn runs; its answer goes to the room that shows the chat then,
/// and to the web where there is none.
#[tokio::test]
async fn an_answer_finds_its_way_when_its_conversation_was_forgotten() {
    let world = world().await;
    let (store, workspace) = (&world.store, world.workspace);
    for (message, found_again) in [("one", true), ("two", false)] {
        let room = world.put(ConversationKind::Room, Some("!a")).await;
        let inbound = Inbound {
            source: "matrix".to_owned(),
            external_id: message.to_owned(),
            workspace,
            chat: C1,
            cause: Cause::Message {
                from: "ada".to_owned(),
                text: message.to_owned(),
                attachments: Vec::new(),
                instead: None,
            },
            meant: crate::inbox::Meant::Words,
            heard_in: Some(HeardIn { conversation: room.id, origin: None }),
        };
        let item = store.inbox().accept(inbound).await.unwrap().item;
        store
            .conversations()
            .forget_conversations(&Actor::person("ada"), world.connector)
            .await
            .unwrap();
        let again = if found_again {
            Some(world.put(ConversationKind::Room, Some("!a")).await.id)
        } else {
            None
        };
        let turn = TurnId::of_trigger(&item.trigger().unwrap());
        let frame = AgentFrame::Update(Update::Notice { text: "done".to_owned() });
        let ended =
            store.outbox().end_turn(item.id, (workspace, C1), &turn, Some(&frame)).await.unwrap();
        assert_eq!(ended.told.unwrap().conversation, again);
        if let Some(room) = again {
            store.conversations().forget_conversation(room).await.unwrap();
        }
    }
}
