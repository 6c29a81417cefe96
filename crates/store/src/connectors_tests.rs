use cloister_protocol::link::Cause;
use cloister_protocol::{AgentFrame, ChatId, Update, UserId, WorkspaceId};

use super::*;
use crate::conversations::{Conversation, ConversationKind, NewConversation};
use crate::db::Store;
use crate::inbox::{HeardIn, Inbound, Meant, MostOpen};
use crate::test_world;

const C1: ChatId = ChatId::from_number(1);
const DAY: i64 = 86_400_000;

struct World {
    _dir: tempfile::TempDir,
    store: Store,
    workspace: WorkspaceId,
    user: UserId,
}

async fn world() -> World {
    let (dir, store) = test_world::store().await;
    let ada = test_world::add(&store, "ada").await;
    store.chats().ensure_first_chat(&Actor::person("test"), ada.workspace).await.unwrap();
    World { _dir: dir, store, workspace: ada.workspace, user: ada.id }
}

fn bot(account: &str) -> NewConnector {
    let settings = serde_json::json!({"encrypted": true});
    NewConnector { settings, ..test_world::bot("matrix", account) }
}

impl World {
    async fn room(&self, connector: ConnectorId, id: &str) -> Conversation {
        let new = NewConversation {
            connector,
            external_id: Some(id.into()),
            chat: (self.workspace, C1),
            kind: ConversationKind::Room,
            user: Some(self.user),
        };
        self.store.conversations().put_conversation(&new).await.unwrap()
    }

    async fn heard(&self, room: &Conversation, id: &str) -> i64 {
        let cause = Cause::Message {
            from: "ada".into(),
            text: "hi".into(),
            attachments: Vec::new(),
            instead: None,
        };
        let inbound = Inbound {
            source: "matrix".into(),
            external_id: id.into(),
            workspace: self.workspace,
            chat: C1,
            cause,
            meant: Meant::Words,
            heard_in: Some(HeardIn { conversation: room.id, origin: Some("$thread".into()) }),
        };
        let most = MostOpen { of_person: 100, in_workspace: 100, in_all: 100 };
        match self.store.inbox().take_message(inbound, most).await.unwrap() {
            crate::inbox::Taken::Stored(accepted) => accepted.item.id,
            refused => panic!("{refused:?}"),
        }
    }

    async fn notice(&self, key: &str) {
        let frame = AgentFrame::Update(Update::Notice { text: key.into() });
        self.store.outbox().notify((self.workspace, C1), key, &frame).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn an_account_is_added_once_and_keeps_its_position() {
    let world = world().await;
    let first = world
        .store
        .conversations()
        .put_connector(&Actor::person("test"), &bot("@a:b"))
        .await
        .unwrap();
    world.store.conversations().set_position(first.id, "s42").await.unwrap();
    let moved = NewConnector { address: "https://moved".into(), ..bot("@a:b") };
    let again =
        world.store.conversations().put_connector(&Actor::person("test"), &moved).await.unwrap();
    assert_eq!((again.id, again.address.as_str()), (first.id, "https://moved"));
    assert_eq!(again.position.as_deref(), Some("s42"));
    world
        .store
        .conversations()
        .put_connector(&Actor::person("test"), &bot("@other:b"))
        .await
        .unwrap();
    assert_eq!(world.store.conversations().connectors("matrix").await.unwrap().len(), 2);
    assert!(world.store.conversations().connectors("telegram").await.unwrap().is_empty());
    assert!(world.store.conversations().connector("matrix", "@nobody:b").await.is_err());
}

/// X1: what was still to be told by an account that is removed is told on the web, and what is answered later
/// is as well.
#[tokio::test]
async fn what_a_removed_account_was_to_tell_is_told_on_the_web() {
    let world = world().await;
    let (gone, stays) = (
        world
            .store
            .conversations()
            .put_connector(&Actor::person("test"), &bot("@gone:b"))
            .await
            .unwrap()
            .id,
        world
            .store
            .conversations()
            .put_connector(&Actor::person("test"), &bot("@stays:b"))
            .await
            .unwrap()
            .id,
    );
    let other = world.room(stays, "!stays").await;
    let room = world.room(gone, "!gone").await;
    world.heard(&other, "1").await;
    world.notice("for the other").await;
    let open = world.heard(&room, "2").await;
    world.notice("for the room").await;
    world.store.chats().set_home(gone, world.user, Some("!space")).await.unwrap();
    world.store.outbox().begin_post(room.id, "key", None).await.unwrap();
    assert_eq!(world.store.outbox().to_tell(room.id).await.unwrap().len(), 1);

    world.store.conversations().remove_connector(&Actor::person("ada"), gone).await.unwrap();
    let on_web = world.store.outbox().undelivered(world.workspace, C1).await.unwrap();
    let [told] = on_web.as_slice() else { panic!("{on_web:?}") };
    assert!(
        matches!(&told.frame, AgentFrame::Update(Update::Notice { text }) if text == "for the room")
    );
    assert_eq!(
        world.store.outbox().to_tell(other.id).await.unwrap().len(),
        1,
        "another account's stays its"
    );
    assert_eq!(world.store.chats().home(gone, world.user).await.unwrap(), None);
    assert!(world.store.conversations().of(gone).await.unwrap().is_empty());
    assert!(
        world.store.conversations().remove_connector(&Actor::person("ada"), gone).await.is_err(),
        "it is gone"
    );
    assert_eq!(
        world.store.chats().chat(world.workspace, C1).await.unwrap().id,
        C1,
        "the chat stays"
    );

    // The message that was heard there and is answered only now.
    let turn = crate::inbox::trigger_id(open).map(|id| cloister_protocol::TurnId::of_trigger(&id));
    let turn = turn.unwrap();
    let frame = AgentFrame::Update(Update::Notice { text: "answer".into() });
    let ended =
        world.store.outbox().end_turn(open, (world.workspace, C1), &turn, Some(&frame)).await;
    assert_eq!(ended.unwrap().told.unwrap().conversation, None);
    assert_eq!(world.store.outbox().undelivered(world.workspace, C1).await.unwrap().len(), 2);
    // What answers nothing goes to what is left.
    world.notice("later").await;
    assert_eq!(world.store.outbox().to_tell(other.id).await.unwrap().len(), 2);
    world.store.conversations().remove_connector(&Actor::person("ada"), stays).await.unwrap();
    world.notice("last").await;
    assert_eq!(world.store.outbox().undelivered(world.workspace, C1).await.unwrap().len(), 5);
}

/// X9: a stranger is told once in a time, also after a restart, which forgets nothing of it.
#[tokio::test]
async fn a_stranger_is_told_once_in_a_time() {
    let world = world().await;
    let eve = ("matrix", "@eve:b");
    assert!(world.store.conversations().tell_stranger(eve, DAY).await.unwrap());
    assert!(!world.store.conversations().tell_stranger(eve, DAY).await.unwrap());
    assert!(world.store.conversations().tell_stranger(("telegram", "@eve:b"), DAY).await.unwrap());
    assert!(
        world.store.conversations().tell_stranger(("matrix", "@mallory:b"), DAY).await.unwrap()
    );
    assert!(world.store.conversations().tell_stranger(eve, -1).await.unwrap(), "the time is over");
    let (a, b) = tokio::join!(
        world.store.conversations().tell_stranger(("matrix", "@new:b"), DAY),
        world.store.conversations().tell_stranger(("matrix", "@new:b"), DAY)
    );
    assert_eq!(u8::from(a.unwrap()) + u8::from(b.unwrap()), 1, "two messages at once, one answer");
}

/// What an operator is shown of an account: what it has to do, and not what can't be done any more.
#[tokio::test]
async fn the_load_of_an_account_is_what_waits_where_it_can_be_told() {
    let world = world().await;
    let (busy, idle) = (
        world
            .store
            .conversations()
            .put_connector(&Actor::person("test"), &bot("@busy:b"))
            .await
            .unwrap()
            .id,
        world
            .store
            .conversations()
            .put_connector(&Actor::person("test"), &bot("@idle:b"))
            .await
            .unwrap()
            .id,
    );
    let room = world.room(busy, "!room").await;
    world.heard(&room, "1").await;
    world.notice("one").await;
    world.notice("two").await;
    let loads = world.store.conversations().connector_loads().await.unwrap();
    let [first, second] = loads.as_slice() else { panic!("{loads:?}") };
    assert_eq!((first.connector, first.account.as_str()), (busy, "@busy:b"));
    assert_eq!((first.conversations, first.waiting), (1, 2));
    assert!(first.oldest_waiting_at.is_some());
    assert_eq!((second.connector, second.conversations, second.waiting), (idle, 0, 0));
    assert_eq!(second.oldest_waiting_at, None);

    world.store.conversations().set_broken(room.id, Some("everybody left")).await.unwrap();
    let loads = world.store.conversations().connector_loads().await.unwrap();
    assert_eq!((loads[0].waiting, loads[0].oldest_waiting_at), (0, None));
}
