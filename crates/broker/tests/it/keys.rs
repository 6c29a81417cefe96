use std::io::Write;
use std::sync::{Arc, Mutex};

use cloister_store::Actor;
use cloister_store::models::KeyRef;
use cloister_testkit::{Matcher, ModelServer, Reply};

use crate::harness::{World, ask, model};

const KEY: &str = "sk-test-0123456789-very-secret";

async fn world_with_key(servers: &[&ModelServer]) -> World {
    let world = World::new().await;
    world.seal_key("provider.key", KEY).await;
    let mut names = Vec::new();
    for (server, name) in servers.iter().zip(["first", "second"]) {
        let key = KeyRef::Sealed("provider.key".to_owned());
        world
            .store
            .models()
            .add_model(&Actor::person("test"), &model(name, &server.base_url(), key))
            .await
            .unwrap();
        names.push(name.to_owned());
    }
    world.use_chain(&names).await;
    world
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_key_reaches_the_provider_and_nobody_else() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(subscriber);

    let server = ModelServer::builder().key(KEY).start().await.unwrap();
    let world = world_with_key(&[&server]).await;
    let door = world.open();
    let mut seen = door.client.chat(&ask("hi")).await.body().await;
    // A provider that repeats the key in its error, in the body and in the stream.
    let leak = format!(r#"{{"error":{{"message":"the key {KEY} is wrong"}}}}"#);
    server.enqueue(Reply::status(401, &leak));
    seen += &door.client.chat(&ask("again")).await.body().await;
    server.when(Matcher::any(), Reply::text("x").stream_error(&format!("bad key {KEY}")));
    seen += &door.client.chat(&ask("and again")).await.body().await;
    assert!(seen.contains("the key [key] is wrong"), "{seen}");
    assert!(!seen.contains("very-secret"), "{seen}");
    server.assert_no_violations();
    let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(logged.contains("model call"), "{logged}");
    assert!(!logged.contains("very-secret"));
    assert!(!logged.contains("and again"), "the log has no content of a conversation");
}

#[tokio::test]
async fn a_redirect_does_not_carry_the_key_elsewhere() {
    let other = ModelServer::start().await.unwrap();
    let server = ModelServer::builder().key(KEY).start().await.unwrap();
    server.when(Matcher::any(), Reply::status(307, "over there"));
    let world = world_with_key(&[&server]).await;
    let door = world.open();
    let answer = door.client.chat(&ask("hi")).await;
    assert_eq!(answer.status, 502);
    assert_eq!(other.request_count(), 0);
}

#[tokio::test]
async fn a_model_without_its_key_is_named_and_the_next_one_asked() {
    let server = ModelServer::start().await.unwrap();
    let world = World::new().await;
    let key = KeyRef::Sealed("missing.key".to_owned());
    world
        .store
        .models()
        .add_model(&Actor::person("test"), &model("first", &server.base_url(), key))
        .await
        .unwrap();
    world.use_chain(&["first".to_owned()]).await;
    let error = world.open().client.chat(&ask("hi")).await.error().await;
    assert!(error.message.contains("missing.key"), "{}", error.message);
    world.use_chain(&["first".to_owned(), "demo".to_owned()]).await;
    let said = world.open_at(world.dir.path().join("b.sock"), None).client.said("hi").await;
    assert!(said.contains("not an AI"), "{said}");
    assert_eq!(server.request_count(), 0);
}
