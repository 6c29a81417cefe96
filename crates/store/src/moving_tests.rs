use cloister_protocol::ChatId;

use crate::actor::Actor;
use crate::connectors::Connector;
use crate::contexts::{self, Context, Lists};
use crate::conversations::{ConversationKind, NewConversation};
use crate::db::Store;
use crate::test_world;
use crate::waiting::{ToWait, WhyWaiting};

struct World {
    _dir: tempfile::TempDir,
    store: Store,
    connector: Connector,
    chat: (cloister_protocol::WorkspaceId, ChatId),
}

async fn world() -> World {
    let (dir, store) = test_world::store().await;
    let ada = test_world::add(&store, "ada").await;
    let bot = test_world::bot("telegram", "@bot");
    let connector =
        store.conversations().put_connector(&Actor::person("test"), &bot).await.unwrap();
    let context = Context {
        workspace: ada.workspace,
        name: "guild".into(),
        inherits: contexts::OUTERMOST.into(),
        prompt: String::new(),
        lists: Lists::default(),
        conversation: Some(contexts::Conversation { surface: "telegram".into(), id: "-5".into() }),
        chat: None,
        created_at: 0,
    };
    let chat =
        store.chats().put_context(&Actor::person("ada"), &context).await.unwrap().chat.unwrap();
    for id in ["-5", "-5/7", "-55"] {
        let new = NewConversation {
            connector: connector.id,
            external_id: Some(id.into()),
            chat: (ada.workspace, chat),
            kind: ConversationKind::Shared,
            user: None,
        };
        store.conversations().put_conversation(&new).await.unwrap();
    }
    World { _dir: dir, store, connector, chat: (ada.workspace, chat) }
}

/// X1: a group that Telegram turns into a supergroup stays the context that it was, with all that is known of
/// it; another group with a similar number does not move, and hearing of it twice changes nothing.
#[tokio::test]
async fn what_a_group_is_follows_it_to_its_new_number() {
    let world = world().await;
    let (store, connector) = (&world.store, &world.connector);
    assert!(
        store
            .conversations()
            .conversation_moved(&Actor::person("test"), connector, "-5", "-1005")
            .await
            .unwrap()
    );
    assert!(
        !store
            .conversations()
            .conversation_moved(&Actor::person("test"), connector, "-5", "-1005")
            .await
            .unwrap()
    );
    let there = contexts::Conversation { surface: "telegram".into(), id: "-1005".into() };
    let context = store.chats().context_of(&there).await.unwrap().unwrap();
    assert_eq!((context.workspace, context.chat), (world.chat.0, Some(world.chat.1)));
    let known = store.conversations().of(connector.id).await.unwrap();
    let ids: Vec<_> = known.into_iter().filter_map(|known| known.external_id).collect();
    assert_eq!(ids, ["-1005", "-1005/7", "-55"]);
}

impl World {
    async fn waits(&self, place: &str, event: &str) {
        let (connector, why) = (self.connector.id, WhyWaiting::NoFile);
        let waits = ToWait { connector, place, event, why, sealed: Some("{}") };
        assert!(self.store.inbox().let_wait(waits).await.unwrap());
    }

    async fn places(&self) -> Vec<String> {
        self.store.inbox().waiting_places(self.connector.id, false).await.unwrap()
    }

    async fn known(&self) -> Vec<String> {
        let known = self.store.conversations().of(self.connector.id).await.unwrap();
        known.into_iter().filter_map(|known| known.external_id).collect()
    }
}

/// X1: a message that waits for its file when its group gets another number is not lost.
#[tokio::test]
async fn what_waits_follows_as_well() {
    let world = world().await;
    for (place, event) in [("-5", "-5-1"), ("-5/7", "-5-2"), ("-55", "-55-1")] {
        world.waits(place, event).await;
    }
    world
        .store
        .conversations()
        .conversation_moved(&Actor::person("test"), &world.connector, "-5", "-1005")
        .await
        .unwrap();
    assert_eq!(world.places().await, ["-1005", "-1005/7", "-55"]);
    let row =
        world.store.inbox().first_waiting(world.connector.id, "-1005", 9).await.unwrap().remove(0);
    assert_eq!(row.event, "-5-1", "under the name that it had");
}

/// I3: where the new number is another context already, what belongs to the old one stays out of it.
#[tokio::test]
async fn a_number_that_is_another_context_is_not_taken_over() {
    let world = world().await;
    let there = contexts::Conversation { surface: "telegram".into(), id: "-5".into() };
    let mut other = world.store.chats().context_of(&there).await.unwrap().unwrap();
    other.name = "other".into();
    other.conversation = Some(contexts::Conversation { id: "-1005".into(), ..there });
    other.chat = None;
    world.store.chats().put_context(&Actor::person("ada"), &other).await.unwrap();
    world.waits("-5", "-5-1").await;
    assert!(
        !world
            .store
            .conversations()
            .conversation_moved(&Actor::person("test"), &world.connector, "-5", "-1005")
            .await
            .unwrap()
    );
    assert_eq!(world.known().await, ["-5", "-5/7", "-55"]);
    assert_eq!(world.places().await, ["-1005"], "it is heard where the people are");
}

/// A topic that somebody deleted: what waits to be told is told in the next one.
#[tokio::test]
async fn a_room_that_is_lost_is_made_anew() {
    let world = world().await;
    let (store, connector) = (&world.store, &world.connector);
    let new = NewConversation {
        connector: connector.id,
        external_id: Some("42/7".into()),
        chat: world.chat,
        kind: ConversationKind::Room,
        user: None,
    };
    let room = store.conversations().put_conversation(&new).await.unwrap();
    store.conversations().set_shown(room.id, "guild", false).await.unwrap();
    store.conversations().set_broken(room.id, Some("the topic was deleted")).await.unwrap();
    store.conversations().make_anew(room.id).await.unwrap();
    let to_mend = store.conversations().conversations_to_mend(connector.id).await.unwrap();
    let [wanted] = to_mend.as_slice() else { panic!("one is wanted: {to_mend:?}") };
    assert_eq!(
        (wanted.conversation.id, wanted.conversation.external_id.as_deref()),
        (room.id, None)
    );
}
