//! Model calls of a user who has secrets: neither the question nor the answer has a value in it.

use cloister_store::Actor;
use cloister_store::secrets::NewSecret;
use cloister_testkit::{Matcher, ModelServer, Reply};
use cloister_vault::{Binding, Form, Owner, SecretValue};
use serde_json::{Value, json};

use crate::harness::{World, ask, text_of};

const VALUE: &str = "canary-\"quoted\"-93kd";

async fn world(server: &ModelServer) -> World {
    let world = World::new().await;
    world.use_models(&[server]).await;
    let form = Form::Header { name: "x-key".to_owned(), template: "{}".to_owned() };
    let new = NewSecret {
        owner: Owner::User(world.user.id),
        name: "forge".parse().unwrap(),
        binding: Binding::new(vec!["a.test".parse().unwrap()], form).unwrap(),
        value: SecretValue::from(VALUE.to_owned()),
    };
    world.store.secrets().set_secret(&Actor::person("test"), &world.keys, new).await.unwrap();
    world
}

async fn masked(world: &World) -> Vec<(String, String)> {
    let rows = world.store.audit().audit_tail(100).await.unwrap();
    let rows = rows.into_iter().filter(|row| row.action == "secret.masked");
    rows.map(|row| (row.subject, row.detail)).collect()
}

/// S1: a secret that a person pasted, or a file had, does not reach a provider.
#[tokio::test]
async fn a_model_is_not_shown_a_secret() {
    let server = ModelServer::start().await.unwrap();
    let world = world(&server).await;
    let door = world.open();
    let question = format!("my key is {VALUE}, and more");
    assert_eq!(door.client.chat(&ask(&question)).await.status, 200);
    let tool = json!({"messages": [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function",
            "function": {"name": "bash", "arguments": json!({"command": VALUE}).to_string()}}]},
        {"role": "tool", "tool_call_id": "a", "content": format!("X={VALUE}")},
    ]});
    assert_eq!(door.client.chat(&tool).await.status, 200);
    let asked: Vec<Value> = server.requests().into_iter().map(|request| request.body).collect();
    let asked = Value::from(asked).to_string();
    assert!(asked.contains("my key is [secret forge], and"), "{asked}");
    assert!(asked.contains("X=[secret forge]"), "{asked}");
    assert!(!asked.contains("93kd") && !asked.contains("canary"), "{asked}");
    assert_eq!(masked(&world).await, [("forge".to_owned(), "what a model is asked".to_owned())]);
}

/// S1: nor does one come from a provider, a few letters to an event.
#[tokio::test]
async fn a_secret_in_an_answer_is_masked_however_it_is_cut() {
    let server = ModelServer::start().await.unwrap();
    let world = world(&server).await;
    let door = world.open();
    for count in [1, 3, 10, 40] {
        let reply = Reply::text(format!("the key is {VALUE}.")).chunks(count);
        server.when(Matcher::any(), reply);
        let events = door.client.chat(&ask(&format!("what is it? {count}"))).await.events().await;
        assert_eq!(text_of(&events), "the key is [secret forge].", "{count}");
        let mut whole = ask(&format!("and whole? {count}"));
        whole["stream"] = false.into();
        let answer = door.client.chat(&whole).await.json().await;
        let said = answer["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
        assert_eq!(said, "the key is [secret forge].");
    }
    assert_eq!(masked(&world).await, [("forge".to_owned(), "what a model answered".to_owned())]);
}
