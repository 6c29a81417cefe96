use cloister_protocol::{ChatId, WorkspaceId};

use super::*;
use crate::actor::Actor;
use crate::conversations::Conversation;
use crate::db::Store;
use crate::test_world;

struct World {
    _dir: tempfile::TempDir,
    store: Store,
    connector: ConnectorId,
    user: UserId,
    workspace: WorkspaceId,
}

const HOME: &str = "42";

async fn world() -> World {
    let (dir, store) = test_world::store().await;
    let ada = test_world::add(&store, "ada").await;
    store.chats().ensure_first_chat(&Actor::person("test"), ada.workspace).await.unwrap();
    let connector = test_world::connector(&store, "telegram", "@bot").await;
    store.chats().set_home(connector, ada.id, Some(HOME)).await.unwrap();
    World { _dir: dir, store, connector, user: ada.id, workspace: ada.workspace }
}

impl World {
    async fn conversation(&self, id: Option<&str>, chat: u32, kind: ConversationKind) -> i64 {
        let new = NewConversation {
            connector: self.connector,
            external_id: id.map(str::to_owned),
            chat: (self.workspace, ChatId::from_number(chat)),
            kind,
            user: Some(self.user),
        };
        self.store.conversations().put_conversation(&new).await.unwrap().id.number()
    }

    /// A message that was heard in a conversation, an answer that waits there and one that was given.
    async fn heard_in(&self, id: i64) {
        let mut tx = self.store.begin().await.unwrap();
        for insert in [
            "INSERT INTO inbox (workspace_id, chat, source, external_id, cause, state, received_at, conversation) \
             VALUES (?1, 2, 'telegram', 'm' || ?2, '{}', 'answered', 0, ?2)",
            "INSERT INTO outbox (workspace_id, chat, turn, seq, frame, created_at, conversation) \
             VALUES (?1, 2, 't' || ?2, 1, '{}', 0, ?2)",
            "INSERT INTO outbox (workspace_id, chat, turn, seq, frame, created_at, conversation, delivered_at) \
             VALUES (?1, 2, 't' || ?2, 2, '{}', 0, ?2, 1)",
            "UPDATE chats SET last_conversation = ?2 WHERE workspace_id = ?1",
            "UPDATE workspaces SET last_conversation = ?2 WHERE id = ?1",
        ] {
            let query = sqlx::query(insert).bind(self.workspace.number()).bind(id);
            query.execute(&mut *tx).await.unwrap();
        }
        tx.commit().await.unwrap();
    }

    async fn numbers(&self, query: &'static str) -> Vec<Option<i64>> {
        sqlx::query_scalar(query).fetch_all(self.store.reader()).await.unwrap()
    }

    async fn all(&self) -> Vec<Conversation> {
        self.store.conversations().of(self.connector).await.unwrap()
    }
}

/// X5: where no rooms are made any more, what waits for one is told in the person's lobby, and nothing stays behind.
#[tokio::test]
async fn what_waits_for_a_room_is_told_in_the_lobby() {
    let world = world().await;
    let lobby = world.conversation(Some(HOME), 1, ConversationKind::Lobby).await;
    let made = world.conversation(Some("42/7"), 1, ConversationKind::Room).await;
    let unmade = world.conversation(None, 2, ConversationKind::Room).await;
    world.heard_in(unmade).await;
    assert!(world.store.chats().give_up_rooms(world.connector, Some(world.user)).await.unwrap());
    assert_eq!(world.store.chats().home(world.connector, world.user).await.unwrap(), None);
    let left: Vec<_> = world.all().await.into_iter().map(|left| left.id.number()).collect();
    assert_eq!(left, [lobby, made], "what is there stays");
    assert_eq!(world.numbers("SELECT conversation FROM inbox").await, [Some(lobby)]);
    let told = world.numbers("SELECT conversation FROM outbox ORDER BY seq").await;
    assert_eq!(told, [Some(lobby), Some(unmade)], "what was told was told elsewhere");
    assert_eq!(world.numbers("SELECT last_conversation FROM chats").await, [Some(lobby)]);
    let last = world.numbers("SELECT last_conversation FROM workspaces WHERE user_id IS NOT NULL");
    assert_eq!(last.await, [Some(lobby)]);
    let again = world.store.chats().give_up_rooms(world.connector, None).await.unwrap();
    assert!(!again, "the same again changes nothing");
}

/// Who never wrote outside of topics has a lobby all the same.
#[tokio::test]
async fn a_lobby_is_made_where_the_home_is() {
    let world = world().await;
    let unmade = world.conversation(None, 1, ConversationKind::Room).await;
    world.heard_in(unmade).await;
    assert!(world.store.chats().give_up_rooms(world.connector, None).await.unwrap());
    let all = world.all().await;
    let [lobby] = all.as_slice() else { panic!("one is left: {all:?}") };
    assert_eq!((lobby.kind, lobby.external_id.as_deref()), (ConversationKind::Lobby, Some(HOME)));
    assert_eq!((lobby.user, lobby.chat.number()), (Some(world.user), 1));
    let waiting = world.store.outbox().conversations_to_tell(world.connector).await.unwrap();
    assert_eq!(waiting, [lobby.id]);
}

/// Another person's rooms, and another connector's, are not touched.
#[tokio::test]
async fn others_keep_their_rooms() {
    let world = world().await;
    world.conversation(None, 1, ConversationKind::Room).await;
    let somebody = UserId::from_number(999);
    assert!(!world.store.chats().give_up_rooms(world.connector, Some(somebody)).await.unwrap());
    let elsewhere = ConnectorId::from_number(999);
    assert!(!world.store.chats().give_up_rooms(elsewhere, None).await.unwrap());
    assert_eq!(world.store.chats().homes(world.connector).await.unwrap().len(), 1);
    assert_eq!(world.all().await.len(), 1);
}
