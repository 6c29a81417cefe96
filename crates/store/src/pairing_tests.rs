use super::*;
use crate::db::Store;
use crate::test_world;

const LATER: i64 = i64::MAX;

async fn world() -> (tempfile::TempDir, Store, UserId, UserId) {
    let (dir, store) = test_world::store().await;
    let mut users = Vec::new();
    for name in ["ada", "bob"] {
        users.push(test_world::add(&store, name).await.id);
    }
    (dir, store, users[0], users[1])
}

fn account(external_id: &str) -> Account {
    Account {
        surface: "matrix".into(),
        external_id: external_id.into(),
        display_name: "Ada, the operator".into(),
    }
}

#[tokio::test]
async fn a_code_links_once_and_gives_its_role() {
    let (_dir, store, ada, bob) = world().await;
    let hash = code_hash("ABCD2345");
    store.users().add_pairing(&hash, &account("@x:example.org"), LATER).await.unwrap();
    assert!(store.users().pairing(&code_hash("ABCD2346")).await.unwrap().is_none());
    assert_eq!(
        store.users().pairing(&hash).await.unwrap().unwrap().account,
        account("@x:example.org")
    );

    let role = Some(WithRole { role: "viewer", scope: "workspace:w1", concerned: &[] });
    let redeemed =
        store.users().redeem_pairing(&Actor::person("ada"), &hash, bob, role, true).await.unwrap();
    let Redeemed::Linked { pairing, newcomer: true, .. } = redeemed else { panic!("{redeemed:?}") };
    assert_eq!(pairing.account, account("@x:example.org"));
    let linked = store.users().identity("matrix", "@x:example.org").await.unwrap().unwrap();
    assert_eq!((linked.user, linked.linked_by.as_str()), (bob, "ada"));
    let roles = store.users().roles_of(bob).await.unwrap();
    assert!(roles.iter().any(|held| held.role == "viewer" && held.scope == "workspace:w1"));

    let again =
        store.users().redeem_pairing(&Actor::person("ada"), &hash, ada, None, true).await.unwrap();
    assert!(matches!(again, Redeemed::Wrong), "{again:?}");
    assert_eq!(
        store.users().identity("matrix", "@x:example.org").await.unwrap().unwrap().user,
        bob
    );
}

#[tokio::test]
async fn an_account_of_one_person_is_not_linked_to_another() {
    let (_dir, store, ada, bob) = world().await;
    store
        .users()
        .link_identity(&Actor::person("ada"), &account("@x:example.org"), ada)
        .await
        .unwrap();
    let hash = code_hash("ABCD2345");
    store.users().add_pairing(&hash, &account("@x:example.org"), LATER).await.unwrap();
    let stolen = store.users().redeem_pairing(&Actor::person("ada"), &hash, bob, None, true).await;
    assert!(matches!(stolen, Err(StoreError::Exists { .. })), "{stolen:?}");
    assert_eq!(
        store.users().identity("matrix", "@x:example.org").await.unwrap().unwrap().user,
        ada
    );
    assert!(
        store
            .users()
            .unlink_identity(&Actor::person("ada"), bob, "matrix", "@x:example.org")
            .await
            .is_err()
    );
    store
        .users()
        .unlink_identity(&Actor::person("ada"), ada, "matrix", "@x:example.org")
        .await
        .unwrap();
    assert!(store.users().identity("matrix", "@x:example.org").await.unwrap().is_none());
}

#[tokio::test]
async fn expired_codes_and_those_beyond_the_newest_three_are_no_good() {
    let (_dir, store, _ada, bob) = world().await;
    store.users().add_pairing("expired", &account("@x:example.org"), 1).await.unwrap();
    assert!(store.users().pairing("expired").await.unwrap().is_none());
    let late = store
        .users()
        .redeem_pairing(&Actor::person("ada"), "expired", bob, None, true)
        .await
        .unwrap();
    assert!(matches!(late, Redeemed::Wrong), "{late:?}");
    for hash in ["a", "b", "c", "d"] {
        store.users().add_pairing(hash, &account("@x:example.org"), LATER).await.unwrap();
    }
    store.users().add_pairing("other", &account("@y:example.org"), LATER).await.unwrap();
    let mut live = Vec::new();
    for hash in ["a", "b", "c", "d", "other"] {
        if store.users().pairing(hash).await.unwrap().is_some() {
            live.push(hash);
        }
    }
    assert_eq!(live.len(), 4, "{live:?}");
    assert!(live.contains(&"d") && live.contains(&"other"), "{live:?}");
}

/// Whoever is not sure links the first account of somebody who was never here; from then on that
/// person is asked, and the code stays good for it.
#[tokio::test]
async fn only_a_newcomer_is_linked_unasked() {
    let (_dir, store, ada, bob) = world().await;
    for (code, id) in [("first", "@x:example.org"), ("second", "@evil:example.org")] {
        store.users().add_pairing(code, &account(id), LATER).await.unwrap();
    }
    let first = store
        .users()
        .redeem_pairing(&Actor::person("ada"), "first", bob, None, false)
        .await
        .unwrap();
    assert!(matches!(first, Redeemed::Linked { newcomer: true, .. }), "{first:?}");
    for _ in 0..2 {
        let second = store
            .users()
            .redeem_pairing(&Actor::person("ada"), "second", bob, None, false)
            .await
            .unwrap();
        assert!(matches!(second, Redeemed::MustAsk(_)), "{second:?}");
    }
    assert!(store.users().identity("matrix", "@evil:example.org").await.unwrap().is_none());
    // A session is enough to be somebody.
    let kind = crate::tokens::TokenKind::Session;
    assert!(store.users().is_newcomer(ada).await.unwrap());
    store.users().add_token(&Actor::person("test"), kind, "hash", ada, LATER).await.unwrap();
    let third = store
        .users()
        .redeem_pairing(&Actor::person("bob"), "second", ada, None, false)
        .await
        .unwrap();
    assert!(matches!(third, Redeemed::MustAsk(_)), "{third:?}");
    store.users().drop_pairing("second").await.unwrap();
    assert!(store.users().pairing("second").await.unwrap().is_none());
}
