use cloister_protocol::{ChatId, ModelProfile, ModelSettings, WorkspaceId};

use super::*;
use crate::db::Store;
use crate::models::KeyRef;
use crate::test_world;

fn model(name: &str, vision: Option<bool>) -> Model {
    Model {
        name: name.to_owned(),
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        model: name.to_owned(),
        key: KeyRef::None,
        prompt_price: 0,
        completion_price: 0,
        max_output_tokens: 1,
        profile: ModelProfile { vision, ..ModelProfile::default() },
        settings: ModelSettings::default(),
    }
}

async fn store() -> (tempfile::TempDir, Store) {
    let (dir, store) = test_world::store().await;
    let actor = Actor::person("test");
    test_world::add(&store, "ada").await;
    for (name, vision) in
        [("talker", Some(false)), ("worker", None), ("cheap", None), ("eyes", Some(true))]
    {
        store.models().add_model(&actor, &model(name, vision)).await.unwrap();
    }
    for (level, name) in [(Level::Coordinator, "talker"), (Level::Executor, "worker")] {
        store.models().set_chain(&actor, level, &[name.to_owned()]).await.unwrap();
    }
    (dir, store)
}

async fn order(store: &Store, level: Level, kind: WorkKind) -> Vec<String> {
    let here = (WorkspaceId::from_number(1), ChatId::from_number(1));
    let chain = store.models().chain_for(here, level, kind).await.unwrap();
    chain.into_iter().map(|model| model.name).collect()
}

#[tokio::test]
async fn a_kind_of_work_has_its_own_models_and_then_those_of_its_level() {
    let (_dir, store) = store().await;
    let (actor, models) = (Actor::person("test"), store.models());
    let (talks, works) = (Level::Coordinator, Level::Executor);
    assert_eq!(order(&store, talks, WorkKind::Summarise).await, ["talker"]);
    models.set_kind_chain(&actor, WorkKind::Summarise, &["cheap".to_owned()]).await.unwrap();
    assert_eq!(order(&store, talks, WorkKind::Summarise).await, ["cheap", "talker"]);
    assert_eq!(order(&store, talks, WorkKind::Talk).await, ["talker"]);
    assert_eq!(order(&store, works, WorkKind::Research).await, ["worker"]);
    // Talk and work are what the levels do.
    models.set_kind_chain(&actor, WorkKind::Work, &["cheap".to_owned()]).await.unwrap();
    assert_eq!(models.chain(works).await.unwrap()[0].name, "cheap");
    // Taken back, and gone with its model.
    models.set_kind_chain(&actor, WorkKind::Summarise, &[]).await.unwrap();
    assert_eq!(order(&store, talks, WorkKind::Summarise).await, ["talker"]);
    models.set_kind_chain(&actor, WorkKind::Research, &["eyes".to_owned()]).await.unwrap();
    models.remove_model(&actor, "eyes").await.unwrap();
    assert_eq!(order(&store, works, WorkKind::Research).await, ["cheap"]);
    for wrong in [vec!["nobody"], vec!["cheap", "cheap"]] {
        let names: Vec<String> = wrong.into_iter().map(str::to_owned).collect();
        models.set_kind_chain(&actor, WorkKind::Vision, &names).await.unwrap_err();
    }
    assert!(models.kind_chain(WorkKind::Vision).await.unwrap().is_empty());
}

#[tokio::test]
async fn pictures_reach_whoever_in_use_sees() {
    let (_dir, store) = store().await;
    let (actor, models) = (Actor::person("test"), store.models());
    let talks = Level::Coordinator;
    assert_eq!(order(&store, talks, WorkKind::Vision).await, ["talker"], "nobody asked for eyes");
    models.set_offered(&actor, "eyes", true).await.unwrap();
    assert_eq!(order(&store, talks, WorkKind::Vision).await, ["talker", "eyes"]);
    assert_eq!(order(&store, talks, WorkKind::Talk).await, ["talker"]);
    models.set_kind_chain(&actor, WorkKind::Vision, &["eyes".to_owned()]).await.unwrap();
    assert_eq!(order(&store, talks, WorkKind::Vision).await, ["eyes", "talker"]);
}

#[tokio::test]
async fn what_is_said_of_a_kind_goes_before_what_is_said_of_all() {
    let (_dir, store) = store().await;
    let (actor, models) = (Actor::person("test"), store.models());
    let (here, works) = ((WorkspaceId::from_number(1), None), Level::Executor);
    models.set_offered(&actor, "cheap", true).await.unwrap();
    models.choose(&actor, here, None, Some("cheap")).await.unwrap();
    assert_eq!(order(&store, works, WorkKind::Research).await, ["cheap", "worker"]);
    models.set_kind_chain(&actor, WorkKind::Research, &["eyes".to_owned()]).await.unwrap();
    assert_eq!(order(&store, works, WorkKind::Research).await, ["eyes", "cheap", "worker"]);
    let chat = (here.0, Some(ChatId::from_number(1)));
    let research = Some(WorkKind::Research);
    models.choose(&actor, chat, research, Some("worker")).await.unwrap();
    assert_eq!(order(&store, works, WorkKind::Research).await, ["worker", "eyes", "cheap"]);
    assert_eq!(order(&store, works, WorkKind::Work).await, ["cheap", "worker"]);
    // On offer no more, and in no chain: the choice waits.
    models.set_offered(&actor, "cheap", false).await.unwrap();
    assert_eq!(order(&store, works, WorkKind::Work).await, ["worker"]);
    models.set_offered(&actor, "nobody", true).await.unwrap_err();
}
