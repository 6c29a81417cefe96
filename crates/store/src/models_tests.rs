use super::*;
use crate::db::Store;
use crate::model_seen::ModelSeen;
use crate::test_world;

async fn store() -> (tempfile::TempDir, Store) {
    let (dir, store) = test_world::store().await;
    (dir, store)
}

fn model(name: &str) -> Model {
    Model {
        name: name.to_owned(),
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        model: format!("provider/{name}"),
        key: KeyRef::Env("SOME_KEY".to_owned()),
        prompt_price: 150,
        completion_price: 600,
        max_output_tokens: 4096,
        profile: ModelProfile { window_tokens: Some(8192), ..ModelProfile::default() },
        settings: ModelSettings { temperature: Some(0.2), ..ModelSettings::default() },
    }
}

#[tokio::test]
async fn a_level_nobody_set_is_served_by_the_demo_model() {
    let (_dir, store) = store().await;
    for level in Level::ALL {
        assert_eq!(store.models().chain(level).await.unwrap(), vec![Model::demo()]);
    }
}

#[tokio::test]
async fn a_chain_keeps_its_order_and_may_hold_the_demo_model() {
    let (_dir, store) = store().await;
    store.models().add_model(&Actor::person("test"), &model("fast")).await.unwrap();
    store.models().add_model(&Actor::person("test"), &model("strong")).await.unwrap();
    let names = ["strong", "fast", DEMO].map(str::to_owned);
    store.models().set_chain(&Actor::person("test"), Level::Executor, &names).await.unwrap();
    let chain = store.models().chain(Level::Executor).await.unwrap();
    assert_eq!(chain, vec![model("strong"), model("fast"), Model::demo()]);
    assert_eq!(store.models().chain(Level::Coordinator).await.unwrap(), vec![Model::demo()]);
}

#[tokio::test]
async fn a_chain_of_unknown_or_doubled_models_is_refused_and_the_old_one_stays() {
    let (_dir, store) = store().await;
    store.models().add_model(&Actor::person("test"), &model("fast")).await.unwrap();
    store
        .models()
        .set_chain(&Actor::person("test"), Level::Coordinator, &["fast".to_owned()])
        .await
        .unwrap();
    let unknown = store
        .models()
        .set_chain(&Actor::person("test"), Level::Coordinator, &["fats".to_owned()])
        .await
        .unwrap_err();
    assert_eq!(unknown.to_string(), "there is no model fats");
    let twice = ["fast", "fast"].map(str::to_owned);
    store.models().set_chain(&Actor::person("test"), Level::Coordinator, &twice).await.unwrap_err();
    assert_eq!(store.models().chain(Level::Coordinator).await.unwrap(), vec![model("fast")]);
}

#[tokio::test]
async fn a_removed_model_leaves_its_chains() {
    let (_dir, store) = store().await;
    store.models().add_model(&Actor::person("test"), &model("fast")).await.unwrap();
    store
        .models()
        .set_chain(&Actor::person("test"), Level::Coordinator, &["fast".to_owned()])
        .await
        .unwrap();
    store.models().remove_model(&Actor::person("test"), "fast").await.unwrap();
    assert_eq!(store.models().chain(Level::Coordinator).await.unwrap(), vec![Model::demo()]);
    store.models().remove_model(&Actor::person("test"), "fast").await.unwrap_err();
}

#[tokio::test]
async fn names_are_unique_and_demo_is_taken() {
    let (_dir, store) = store().await;
    store.models().add_model(&Actor::person("test"), &model("fast")).await.unwrap();
    store.models().add_model(&Actor::person("test"), &model("fast")).await.unwrap_err();
    store.models().add_model(&Actor::person("test"), &model(DEMO)).await.unwrap_err();
    let cheaper = Model { prompt_price: 1, ..model("fast") };
    store.models().replace_model(&Actor::person("test"), &cheaper).await.unwrap();
    assert_eq!(store.models().model("fast").await.unwrap(), cheaper);
    store.models().replace_model(&Actor::person("test"), &model(DEMO)).await.unwrap_err();
    store.models().replace_model(&Actor::person("test"), &model("other")).await.unwrap();
    assert_eq!(store.models().all().await.unwrap(), vec![cheaper, model("other"), Model::demo()]);
}

#[test]
fn a_key_reference_that_is_not_one_is_refused_without_repeating_it() {
    for text in ["sk-very-secret", "file:../../etc/passwd", "file:", "env:A B", "file:.hidden"] {
        let error = text.parse::<KeyRef>().unwrap_err();
        assert!(!error.to_string().contains("secret"));
    }
    assert_eq!("file:old.key".parse(), Ok(KeyRef::Sealed("old.key".to_owned())));
    for text in ["", "env:OPENROUTER_API_KEY", "sealed:openrouter.key"] {
        assert_eq!(text.parse::<KeyRef>().unwrap().to_string(), text);
    }
}

#[test]
fn every_name_of_a_key_has_a_secret_of_its_own() {
    let longest = "x".repeat(64);
    let names = ["main", "gpt-4.1", "gpt-4_1", "gpt-4-1", "gpt-4.2", "1st", longest.as_str()];
    let secrets: std::collections::BTreeSet<_> =
        names.iter().map(|name| key_secret(name).unwrap()).collect();
    assert_eq!(secrets.len(), names.len());
    assert_eq!(key_secret("main").unwrap().as_str(), "key-main");
}

#[tokio::test]
async fn a_profile_is_replaced_alone_and_chains_see_it_at_once() {
    let (_dir, store) = store().await;
    let actor = Actor::person("test");
    store.models().add_model(&actor, &model("fast")).await.unwrap();
    store.models().set_chain(&actor, Level::Executor, &["fast".to_owned()]).await.unwrap();
    assert_eq!(store.models().chain(Level::Executor).await.unwrap(), vec![model("fast")]);
    let profile = ModelProfile { vision: Some(true), ..ModelProfile::default() };
    store.models().set_profile(&actor, "fast", &profile).await.unwrap();
    let expected = Model { profile: profile.clone(), ..model("fast") };
    assert_eq!(store.models().chain(Level::Executor).await.unwrap(), vec![expected]);
    let unknown = store.models().set_profile(&actor, "slow", &profile).await.unwrap_err();
    assert_eq!(unknown.to_string(), "there is no model slow");
}

fn seen(slowest_ms: u32) -> ModelSeen {
    ModelSeen { slowest_ms: Some(slowest_ms), window_tokens: None }
}

#[tokio::test]
async fn what_was_seen_of_a_model_is_kept_beside_what_else_is_known_of_it() {
    let (_dir, store) = store().await;
    let actor = Actor::person("test");
    store.models().add_model(&actor, &model("slow")).await.unwrap();
    store.models().note_seen(&model("slow"), seen(90_000)).await.unwrap();
    let profile = ModelProfile { slowest_ms: Some(90_000), ..model("slow").profile };
    let expected = Model { profile, ..model("slow") };
    assert_eq!(store.models().model("slow").await.unwrap(), expected);
    // What is meant is another one by now.
    let moved = Model { base_url: "http://elsewhere/v1".to_owned(), ..model("slow") };
    store.models().note_seen(&moved, seen(1)).await.unwrap();
    assert_eq!(store.models().model("slow").await.unwrap(), expected);
}
