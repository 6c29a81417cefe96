use super::*;
use crate::db::Store;
use crate::test_world;

async fn world() -> (tempfile::TempDir, Store, WorkspaceId) {
    let (dir, store) = test_world::store().await;
    let ada = test_world::add(&store, "ada").await;
    store.chats().ensure_first_chat(&Actor::person("test"), ada.workspace).await.unwrap();
    (dir, store, ada.workspace)
}

fn room(workspace: WorkspaceId, name: &str, room: &str) -> Context {
    Context {
        workspace,
        name: name.into(),
        inherits: OUTERMOST.into(),
        prompt: "Be brief.".into(),
        lists: Lists { tools: Some(vec!["ls".into()]), ..Lists::default() },
        conversation: Some(Conversation { surface: "matrix".into(), id: room.into() }),
        chat: None,
        created_at: 0,
    }
}

#[tokio::test]
async fn each_conversation_has_a_chat_of_its_own() {
    let (_dir, store, workspace) = world().await;
    let general = store
        .chats()
        .put_context(&Actor::person("ada"), &room(workspace, "general", "!a"))
        .await
        .unwrap();
    let chat = general.chat.unwrap();
    assert_ne!(chat, ChatId::from_number(1));
    let in_context = store.chats().context_of_chat(workspace, chat).await.unwrap();
    assert_eq!(in_context.as_deref(), Some("general"));
    assert_eq!(
        store.chats().context_of_chat(workspace, ChatId::from_number(1)).await.unwrap(),
        None
    );

    let again = store
        .chats()
        .put_context(&Actor::person("ada"), &room(workspace, "general", "!a"))
        .await
        .unwrap();
    assert_eq!(again.chat, Some(chat));
    let moved = store
        .chats()
        .put_context(&Actor::person("ada"), &room(workspace, "general", "!b"))
        .await
        .unwrap();
    assert_ne!(moved.chat, Some(chat), "what was said in one room is not told in the next");
    let gone = Conversation { surface: "matrix".into(), id: "!a".into() };
    assert!(store.chats().context_of(&gone).await.unwrap().is_none());
}

#[tokio::test]
async fn a_conversation_belongs_to_one_context() {
    let (_dir, store, workspace) = world().await;
    store
        .chats()
        .put_context(&Actor::person("ada"), &room(workspace, "general", "!a"))
        .await
        .unwrap();
    let second =
        store.chats().put_context(&Actor::person("ada"), &room(workspace, "random", "!a")).await;
    assert!(matches!(second, Err(StoreError::Exists { .. })), "{second:?}");
    let names =
        store.chats().contexts(workspace).await.unwrap().into_iter().map(|context| context.name);
    assert_eq!(names.collect::<Vec<_>>(), ["general"]);
}

#[tokio::test]
async fn the_chats_of_a_removed_context_stay_in_it() {
    let (_dir, store, workspace) = world().await;
    let general = store
        .chats()
        .put_context(&Actor::person("ada"), &room(workspace, "general", "!a"))
        .await
        .unwrap();
    let chat = general.chat.unwrap();
    store.chats().remove_context(&Actor::person("ada"), workspace, "general").await.unwrap();
    let in_context = store.chats().context_of_chat(workspace, chat).await.unwrap();
    assert_eq!(in_context.as_deref(), Some("general"));
    assert!(store.chats().chat(workspace, chat).await.unwrap().archived);
    assert!(
        store.chats().remove_context(&Actor::person("ada"), workspace, "general").await.is_err()
    );
}
