use super::*;
use crate::db::Store;
use crate::test_world;

async fn world() -> (tempfile::TempDir, Store, WorkspaceId) {
    let (dir, store) = test_world::store().await;
    let user = test_world::add(&store, "ada").await;
    (dir, store, user.workspace)
}

/// X4: a chat that only a surface remembers comes back under its number, and no later chat takes it.
#[tokio::test]
async fn a_restored_chat_keeps_its_number_and_later_ones_come_after_it() {
    let (_dir, store, workspace) = world().await;
    let fifth = ChatId::from_number(5);
    assert!(
        store
            .chats()
            .restore_chat(&Actor::person("test"), workspace, fifth, "Taxes")
            .await
            .unwrap()
    );
    assert_eq!(store.chats().chat(workspace, fifth).await.unwrap().title, "Taxes");
    assert!(
        store
            .chats()
            .restore_chat(&Actor::person("test"), workspace, ChatId::from_number(2), "")
            .await
            .unwrap()
    );
    let next = store.chats().new_chat(&Actor::person("test"), workspace, "", None).await.unwrap();
    assert_eq!(next.id, ChatId::from_number(6));
}

#[tokio::test]
async fn a_chat_that_is_there_is_not_restored_over() {
    let (_dir, store, workspace) = world().await;
    let first =
        store.chats().new_chat(&Actor::person("test"), workspace, "Mine", None).await.unwrap().id;
    assert!(
        !store
            .chats()
            .restore_chat(&Actor::person("test"), workspace, first, "Theirs")
            .await
            .unwrap()
    );
    assert_eq!(store.chats().chat(workspace, first).await.unwrap().title, "Mine");
    let second =
        store.chats().new_chat(&Actor::person("test"), workspace, "", None).await.unwrap().id;
    assert_eq!(second, ChatId::from_number(2));
    let elsewhere = WorkspaceId::from_number(9);
    assert!(
        store.chats().restore_chat(&Actor::person("test"), elsewhere, first, "").await.is_err()
    );
}

/// Each list shows all of them: whoever opens chats without end is told to put some away.
#[tokio::test]
async fn a_workspace_has_a_bounded_number_of_open_chats() {
    let (_dir, store) = crate::test_world::store().await;
    let user = crate::test_world::add(&store, "mallory").await;
    let (actor, chats) = (Actor::person("mallory"), store.chats());
    for _ in 0..MOST_OPEN {
        chats.new_chat(&actor, user.workspace, "", None).await.unwrap();
    }
    let refused = chats.new_chat(&actor, user.workspace, "", None).await.unwrap_err();
    assert!(matches!(refused, StoreError::TooMany { .. }), "{refused}");
    chats.archive_chat(&actor, user.workspace, ChatId::from_number(1), true).await.unwrap();
    chats.new_chat(&actor, user.workspace, "", None).await.unwrap();
}
