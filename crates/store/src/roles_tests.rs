use super::*;
use crate::users::{AccountKind, User, UserLimits};

const LIMITS: UserLimits =
    UserLimits { quota_bytes: 1, max_executors: 1, daily_budget: 1, task_budget: 1 };

async fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("cloister.db")).await.unwrap();
    (dir, store)
}

async fn add(store: &Store, name: &str) -> User {
    store.add_user(&name.parse().unwrap(), LIMITS).await.unwrap()
}

async fn held(store: &Store, user: &User) -> Vec<String> {
    let roles = store.roles_of(user.id).await.unwrap();
    roles.into_iter().map(|held| format!("{}@{}", held.role, held.scope)).collect()
}

#[tokio::test]
async fn the_first_user_rules_and_everyone_is_a_member_of_their_own_workspace() {
    let (_dir, store) = store().await;
    let (ada, bob) = (add(&store, "ada").await, add(&store, "bob").await);
    assert_eq!(held(&store, &ada).await, ["overlord@platform", "member@workspace:w1"]);
    assert_eq!(held(&store, &bob).await, ["member@workspace:w2"]);
}

#[tokio::test]
async fn the_last_overlord_stays() {
    let (_dir, store) = store().await;
    let (ada, bob) = (add(&store, "ada").await, add(&store, "bob").await);
    let take = |user: &User| {
        let (store, user) = (store.clone(), user.id);
        async move { store.take_role(user, "overlord", "platform", "ada").await.unwrap() }
    };
    assert_eq!(take(&ada).await, TakenRole::LastOverlord);
    assert_eq!(take(&bob).await, TakenRole::NotHeld);
    assert!(store.give_role(bob.id, "overlord", "platform", "ada").await.unwrap());
    assert!(!store.give_role(bob.id, "overlord", "platform", "ada").await.unwrap());
    assert_eq!(take(&ada).await, TakenRole::Taken);
    assert_eq!(take(&bob).await, TakenRole::LastOverlord);
    assert_eq!(held(&store, &ada).await, ["member@workspace:w1"]);
}

#[tokio::test]
async fn nobody_logs_in_as_a_community() {
    use crate::tokens::TokenKind;
    let (_dir, store) = store().await;
    add(&store, "ada").await;
    let name = "book-club".parse().unwrap();
    let club = store.add_account(&name, AccountKind::Community, LIMITS, "ada").await.unwrap();
    assert_eq!(club.kind, AccountKind::Community);
    for kind in [TokenKind::Session, TokenKind::Login] {
        assert!(store.add_token(kind, "hash", club.id, i64::MAX).await.is_err());
    }
    assert!(store.session_owner("hash").await.unwrap().is_none());
}
