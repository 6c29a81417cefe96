//! Which chain serves which kind of work, pictures, and keys of people's own.

use cloister_protocol::{Level, ModelProfile, WorkKind};
use cloister_store::Actor;
use cloister_store::models::{KeyRef, Model};
use cloister_store::own_models::KeyBinding;
use cloister_testkit::{Matcher, ModelServer, Reply};
use cloister_vault::{Binding, Form};
use serde_json::{Value, json};

use crate::harness::{World, ask, model, text_of};

const KEY: &str = "sk-own-2718281828";

async fn add(world: &World, name: &str, server: &ModelServer, vision: Option<bool>) {
    let profile = ModelProfile { vision, ..ModelProfile::default() };
    let model = Model { profile, ..model(name, &server.base_url(), KeyRef::None) };
    world.store.models().add_model(&Actor::person("test"), &model).await.unwrap();
}

fn picture() -> Value {
    json!({"stream": true, "messages": [{"role": "user", "content": [
        {"type": "text", "text": "what is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}]})
}

#[tokio::test]
async fn a_kind_of_work_is_served_by_its_own_chain_and_then_by_the_levels() {
    let server = ModelServer::start().await.unwrap();
    let world = World::new().await;
    for name in ["talker", "cheap"] {
        add(&world, name, &server, None).await;
    }
    world.use_chain(&["talker".to_owned()]).await;
    let (actor, models) = (Actor::person("test"), world.store.models());
    models.set_kind_chain(&actor, WorkKind::Summarise, &["cheap".to_owned()]).await.unwrap();
    let door = world.open();
    let asked = async |kind: Value| {
        let mut request = ask("hi");
        request["kind"] = kind;
        door.client.chat(&request).await.body().await;
        server.requests().pop().unwrap()
    };
    assert_eq!(asked(json!("summarise")).await.model(), "test/cheap");
    assert_eq!(asked(json!("research")).await.model(), "test/talker");
    for word in [json!(null), json!("talk"), json!("cheap"), json!("vision")] {
        let seen = asked(word.clone()).await;
        assert_eq!(seen.model(), "test/talker", "{word}");
        assert!(seen.body.get("kind").is_none());
    }
    server.when(Matcher::model("test/cheap"), Reply::status(400, "no"));
    assert_eq!(asked(json!("summarise")).await.model(), "test/talker");
}

#[tokio::test]
async fn a_picture_goes_to_nobody_who_is_known_to_be_blind() {
    let server = ModelServer::start().await.unwrap();
    let world = World::new().await;
    add(&world, "blind", &server, Some(false)).await;
    world.use_chain(&["blind".to_owned()]).await;
    let door = world.open();
    let said = text_of(&door.client.chat(&picture()).await.events().await);
    assert!(said.contains("what is this?") && said.contains("You can't see pictures"), "{said}");
    assert!(server.requests()[0].images().is_empty());
    // As soon as one in use sees, it is asked instead, in whichever chain it is.
    add(&world, "eyes", &server, Some(true)).await;
    let (actor, models) = (Actor::person("test"), world.store.models());
    models.set_chain(&actor, Level::Executor, &["eyes".to_owned()]).await.unwrap();
    door.client.chat(&picture()).await.body().await;
    let seen = server.requests().pop().unwrap();
    assert_eq!((seen.model(), seen.images().len()), ("test/eyes", 1));
    // And when it fails, the other one answers without.
    server.when(Matcher::model("test/eyes"), Reply::status(400, "out of order"));
    door.client.chat(&picture()).await.body().await;
    let seen = server.requests().pop().unwrap();
    assert_eq!((seen.model(), seen.images().len()), ("test/blind", 0));
}

#[tokio::test]
async fn a_provider_that_refuses_pictures_is_asked_without() {
    let server = ModelServer::builder().rule(|asked| {
        let refuses = !asked.images().is_empty();
        let said = "{\"error\":{\"message\":\"image input is not supported\"}}";
        refuses.then(|| Reply::status(400, said))
    });
    let server = server.start().await.unwrap();
    let world = World::new().await;
    add(&world, "new", &server, None).await;
    world.use_chain(&["new".to_owned()]).await;
    let door = world.open();
    let answer = door.client.chat(&picture()).await;
    assert_eq!(answer.status, 200);
    let said = text_of(&answer.events().await);
    assert!(said.contains("You can't see pictures"), "{said}");
    assert_eq!(server.request_count(), 2);
}

/// Sealed as its owner's, used for its owner, booked apart, past a budget that is used up.
#[tokio::test]
async fn a_model_of_ones_own_carries_ones_own_key_and_spends_no_budget() {
    let server = ModelServer::builder().key(KEY).start().await.unwrap();
    let world = World::with(crate::harness::quick(), 0).await;
    let (actor, models) = (Actor::person("test"), world.store.models());
    let form = Form::Header { name: "authorization".to_owned(), template: "Bearer {}".to_owned() };
    let host = server.address().to_string().parse().unwrap();
    let binding = Binding::new(vec![host], form).unwrap();
    let of = KeyBinding::new(world.user.id, "mine", binding).unwrap();
    let own = model("mine", &server.base_url(), KeyRef::None);
    let key = Some(KEY.to_owned().into());
    models.put_own(&actor, &world.keys, &of, (&own, key)).await.unwrap();
    let everywhere = (world.user.workspace, None);
    models.choose(&actor, everywhere, None, Some("mine")).await.unwrap();
    assert_eq!(world.open().client.said("hi").await, "echo: hi");
    server.assert_no_violations();
    assert_eq!(world.settled().await.spent, 0);
    let own = async || world.store.tasks().own_usage(Some(world.user.id), None).await.unwrap();
    while own().await.is_empty() {
        tokio::task::yield_now().await;
    }
    let booked = own().await;
    assert!(booked[0].cost > 0 && booked[0].model == "mine", "{booked:?}");
}
