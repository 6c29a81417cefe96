use super::*;
use crate::test_world;

/// X2: a chat and the wish for its room are one, and the same message makes them once.
#[tokio::test]
async fn a_chat_with_a_room_is_made_once() {
    let (_dir, store) = test_world::store().await;
    let ada = test_world::add(&store, "ada").await;
    store.chats().ensure_first_chat(&Actor::person("test"), ada.workspace).await.unwrap();
    let connector = test_world::connector(&store, "matrix", "@bot:a").await;
    let room = (connector, ada.id);
    let actor = Actor::person("test");
    let make = || store.chats().new_chat_with_room(&actor, ada.workspace, "Taxes", "7", room);
    let (one, two) = tokio::join!(make(), make());
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!((one.id.number(), one.title.as_str()), (2, "Taxes"));
    assert_eq!(two.id, one.id);
    // The same message after its conversation is gone: still the same chat.
    assert_eq!(
        store
            .chats()
            .new_chat(&Actor::person("test"), ada.workspace, "Taxes", Some("7"))
            .await
            .unwrap()
            .id,
        one.id
    );
    let wanted = store.conversations().conversations_to_mend(connector).await.unwrap();
    assert_eq!(wanted.len(), 1);
    let shown = store.chats().shown_chats(ada.workspace).await.unwrap();
    assert_eq!(shown, [Shown { chat: one.id, surface: "matrix".into(), made: false }]);

    // Without the account there is neither a room nor a chat.
    store.conversations().remove_connector(&Actor::person("ada"), connector).await.unwrap();
    assert!(
        store
            .chats()
            .new_chat_with_room(&Actor::person("test"), ada.workspace, "", "8", room)
            .await
            .is_err()
    );
    assert_eq!(store.chats().of(ada.workspace).await.unwrap().len(), 2, "no chat without its room");
    let other =
        store.chats().new_chat(&Actor::person("test"), ada.workspace, "", None).await.unwrap();
    assert_eq!(other.id.number(), 3, "and no number is used up");
}
