use cloister_protocol::{ModelProfile, ModelSettings};

use super::*;
use crate::db::Store;
use crate::models::KeyRef;
use crate::test_world;

const HERE: (u32, u32) = (1, 1);

fn place((workspace, chat): (u32, u32)) -> (WorkspaceId, ChatId) {
    (WorkspaceId::from_number(workspace), ChatId::from_number(chat))
}

fn model(name: &str) -> Model {
    Model {
        name: name.to_owned(),
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        model: name.to_owned(),
        key: KeyRef::None,
        prompt_price: 0,
        completion_price: 0,
        max_output_tokens: 1,
        profile: ModelProfile::default(),
        settings: ModelSettings::default(),
    }
}

async fn order(store: &Store, at: (u32, u32), level: Level) -> Vec<String> {
    let chain = store.models().chain_for(place(at), level, WorkKind::of(level)).await.unwrap();
    chain.into_iter().map(|model| model.name).collect()
}

#[tokio::test]
async fn a_choice_changes_the_order_in_its_chat_and_nothing_else() {
    let (_dir, store) = test_world::store().await;
    let actor = Actor::person("test");
    for name in ["ada", "bob"] {
        test_world::add(&store, name).await;
    }
    for name in ["fast", "strong", "unused"] {
        store.models().add_model(&actor, &model(name)).await.unwrap();
    }
    let both = ["fast", "strong"].map(str::to_owned);
    store.models().set_chain(&actor, Level::Coordinator, &both).await.unwrap();
    store.models().set_chain(&actor, Level::Executor, &["fast".to_owned()]).await.unwrap();
    let (workspace, chat) = place(HERE);
    store.models().choose(&actor, (workspace, Some(chat)), None, Some("strong")).await.unwrap();
    assert_eq!(order(&store, HERE, Level::Coordinator).await, ["strong", "fast"]);
    assert_eq!(order(&store, HERE, Level::Executor).await, ["strong", "fast"]);
    assert_eq!(order(&store, (1, 2), Level::Coordinator).await, ["fast", "strong"]);
    assert_eq!(order(&store, (2, 1), Level::Coordinator).await, ["fast", "strong"]);

    // For all chats, where there is no choice of its own.
    store.models().choose(&actor, (workspace, None), None, Some("strong")).await.unwrap();
    store.models().choose(&actor, (workspace, Some(chat)), None, Some("fast")).await.unwrap();
    assert_eq!(order(&store, (1, 2), Level::Coordinator).await, ["strong", "fast"]);
    assert_eq!(order(&store, HERE, Level::Coordinator).await, ["fast", "strong"]);

    // What nobody uses is not asked, and what is gone is not missed.
    store.models().choose(&actor, (workspace, Some(chat)), None, Some("unused")).await.unwrap();
    assert_eq!(order(&store, HERE, Level::Coordinator).await, ["fast", "strong"]);
    store.models().choose(&actor, (workspace, Some(chat)), None, None).await.unwrap();
    store.models().remove_model(&actor, "strong").await.unwrap();
    assert_eq!(order(&store, HERE, Level::Coordinator).await, ["fast"]);
}
