use cloister_protocol::ErrorCode;
use cloister_testkit::{Matcher, ModelServer, Reply};
use serde_json::json;
use tokio::task::JoinSet;

use crate::harness::{COMPLETION_PRICE, DOLLAR, PROMPT_PRICE, World, ask, quick};

#[tokio::test]
async fn the_cost_is_what_the_provider_reports() {
    let server = ModelServer::start().await.unwrap();
    server.enqueue(Reply::text("fine").usage(100, 50));
    let world = World::new().await;
    world.use_models(&[&server]).await;
    world.open().client.said("hi").await;
    let state = world.settled().await;
    assert_eq!(state.spent, 100 * PROMPT_PRICE + 50 * COMPLETION_PRICE);
    assert_eq!(state.reserved, 0);
}

/// A provider may count more than was held: whoever asks again then finds it booked.
#[tokio::test]
async fn calls_that_cost_more_than_was_held_pass_the_limit_by_one_at_most() {
    let server = ModelServer::start().await.unwrap();
    server.when(Matcher::any(), Reply::text("ok").usage(4_000, 10));
    let dear = 4_000 * PROMPT_PRICE + 10 * COMPLETION_PRICE;
    let limit = 5 * dear / 2;
    let world = World::with(quick(), limit).await;
    world.use_models(&[&server]).await;
    let door = world.open();
    let mut answered = 0;
    for number in 0..8 {
        let mut request = ask(&format!("call {number}"));
        request["max_tokens"] = json!(10);
        let answer = door.client.chat(&request).await;
        answered += i64::from(answer.status == 200);
        answer.body().await;
    }
    assert_eq!(answered, 3, "{:?}", world.settled().await);
    assert_eq!(world.budget().await.spent, 3 * dear);
}

#[tokio::test]
async fn fifty_calls_at_once_never_pass_the_limit() {
    let server = ModelServer::start().await.unwrap();
    // Each call costs all that it may: the most that its reservation allows.
    server.when(Matcher::any(), Reply::text("a dear answer").usage(30, 400));
    let limit = 10_000_000;
    let mut options = quick();
    options.door.calls = 64;
    options.door.coordinator_calls = 64;
    let world = World::with(options, limit).await;
    world.use_models(&[&server]).await;
    let door = world.open();
    let mut calls = JoinSet::new();
    for number in 0..50 {
        let client = door.client.clone();
        calls.spawn(async move {
            let mut request = ask(&format!("call {number}"));
            request["max_tokens"] = json!(400);
            let answer = client.chat(&request).await;
            let status = answer.status;
            answer.body().await;
            status
        });
    }
    let mut answered = 0;
    while let Some(status) = calls.join_next().await {
        match status.unwrap() {
            200 => answered += 1,
            402 => {}
            other => panic!("unexpected status {other}"),
        }
        let state = world.budget().await;
        assert!(state.spent + state.reserved <= limit, "{state:?}");
    }
    let state = world.settled().await;
    assert!(state.spent <= limit, "{state:?}");
    assert!(answered >= 8, "{answered} calls fitted into {state:?}");
    assert_eq!(server.request_count(), answered);
}

#[tokio::test]
async fn over_budget_says_what_was_spent_and_how_to_raise_it() {
    let server = ModelServer::start().await.unwrap();
    server.enqueue(Reply::text("dear").usage(1_000, 900));
    let world = World::with(quick(), 3_000_000).await;
    world.use_models(&[&server]).await;
    let door = world.open();
    door.client.said("hi").await;
    let answer = door.client.chat(&ask("more")).await;
    assert_eq!(answer.status, 402);
    let error = answer.error().await;
    assert_eq!(error.code, ErrorCode::OverBudget);
    assert!(error.message.contains("$0.003"), "{}", error.message);
    assert!(error.message.contains("$0.0028 spent"), "{}", error.message);
    assert!(error.fix.unwrap().contains("cloister budget set ada --daily USD"));
    assert_eq!(server.request_count(), 1, "nothing was asked of the provider");
}

#[tokio::test]
async fn an_answer_is_shortened_to_what_is_left() {
    let server = ModelServer::start().await.unwrap();
    // Room for the prompt and about 500 tokens of the 1000 that the model could say.
    let world = World::with(quick(), 500 * COMPLETION_PRICE + 200 * PROMPT_PRICE).await;
    world.use_models(&[&server]).await;
    world.open().client.said("hi").await;
    let allowed = server.requests()[0].max_tokens().unwrap();
    assert!((256..600).contains(&allowed), "{allowed}");
}

#[tokio::test]
async fn a_provider_that_goes_on_past_the_limit_is_cut_off() {
    let server = ModelServer::start().await.unwrap();
    server.enqueue(Reply::text("x".repeat(5_000)).chunks(5_000));
    let world = World::new().await;
    world.use_models(&[&server]).await;
    let mut request = ask("say one word");
    request["max_tokens"] = json!(1);
    let door = world.open();
    let events = door.client.chat(&request).await.events().await;
    assert!(events.len() < 1_000, "{}", events.len());
    assert!(events[events.len() - 2].contains("length"), "{events:?}");
    assert_eq!(events[events.len() - 1], "[DONE]");
    world.settled().await;
}

#[tokio::test]
async fn a_task_stops_at_its_own_budget_and_at_that_of_the_task_above() {
    let server = ModelServer::start().await.unwrap();
    server.when(Matcher::any(), Reply::text("work").usage(100, 900));
    let world = World::with(quick(), DOLLAR).await;
    world.use_models(&[&server]).await;
    let parent = world.add_task(None, 2_200_000).await;
    let child = world.add_task(Some(parent), DOLLAR).await;
    let door = world.open_at(world.dir.path().join("task.sock"), Some(child));
    door.client.said("step one").await;
    let answer = door.client.chat(&ask("step two")).await;
    assert_eq!(answer.status, 402);
    let error = answer.error().await;
    assert!(error.message.contains(&format!("task {parent}")), "{}", error.message);
    assert!(error.fix.unwrap().contains("cloister budget set ada --task USD"));
}

#[tokio::test]
async fn retries_are_paid_for_too() {
    let server = ModelServer::start().await.unwrap();
    for _ in 0..2 {
        server.enqueue(Reply::text("half of an answer").chunks(4).cut_after(3));
    }
    let world = World::new().await;
    world.use_models(&[&server]).await;
    world.open().client.chat(&ask("hi")).await.body().await;
    let usage = world.store.tasks().usage(None, None).await.unwrap();
    assert_eq!(usage[0].calls, 2);
    assert!(usage[0].cost > 0);
}

/// A provider that counts more than anything can be neither spoils the books nor holds money until a restart.
#[tokio::test]
async fn what_a_provider_reports_is_booked_as_far_as_it_can_be_true() {
    let server = ModelServer::start().await.unwrap();
    server.enqueue(Reply::text("fine").usage(1 << 62, 1 << 62));
    let world = World::new().await;
    world.use_models(&[&server]).await;
    world.open().client.said("hi").await;
    let state = world.settled().await;
    assert_eq!(state.reserved, 0);
    let usage = world.store.tasks().usage(None, None).await.unwrap();
    assert!(usage[0].cost > 0 && usage[0].usage.prompt_tokens < 1 << 32, "{usage:?}");
}
