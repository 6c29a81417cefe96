use super::*;
use crate::db::Store;
use crate::test_world;

const HOUR: i64 = 3_600_000;

async fn store() -> (tempfile::TempDir, Store, UserId) {
    let (dir, store) = test_world::store().await;
    let user = test_world::add(&store, "ada").await.id;
    (dir, store, user)
}

fn issue(store: &Store) -> Issue {
    let now = store.clock.now_ms();
    Issue { root: 1, issued_at: now, expires_at: now + HOUR }
}

#[tokio::test]
async fn an_invitation_works_once_and_only_with_its_secret() {
    let (_dir, store, user) = store().await;
    let expires = store.clock.now_ms() + HOUR;
    let invitation =
        store.clients().invite_client(&Actor::Operator, user, "right", expires).await.unwrap();
    let wrong =
        store.clients().enrol_client(invitation, "wrong", "laptop", issue(&store)).await.unwrap();
    assert!(wrong.is_none());
    let client =
        store.clients().enrol_client(invitation, "right", "laptop", issue(&store)).await.unwrap();
    let client = client.unwrap();
    assert_eq!((client.user, client.name.as_str()), (user, "laptop"));
    let again =
        store.clients().enrol_client(invitation, "right", "laptop", issue(&store)).await.unwrap();
    assert!(again.is_none());
    let refused = store.audit().audit_tail(10).await.unwrap();
    assert_eq!(refused.iter().filter(|row| row.action == "client.enroll_refused").count(), 2);
}

#[tokio::test]
async fn an_invitation_ends_with_its_time_and_with_too_many_guesses() {
    let (_dir, store, user) = store().await;
    let now = store.clock.now_ms();
    let late =
        store.clients().invite_client(&Actor::Operator, user, "right", now - 1).await.unwrap();
    assert!(
        store.clients().enrol_client(late, "right", "x", issue(&store)).await.unwrap().is_none()
    );
    let guessed =
        store.clients().invite_client(&Actor::Operator, user, "right", now + HOUR).await.unwrap();
    for _ in 0..MAX_WRONG {
        store.clients().enrol_client(guessed, "wrong", "x", issue(&store)).await.unwrap();
    }
    assert!(
        store.clients().enrol_client(guessed, "right", "x", issue(&store)).await.unwrap().is_none()
    );
}

#[tokio::test]
async fn a_revoked_client_is_neither_live_nor_renewed_and_its_sessions_end() {
    let (_dir, store, user) = store().await;
    let expires = store.clock.now_ms() + HOUR;
    let invitation =
        store.clients().invite_client(&Actor::Operator, user, "right", expires).await.unwrap();
    let client =
        store.clients().enrol_client(invitation, "right", "laptop", issue(&store)).await.unwrap();
    let id = client.unwrap().id;
    store
        .users()
        .add_token(&Actor::person("test"), crate::tokens::TokenKind::Session, "s", user, expires)
        .await
        .unwrap();
    store.clients().bind_session("s", id).await.unwrap();
    assert_eq!(store.clients().live_clients().await.unwrap(), [LiveClient { id, user }]);
    store.clients().revoke_client(&Actor::Operator, id).await.unwrap();
    assert_eq!(store.clients().live_clients().await.unwrap(), []);
    assert!(store.clients().renew_client(id, issue(&store)).await.is_err());
    assert!(store.users().session_owner("s").await.unwrap().is_none());
}
