use std::time::{Duration, Instant};

use cloister_protocol::ErrorCode;
use cloister_testkit::{ModelServer, Reply};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::harness::{DOLLAR, PATIENCE, World, ask, connect, quick};

#[tokio::test]
async fn what_is_not_served_is_said_to_be_so() {
    let world = World::new().await;
    let door = world.open();
    for path in ["/v1/embeddings", "/fetch/x", "/", "/v1/chat/completions/../../etc/passwd"] {
        let answer = door.client.request("POST", path, "{}").await;
        assert_eq!(answer.status, 404, "{path}");
        let error = answer.error().await;
        assert_eq!(error.code, ErrorCode::NotFound);
        assert!(error.message.contains("not available"), "{}", error.message);
    }
    let answer = door.client.request("GET", "/v1/chat/completions", "").await;
    assert_eq!(answer.status, 405);
    assert_eq!(answer.error().await.code, ErrorCode::BadRequest);
    let models = door.client.request("GET", "/v1/models", "").await.json().await;
    assert_eq!(models["object"], "list");
}

#[tokio::test]
async fn a_body_that_is_too_large_or_malformed_is_refused() {
    let server = ModelServer::start().await.unwrap();
    let mut options = quick();
    options.door.body_bytes = 10_000;
    let world = World::with(options, DOLLAR).await;
    world.use_models(&[&server]).await;
    let door = world.open();
    let answer = door.client.chat(&ask(&"x".repeat(20_000))).await;
    assert_eq!(answer.status, 413);
    assert_eq!(answer.error().await.code, ErrorCode::TooLarge);
    for body in ["", "{", "[]", "null", "{\"messages\":[{}]}", "\u{0}"] {
        let answer = door.client.request("POST", "/v1/chat/completions", body).await;
        assert_eq!(answer.status, 400, "{body:?}");
        assert_eq!(answer.error().await.code, ErrorCode::BadRequest);
    }
    assert_eq!(server.request_count(), 0);
}

#[tokio::test]
async fn a_socket_at_a_very_long_path_works() {
    let world = World::new().await;
    let dir = world.dir.path().join("a".repeat(120)).join("b".repeat(120));
    std::fs::create_dir_all(&dir).unwrap();
    let door = world.open_at(dir.join("door.sock"), None);
    assert!(door.client.said("hello").await.contains("not an AI"));
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(&door.client.socket).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o666);
    // One that a killed control plane left behind is replaced.
    let socket = door.client.socket.clone();
    std::mem::forget(door);
    let door = world.open_at(socket, None);
    assert!(door.client.said("hello").await.contains("not an AI"));
}

#[tokio::test]
async fn more_calls_at_once_than_allowed_are_told_to_wait() {
    let server = ModelServer::start().await.unwrap();
    let mut options = quick();
    options.door.calls = 2;
    options.door.coordinator_calls = 2;
    options.upstream.first_byte = Some(PATIENCE);
    let world = World::with(options, DOLLAR).await;
    world.use_models(&[&server]).await;
    let door = world.open();
    let (reply, steps) = Reply::text("slow").chunks(1).stepped();
    server.enqueue(reply.clone());
    server.enqueue(reply);
    let mut calls = JoinSet::new();
    for text in ["one", "two"] {
        let client = door.client.clone();
        calls.spawn(async move { client.said(text).await });
    }
    server.wait_for_n(2, PATIENCE).await.unwrap();
    let answer = door.client.chat(&ask("three")).await;
    assert_eq!(answer.status, 429);
    assert_eq!(answer.headers["retry-after"], "1");
    assert_eq!(answer.error().await.code, ErrorCode::Busy);
    steps.allow(100);
    calls.join_all().await;
    assert_eq!(door.client.said("four").await, "echo: four");
}

#[tokio::test]
async fn the_bodies_of_a_doors_calls_are_bounded_together() {
    let server = ModelServer::start().await.unwrap();
    let mut options = quick();
    options.door.bodies_bytes = 100_000;
    options.upstream.first_byte = Some(PATIENCE);
    let world = World::with(options, DOLLAR).await;
    world.use_models(&[&server]).await;
    let door = world.open();
    let (reply, steps) = Reply::text("slow").chunks(1).stepped();
    server.enqueue(reply);
    let (client, large) = (door.client.clone(), "x".repeat(80_000));
    let mut calls = JoinSet::new();
    calls.spawn({
        let large = large.clone();
        async move { client.said(&large).await }
    });
    server.wait_for_n(1, PATIENCE).await.unwrap();
    assert_eq!(door.client.chat(&ask(&large)).await.status, 429);
    assert_eq!(door.client.said("small").await, "echo: small");
    steps.allow(100);
    calls.join_all().await;
    assert_eq!(door.client.chat(&ask(&large)).await.status, 200);
}

#[tokio::test]
async fn the_same_request_again_and_again_is_stopped() {
    let server = ModelServer::start().await.unwrap();
    let world = World::new().await;
    world.use_models(&[&server]).await;
    let door = world.open();
    for _ in 0..20 {
        assert_eq!(door.client.said("again").await, "echo: again");
    }
    let answer = door.client.chat(&ask("again")).await;
    assert_eq!(answer.status, 429);
    assert_eq!(answer.error().await.code, ErrorCode::LoopStopped);
    assert_eq!(door.client.said("something else").await, "echo: something else");
    assert_eq!(server.request_count(), 21);
}

#[tokio::test]
async fn a_flood_at_one_door_is_refused_and_does_not_slow_another() {
    let server = ModelServer::start().await.unwrap();
    let mut options = quick();
    options.door.requests_per_second = 20.0;
    options.door.request_burst = 20.0;
    let world = World::with(options, DOLLAR).await;
    world.use_models(&[&server]).await;
    let flooding = world.open_at(world.dir.path().join("flood.sock"), None);
    let calm = world.open_at(world.dir.path().join("calm.sock"), None);
    let mut flood = JoinSet::new();
    for _ in 0..8 {
        let socket = flooding.client.socket.clone();
        flood.spawn(async move {
            // Asks without waiting for answers, as fast as the socket takes it.
            let mut stream = connect(&socket).await;
            let requests = "GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n".repeat(50);
            while stream.write_all(requests.as_bytes()).await.is_ok() {}
        });
    }
    let mut refused = flooding.client.request("GET", "/v1/models", "").await;
    let since = Instant::now();
    while refused.status != 429 && since.elapsed() < PATIENCE {
        refused = flooding.client.request("GET", "/v1/models", "").await;
    }
    assert_eq!(refused.status, 429);
    for number in 0..10 {
        let started = Instant::now();
        calm.client.said(&format!("hello {number}")).await;
        assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    }
    flood.abort_all();
}

#[tokio::test]
async fn a_reader_that_does_not_read_blocks_only_itself() {
    let server = ModelServer::start().await.unwrap();
    let mut options = quick();
    options.upstream.client_stall = Duration::from_millis(200);
    let world = World::with(options, DOLLAR).await;
    world.use_models(&[&server]).await;
    let stalled = world.open_at(world.dir.path().join("stalled.sock"), None);
    let calm = world.open_at(world.dir.path().join("calm.sock"), None);
    // More than the buffers on the way hold, and slow enough that it is not all sent before they are full.
    let endless = Reply::text("x".repeat(4 << 20)).chunks(400).delay(Duration::from_millis(5));
    server.enqueue(endless);
    let mut stream = connect(&stalled.client.socket).await;
    let body = ask("talk").to_string();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    server.wait_for_n(1, PATIENCE).await.unwrap();
    for number in 0..10 {
        assert_eq!(calm.client.said(&format!("{number}")).await, format!("echo: {number}"));
    }
    // The call of the one that does not read is given up and settled.
    assert!(server.wait_for_abandoned(1, PATIENCE).await);
    world.settled().await;
}

#[tokio::test]
async fn a_request_that_never_ends_is_given_up() {
    let mut options = quick();
    options.door.header_read = Duration::from_millis(200);
    options.door.body_read = Duration::from_millis(200);
    let world = World::with(options, DOLLAR).await;
    let door = world.open();
    for start in [
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-le",
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{\"mess",
    ] {
        let mut stream = connect(&door.client.socket).await;
        stream.write_all(start.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("still open").unwrap();
    }
}
