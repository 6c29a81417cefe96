use super::*;
use crate::db::Store;
use crate::test_world::{LIMITS, add, store};
use crate::users::{AccountKind, User};

async fn held(store: &Store, user: &User) -> Vec<String> {
    let roles = store.users().roles_of(user.id).await.unwrap();
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
        async move {
            store
                .users()
                .take_role(&Actor::person("ada"), user, ("overlord", "platform"), &[])
                .await
                .unwrap()
        }
    };
    assert!(matches!(take(&ada).await, TakenRole::LastOverlord));
    assert!(matches!(take(&bob).await, TakenRole::NotHeld));
    let actor = Actor::person("ada");
    let give = || store.users().give_role(&actor, bob.id, ("overlord", "platform"), &[]);
    assert!(give().await.unwrap().is_some());
    assert!(give().await.unwrap().is_none());
    assert!(matches!(take(&ada).await, TakenRole::Taken(_)));
    assert!(matches!(take(&bob).await, TakenRole::LastOverlord));
    assert_eq!(held(&store, &ada).await, ["member@workspace:w1"]);
}

#[tokio::test]
async fn nobody_logs_in_as_a_community() {
    use crate::tokens::TokenKind;
    let (_dir, store) = store().await;
    add(&store, "ada").await;
    let name = "book-club".parse().unwrap();
    let club = store
        .users()
        .add_account(&Actor::person("ada"), &name, AccountKind::Community, LIMITS)
        .await
        .unwrap();
    assert_eq!(club.kind, AccountKind::Community);
    for kind in [TokenKind::Session, TokenKind::Login] {
        assert!(
            store
                .users()
                .add_token(&Actor::person("test"), kind, "hash", club.id, i64::MAX)
                .await
                .is_err()
        );
    }
    assert!(store.users().session_owner("hash").await.unwrap().is_none());
}

/// Whose a workspace is, is told of a role in it and finds it in their own audit; once, for what did happen.
#[tokio::test]
async fn whom_a_role_concerns_is_told_with_the_change() {
    let (_dir, store) = store().await;
    let (ada, bob) = (add(&store, "ada").await, add(&store, "bob").await);
    store.chats().ensure_first_chat(&Actor::person("test"), ada.workspace).await.unwrap();
    let chat = ChatId::from_number(1);
    let scope = format!("workspace:{}", ada.workspace);
    let concerned =
        [Concerned { user: ada.id, chat: (ada.workspace, chat), text: "bob sees".to_owned() }];
    let actor = Actor::person("root");
    let give = || store.users().give_role(&actor, bob.id, ("viewer", &scope), &concerned);
    assert_eq!(give().await.unwrap().map(|told| told.len()), Some(1));
    assert!(give().await.unwrap().is_none());
    let taken = store
        .users()
        .take_role(&Actor::person("root"), bob.id, ("viewer", &scope), &concerned)
        .await
        .unwrap();
    assert!(matches!(taken, TakenRole::Taken(told) if told.len() == 1));
    let rows = store.outbox().outbox_after(ada.workspace, chat, 0).await.unwrap();
    assert_eq!(rows.len(), 2);
    let entries =
        store.audit().audit_among(&[cloister_vault::Owner::User(ada.id)], None, 10).await.unwrap();
    let entries: Vec<_> = entries.iter().filter(|entry| entry.actor == "root").collect();
    let said = |action: &str| entries.iter().filter(|entry| entry.action == action).count();
    assert_eq!((said("role.give"), said("role.take")), (1, 1), "{entries:?}");
    assert!(entries.iter().all(|entry| entry.detail == format!("of {}", bob.id)), "{entries:?}");
}
