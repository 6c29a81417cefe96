use super::*;
use crate::actor::Actor;
use crate::connectors::ConnectorId;
use crate::conversations::{Conversation, ConversationKind, NewConversation};
use crate::db::Store;
use crate::test_world;
use crate::users::User;

struct World {
    _dir: tempfile::TempDir,
    store: Store,
    ada: User,
    connector: ConnectorId,
}

impl World {
    async fn new() -> Self {
        let (dir, store) = test_world::store().await;
        let ada = test_world::add(&store, "ada").await;
        store.chats().ensure_first_chat(&Actor::person("test"), ada.workspace).await.unwrap();
        let connector = test_world::connector(&store, "telegram", "7").await;
        Self { _dir: dir, store, ada, connector }
    }

    async fn place(&self, name: &str) -> Conversation {
        let new = NewConversation {
            connector: self.connector,
            external_id: Some(name.to_owned()),
            chat: (self.ada.workspace, cloister_protocol::ChatId::from_number(1)),
            kind: ConversationKind::Lobby,
            user: Some(self.ada.id),
        };
        self.store.conversations().put_conversation(&new).await.unwrap()
    }

    async fn keeps(&self, place: &Conversation, token: &str, expires_in: i64) -> String {
        let hash = button_hash(token);
        let until = self.store.clock.now_ms() + expires_in;
        let buttons = [(hash.clone(), format!("press {token}"), until)];
        let user = Some(self.ada.id);
        let new = NewButtons { conversation: place.id, user, buttons: &buttons };
        self.store.inbox().keep_buttons(&new).await.unwrap();
        hash
    }
}

/// X5: a button is known by its hash alone, and is used once, however many press at once.
#[tokio::test]
async fn a_button_is_used_once() {
    let world = World::new().await;
    let place = world.place("1").await;
    let hash = world.keeps(&place, "token", 60_000).await;
    let kept = world.store.inbox().button(&hash).await.unwrap().unwrap();
    assert_eq!((kept.conversation, kept.user), (place.id, Some(world.ada.id)));
    assert_eq!((kept.press.as_str(), kept.used_at), ("press token", None));
    assert_eq!(
        world.store.inbox().button("token").await.unwrap(),
        None,
        "the token itself is not kept"
    );
    let mut presses = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let (store, hash) = (world.store.clone(), hash.clone());
        presses.spawn(async move { store.inbox().use_button(&hash).await.unwrap() });
    }
    let used = presses.join_all().await.into_iter().filter(|used| *used).count();
    assert_eq!(used, 1);
    assert!(world.store.inbox().button(&hash).await.unwrap().unwrap().used_at.is_some());
}

/// X5: what has expired is not used, is known as expired for a while, and is then forgotten.
#[tokio::test]
async fn an_expired_button_is_not_used_and_goes_away() {
    let world = World::new().await;
    let place = world.place("1").await;
    let expired = world.keeps(&place, "expired", -1).await;
    let old = world.keeps(&place, "old", -REMEMBERED_MS - 1).await;
    assert!(!world.store.inbox().use_button(&expired).await.unwrap());
    world.keeps(&place, "new", 60_000).await;
    assert!(world.store.inbox().button(&expired).await.unwrap().is_some());
    assert_eq!(world.store.inbox().button(&old).await.unwrap(), None);
}

/// X11: however many are made, a conversation keeps a bounded number, and the newest of them; with the
/// conversation all of them go.
#[tokio::test]
async fn a_conversation_keeps_a_bounded_number() {
    let world = World::new().await;
    let (place, other) = (world.place("1").await, world.place("2").await);
    let elsewhere = world.keeps(&other, "elsewhere", 60_000).await;
    let until = world.store.clock.now_ms() + 60_000;
    for batch in 0..70 {
        let buttons: Vec<_> =
            (0..32).map(|n| (button_hash(&format!("{batch} {n}")), String::new(), until)).collect();
        let new = NewButtons { conversation: place.id, user: None, buttons: &buttons };
        world.store.inbox().keep_buttons(&new).await.unwrap();
    }
    let count = async || -> i64 {
        let query = "SELECT count(*) FROM buttons WHERE conversation = ?";
        let query = sqlx::query_scalar(query).bind(place.id.number());
        query.fetch_one(world.store.reader()).await.unwrap()
    };
    assert!(count().await <= MOST_KEPT + 32, "{}", count().await);
    assert!(world.store.inbox().button(&button_hash("69 31")).await.unwrap().is_some());
    assert!(world.store.inbox().button(&elsewhere).await.unwrap().is_some());
    world.store.conversations().forget_conversation(place.id).await.unwrap();
    assert_eq!(count().await, 0);
}
