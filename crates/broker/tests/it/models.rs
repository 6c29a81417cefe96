use cloister_store::Actor;
use cloister_testkit::{ModelServer, Reply};
use serde_json::json;

use crate::harness::{PATIENCE, World, ask, text_of};

#[tokio::test]
async fn each_piece_arrives_before_the_next_is_sent() {
    let server = ModelServer::start().await.unwrap();
    let (reply, steps) = Reply::text("one two three").chunks(3).stepped();
    server.enqueue(reply);
    let world = World::new().await;
    world.use_models(&[&server]).await;
    let door = world.open();
    steps.allow(1);
    let mut answer = door.client.chat(&ask("count")).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    // The server waits for our leave between the pieces: what arrives was not held back.
    for (place, expected) in ["one t", "wo t", "hree"].into_iter().enumerate() {
        if place > 0 {
            steps.allow(1);
        }
        let piece = answer.piece().await.unwrap();
        assert!(piece.contains(expected), "{piece}");
    }
    steps.allow(10);
    let rest = answer.body().await;
    assert!(rest.ends_with("data: [DONE]\n\n"), "{rest}");
    server.assert_no_violations();
}

#[tokio::test]
async fn the_provider_sees_nothing_of_the_cell_but_the_request() {
    let server = ModelServer::start().await.unwrap();
    let world = World::new().await;
    world.use_models(&[&server]).await;
    let mut request = ask("hi");
    request["model"] = json!("dearest/model");
    request["user"] = json!("someone");
    request["max_tokens"] = json!(1_000_000);
    world.open().client.chat(&request).await.body().await;
    let received = server.requests().remove(0);
    assert_eq!(received.model(), "test/first");
    assert_eq!(received.max_tokens(), Some(1_000));
    assert_eq!(received.body.get("user"), None);
    assert_eq!(received.authorization(), None);
    assert!(!received.headers.contains_key("x-from-the-cell"));
    server.assert_no_violations();
}

#[tokio::test]
async fn tool_calls_pass_streamed_and_whole() {
    let server = ModelServer::start().await.unwrap();
    let call =
        || Reply::tool_call("bash", json!({"command": "ls -l"})).and_tool_call("ls", json!({}));
    server.enqueue(call());
    server.enqueue(call());
    let world = World::new().await;
    world.use_models(&[&server]).await;
    let door = world.open();
    let tool = |name: &str| json!({"type": "function", "function": {"name": name}});
    let mut request = ask("list");
    request["tools"] = json!([tool("bash"), tool("ls")]);
    let events = door.client.chat(&request).await.events().await.join("\n");
    assert!(events.contains("\"name\":\"bash\""), "{events}");

    request["stream"] = json!(false);
    let whole = door.client.chat(&request).await.json().await;
    let message = &whole["choices"][0]["message"];
    assert_eq!(whole["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(message["tool_calls"][0]["function"]["name"], "bash");
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], "{\"command\":\"ls -l\"}");
    assert_eq!(message["tool_calls"][1]["function"]["name"], "ls");
    assert!(server.requests().iter().all(|request| request.tool_names() == ["bash", "ls"]));
    server.assert_no_violations();
}

#[tokio::test]
async fn a_caller_that_does_not_stream_gets_one_object() {
    let server = ModelServer::start().await.unwrap();
    server.enqueue(Reply::text("the whole answer").chunks(4).usage(11, 7));
    let world = World::new().await;
    world.use_models(&[&server]).await;
    let request = json!({"messages": [{"role": "user", "content": "hi"}]});
    let door = world.open();
    let answer = door.client.chat(&request).await.json().await;
    assert_eq!(answer["object"], "chat.completion");
    assert_eq!(answer["choices"][0]["message"]["content"], "the whole answer");
    assert_eq!(answer["usage"]["completion_tokens"], 7);
    assert!(server.requests()[0].wants_stream());
}

#[tokio::test]
async fn images_pass_and_do_not_cost_their_bytes() {
    let server = ModelServer::start().await.unwrap();
    let world = World::new().await;
    world.use_models(&[&server]).await;
    let url = format!("data:image/png;base64,{}", "A".repeat(3 << 20));
    let request = json!({"stream": true, "messages": [{"role": "user", "content": [
        {"type": "text", "text": "what is this?"},
        {"type": "image_url", "image_url": {"url": url}}]}]});
    let door = world.open();
    let answer = door.client.chat(&request).await;
    assert_eq!(answer.status, 200);
    assert_eq!(text_of(&answer.events().await), "echo: what is this?");
    assert_eq!(server.requests()[0].images(), [url]);
}

#[tokio::test]
async fn hanging_up_ends_the_call_and_settles_what_came() {
    let server = ModelServer::start().await.unwrap();
    let (reply, steps) = Reply::text("word ".repeat(100)).chunks(50).stepped();
    server.enqueue(reply);
    let world = World::new().await;
    world.use_models(&[&server]).await;
    let door = world.open();
    steps.allow(2);
    let mut answer = door.client.chat(&ask("talk")).await;
    answer.piece().await.unwrap();
    answer.piece().await.unwrap();
    assert!(world.budget().await.reserved > 0);
    drop(answer);
    assert!(server.wait_for_abandoned(1, PATIENCE).await);
    let state = world.settled().await;
    assert!(state.spent > 0 && state.spent < 1_000_000, "{state:?}");
}

#[tokio::test]
async fn hanging_up_before_the_first_word_ends_the_call_too() {
    let server = ModelServer::start().await.unwrap();
    server.enqueue(Reply::hang());
    let mut options = crate::harness::quick();
    options.upstream.first_byte = Some(std::time::Duration::from_secs(60));
    let world = World::with(options, crate::harness::DOLLAR).await;
    world.use_models(&[&server]).await;
    let door = world.open();
    let client = door.client.clone();
    let asking = tokio::time::timeout(std::time::Duration::from_millis(200), async move {
        client.chat(&ask("hello?")).await;
    });
    assert!(asking.await.is_err());
    assert!(server.wait_for_abandoned(1, PATIENCE).await);
    world.settled().await;
}

#[tokio::test]
async fn closing_the_door_ends_what_is_under_way_and_removes_the_socket() {
    let server = ModelServer::start().await.unwrap();
    let (reply, steps) = Reply::text("never to be read").chunks(3).stepped();
    server.enqueue(reply);
    let world = World::new().await;
    world.use_models(&[&server]).await;
    let door = world.open();
    steps.allow(1);
    let mut answer = door.client.chat(&ask("hi")).await;
    answer.piece().await.unwrap();
    let socket = door.client.socket.clone();
    drop(door.door);
    assert!(!socket.exists());
    assert!(server.wait_for_abandoned(1, PATIENCE).await);
    world.settled().await;
    assert!(world.doors.gateway().drain(PATIENCE).await);
}

#[tokio::test]
async fn the_demo_model_answers_when_no_model_was_added() {
    let world = World::new().await;
    let door = world.open();
    let said = door.client.said("hello").await;
    assert!(said.contains("not an AI"), "{said}");
    assert!(world.doors.gateway().drain(PATIENCE).await);
    assert_eq!(world.budget().await.spent, 0);
    let usage = world.store.tasks().usage(Some(world.user.id), None).await.unwrap();
    assert_eq!((usage[0].model.as_str(), usage[0].calls), ("demo", 1));
}

#[tokio::test]
async fn the_level_follows_from_the_door() {
    let (coordinators, executors) =
        (ModelServer::start().await.unwrap(), ModelServer::start().await.unwrap());
    let world = World::new().await;
    world.use_models(&[&coordinators, &executors]).await;
    use cloister_protocol::Level;
    world
        .store
        .models()
        .set_chain(&Actor::person("test"), Level::Coordinator, &["first".to_owned()])
        .await
        .unwrap();
    world
        .store
        .models()
        .set_chain(&Actor::person("test"), Level::Executor, &["second".to_owned()])
        .await
        .unwrap();
    let task = world.add_task(None, crate::harness::DOLLAR).await;
    let executor = world.open_at(world.dir.path().join("task.sock"), Some(task));
    executor.client.said("work").await;
    world.open().client.said("talk").await;
    world.settled().await;
    assert_eq!(executors.requests()[0].last_user_text(), "work");
    assert_eq!(coordinators.requests()[0].last_user_text(), "talk");
    assert!(world.store.tasks().task_budget_state(world.user.id, task).await.unwrap().spent > 0);
}

#[tokio::test]
async fn a_probe_says_whether_a_model_answers() {
    let server = ModelServer::start().await.unwrap();
    let world = World::new().await;
    world.use_models(&[&server]).await;
    let model = world.store.models().model("first").await.unwrap();
    let gateway = world.doors.gateway();
    assert!(gateway.probe(&model, None).await.unwrap().usage.is_some());
    server.enqueue(Reply::status(401, r#"{"error":{"message":"no such key"}}"#));
    let error = gateway.probe(&model, None).await.unwrap_err();
    assert!(error.message.contains("wants a key: it answered 401: no such key"), "{error:?}");
    let ids = gateway.model_ids(&server.base_url(), None).await.unwrap();
    assert_eq!(ids, ["test-model"]);
    assert_eq!(world.budget().await.spent, 0);
}
