use cloister_protocol::UserId;

use super::*;
use crate::Store;
use crate::actor::Actor;
use crate::inbox::{Inbound, Meant, MostOpen, Taken};
use crate::test_world;
use crate::tokens::TokenKind;
use crate::users::UserLimits;
use cloister_protocol::link::Cause;

const LIMITS: UserLimits =
    UserLimits { quota_bytes: 1 << 20, max_executors: 1, daily_budget: 1_000, task_budget: 1_000 };
const HASH: &str = "a hash";

struct World {
    store: Store,
    user: User,
    _dir: tempfile::TempDir,
}

impl World {
    async fn new() -> Self {
        let (dir, store) = test_world::store().await;
        let user = test_world::add_with(&store, "ada", LIMITS).await;
        store.chats().ensure_first_chat(&Actor::person("test"), user.workspace).await.unwrap();
        let until = store.clock.now_ms() + 60_000;
        store
            .users()
            .add_token(&Actor::person("test"), TokenKind::Session, HASH, user.id, until)
            .await
            .unwrap();
        Self { store, user, _dir: dir }
    }

    fn changes(&self) -> u64 {
        self.store.memory.roles.changes.so_far()
    }

    /// A message, as every turn begins with.
    async fn say(&self, number: u32) {
        let inbound = Inbound {
            source: "test".to_owned(),
            external_id: number.to_string(),
            workspace: self.user.workspace,
            chat: ChatId::from_number(1),
            cause: Cause::Message {
                from: "ada".to_owned(),
                text: "hello".to_owned(),
                attachments: Vec::new(),
                instead: None,
            },
            meant: Meant::Words,
            heard_in: None,
        };
        let most = MostOpen { of_person: 1_000, in_workspace: 1_000, in_all: 1_000 };
        let taken = self.store.inbox().take_message(inbound, most).await.unwrap();
        assert!(matches!(taken, Taken::Stored(_)), "{taken:?}");
    }
}

/// A turn changes nothing that is remembered; whatever else is written does.
#[tokio::test]
async fn turns_leave_what_is_remembered() {
    let world = World::new().await;
    let before = world.changes();
    for number in 0..3 {
        world.say(number).await;
        world.store.inbox().mark_journaled(1).await.unwrap();
    }
    assert_eq!(world.changes(), before);
    world
        .store
        .chats()
        .ensure_first_chat(&Actor::person("test"), world.user.workspace)
        .await
        .unwrap();
    world
        .store
        .users()
        .give_role(&Actor::person("test"), world.user.id, ("member", "platform"), &[])
        .await
        .unwrap();
    assert!(world.changes() > before);
}

/// Whoever was told that something changed finds it changed, however often it was read before.
#[tokio::test]
async fn a_change_counts_as_soon_as_it_is_stored() {
    let world = World::new().await;
    let (store, user) = (&world.store, world.user.id);
    for round in 0..50 {
        let role = |held: &HeldRole| held.scope == "platform" && held.role == "auditor";
        assert!(!store.users().roles_of(user).await.unwrap().iter().any(role), "round {round}");
        store
            .users()
            .give_role(&Actor::person("test"), user, ("auditor", "platform"), &[])
            .await
            .unwrap();
        assert!(store.users().roles_of(user).await.unwrap().iter().any(role), "round {round}");
        store
            .users()
            .take_role(&Actor::person("test"), user, ("auditor", "platform"), &[])
            .await
            .unwrap();
    }
    assert!(store.users().session_owner(HASH).await.unwrap().is_some());
    store.users().end_sessions(&Actor::person("test"), user).await.unwrap();
    assert!(store.users().session_owner(HASH).await.unwrap().is_none());
}

/// Nothing is written when a session expires, and it has expired all the same.
#[tokio::test]
async fn what_expires_is_not_remembered_beyond_its_end() {
    let world = World::new().await;
    let until = world.store.clock.now_ms() + 300;
    world
        .store
        .users()
        .add_token(&Actor::person("test"), TokenKind::Session, "short", world.user.id, until)
        .await
        .unwrap();
    assert!(world.store.users().session_owner("short").await.unwrap().is_some());
    tokio::time::sleep(std::time::Duration::from_millis(400)).await;
    assert!(world.store.users().session_owner("short").await.unwrap().is_none());
}

/// An answer that was on its way while something changed is not kept.
#[tokio::test]
async fn what_was_read_before_a_change_is_not_remembered_after_it() {
    let changes = Changes::default();
    let numbers: Remembered<UserId, u32> = Remembered::new(&changes);
    let user = UserId::from_number(1);
    let late = async {
        changes.add();
        Ok(1)
    };
    assert_eq!(numbers.or_read(user, late).await.unwrap(), 1);
    assert_eq!(numbers.or_read(user, async { Ok(2) }).await.unwrap(), 2);
    assert_eq!(numbers.or_read(user, async { Ok(3) }).await.unwrap(), 2);
}
