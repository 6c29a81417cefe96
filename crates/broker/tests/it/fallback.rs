use std::time::Duration;

use cloister_protocol::ErrorCode;
use cloister_testkit::{Matcher, ModelServer, Reply};

use crate::harness::{World, ask, text_of};

async fn two() -> (World, ModelServer, ModelServer) {
    let (first, second) =
        (ModelServer::start().await.unwrap(), ModelServer::start().await.unwrap());
    second.when(Matcher::any(), Reply::text("from the second"));
    let world = World::new().await;
    world.use_models(&[&first, &second]).await;
    (world, first, second)
}

#[tokio::test]
async fn a_model_that_is_busy_is_asked_again() {
    for code in [429, 500, 503] {
        let (world, first, second) = two().await;
        first.enqueue(Reply::status(code, "busy").retry_after(0));
        assert_eq!(world.open().client.said("hi").await, "echo: hi");
        assert_eq!((first.request_count(), second.request_count()), (2, 0));
    }
}

#[tokio::test]
async fn a_model_that_stays_busy_gives_way_to_the_next() {
    for code in [429, 500, 502, 503] {
        let (world, first, second) = two().await;
        first.when(Matcher::any(), Reply::status(code, "busy"));
        assert_eq!(world.open().client.said("hi").await, "from the second");
        assert_eq!((first.request_count(), second.request_count()), (2, 1));
        world.settled().await;
        let usage = world.store.tasks().usage(None, None).await.unwrap();
        assert_eq!(usage.len(), 1, "a refused call costs nothing: {usage:?}");
    }
}

#[tokio::test]
async fn a_model_that_asks_for_more_patience_than_we_have_gives_way_at_once() {
    let (world, first, second) = two().await;
    first.when(Matcher::any(), Reply::status(429, "tomorrow").retry_after(86_400));
    assert_eq!(world.open().client.said("hi").await, "from the second");
    assert_eq!((first.request_count(), second.request_count()), (1, 1));
}

#[tokio::test]
async fn a_request_that_is_refused_is_not_repeated_on_the_same_model() {
    for code in [400, 401, 403, 404] {
        let (world, first, second) = two().await;
        first.when(Matcher::any(), Reply::status(code, "no"));
        assert_eq!(world.open().client.said("hi").await, "from the second");
        assert_eq!((first.request_count(), second.request_count()), (1, 1));
    }
}

#[tokio::test]
async fn a_model_that_does_not_begin_or_falls_silent_gives_way() {
    let slow = Reply::text("too late").slow_first_byte(Duration::from_secs(3));
    let silent = Reply::text("half an ans wer").chunks(2).delay(Duration::from_millis(5)).stepped();
    silent.1.allow(1);
    for reply in [Reply::hang(), slow, silent.0] {
        let (world, first, second) = two().await;
        first.when(Matcher::any(), reply);
        assert_eq!(world.open().client.said("hi").await, "from the second");
        assert_eq!((first.request_count(), second.request_count()), (1, 1));
        world.settled().await;
    }
}

#[tokio::test]
async fn an_answer_that_is_cut_starts_anew_with_the_next_model() {
    let cut = [
        Reply::text("half of an answer").chunks(4).cut_after(2),
        Reply::text("half of an answer").chunks(4).stop_after(2),
        Reply::text("half of an answer").chunks(4).stream_error("overloaded"),
        Reply::text("half of an answer").chunks(4).malformed(),
    ];
    for reply in cut {
        let (world, first, second) = two().await;
        first.enqueue(reply.delay(Duration::from_millis(5)));
        let events = world.open().client.chat(&ask("hi")).await.events().await;
        let restart = events.iter().position(|event| event == r#"{"cloister":"restart"}"#);
        let before = events.iter().take(restart.unwrap()).cloned().collect::<Vec<_>>();
        assert!(text_of(&before).starts_with("half "), "{events:?}");
        assert!(!events.iter().any(|event| event.contains("overloaded")), "{events:?}");
        assert_eq!(text_of(&events), "from the second");
        assert_eq!(events.iter().filter(|event| *event == "[DONE]").count(), 1);
        assert_eq!(second.request_count(), 1);
        let usage = world.store.tasks().usage(None, None).await.unwrap();
        let first_cost = usage.iter().find(|row| row.model == "first").unwrap().cost;
        assert!(first_cost > 0, "what the cut answer cost is counted");
    }
}

#[tokio::test]
async fn the_only_model_is_asked_again_after_a_cut() {
    let server = ModelServer::start().await.unwrap();
    server.enqueue(Reply::text("half of an answer").chunks(4).cut_after(2));
    let world = World::new().await;
    world.use_models(&[&server]).await;
    assert_eq!(world.open().client.said("hi").await, "echo: hi");
}

#[tokio::test]
async fn an_answer_without_an_end_mark_but_with_a_reason_is_whole() {
    let server = ModelServer::builder().start().await.unwrap();
    let world = World::new().await;
    world.use_models(&[&server]).await;
    server.enqueue(Reply::text("fine").no_usage());
    let events = world.open().client.chat(&ask("hi")).await.events().await;
    assert_eq!(text_of(&events), "fine");
    assert_eq!(events.last().unwrap(), "[DONE]");
    assert!(world.settled().await.spent > 0, "counted although the provider did not say");
}

#[tokio::test]
async fn when_no_model_answers_each_is_named_with_its_reason() {
    let first = ModelServer::start().await.unwrap();
    first.when(Matcher::any(), Reply::status(503, r#"{"error":{"message":"down for repairs"}}"#));
    let world = World::new().await;
    let nobody = "http://127.0.0.1:1/v1".to_owned();
    world.use_addresses(&[first.base_url(), nobody]).await;
    let door = world.open();
    let answer = door.client.chat(&ask("hi")).await;
    assert_eq!(answer.status, 502);
    let error = answer.error().await;
    assert_eq!(error.code, ErrorCode::ModelUnavailable);
    assert!(error.message.contains("first: it answered 503: down for repairs"), "{error:?}");
    assert!(error.message.contains("second: no connection"), "{error:?}");
    assert!(error.fix.unwrap().contains("cloister model test first"));
    assert_eq!(world.budget().await.spent, 0);
}

#[tokio::test]
async fn a_failure_after_the_answer_began_is_its_last_event() {
    let server = ModelServer::start().await.unwrap();
    server.when(Matcher::any(), Reply::text("half of an answer").chunks(4).cut_after(1));
    let world = World::new().await;
    world.use_models(&[&server]).await;
    let door = world.open();
    let answer = door.client.chat(&ask("hi")).await;
    assert_eq!(answer.status, 200);
    let events = answer.events().await;
    let last: serde_json::Value = serde_json::from_str(events.last().unwrap()).unwrap();
    assert_eq!(last["error"]["code"], "model_unavailable");
    assert!(last["error"]["message"].as_str().unwrap().contains("cut off"), "{last}");
}
