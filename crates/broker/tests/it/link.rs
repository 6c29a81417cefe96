use std::time::Duration;

use cloister_protocol::link::{Downlink, Reply, Uplink};
use cloister_protocol::{ErrorBody, ErrorCode, MAX_FRAME_BYTES, TurnId};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::harness::{Client, ControlEnd, DOLLAR, Opened, PATIENCE, World, connect, quick};

type Socket = WebSocketStream<UnixStream>;

async fn dial(client: &Client) -> Socket {
    let stream = connect(&client.socket).await;
    tokio_tungstenite::client_async("ws://cloister/link", stream).await.unwrap().0
}

async fn linked(door: &mut Opened) -> (Socket, ControlEnd) {
    let socket = dial(&door.client).await;
    let end = timeout(PATIENCE, door.links.recv()).await.unwrap().unwrap();
    (socket, end)
}

async fn next_json(socket: &mut Socket) -> Value {
    loop {
        match timeout(PATIENCE, socket.next()).await.unwrap().unwrap().unwrap() {
            Message::Text(text) => return serde_json::from_str(&text).unwrap(),
            Message::Close(close) => panic!("closed: {close:?}"),
            _ => {}
        }
    }
}

async fn say(socket: &mut Socket, frame: &Value) {
    socket.send(Message::text(frame.to_string())).await.unwrap();
}

fn hello() -> Value {
    json!({"type": "hello", "version": "1"})
}

async fn heard(end: &mut ControlEnd) -> Uplink {
    timeout(PATIENCE, end.up.recv()).await.unwrap().unwrap()
}

async fn is_closed(socket: &mut Socket) -> bool {
    let closing = async {
        loop {
            match socket.next().await {
                None | Some(Err(_) | Ok(Message::Close(_))) => return,
                Some(Ok(_)) => {}
            }
        }
    };
    timeout(PATIENCE, closing).await.is_ok()
}

#[tokio::test]
async fn frames_pass_both_ways() {
    let world = World::new().await;
    let mut door = world.open();
    let (mut socket, mut end) = linked(&mut door).await;
    say(&mut socket, &hello()).await;
    assert_eq!(heard(&mut end).await, Uplink::Hello { version: "1".to_owned() });
    let turn: TurnId = "t-1".parse().unwrap();
    end.down.send(Downlink::Stored { turn }).await.unwrap();
    assert_eq!(next_json(&mut socket).await, json!({"type": "stored", "turn": "t-1"}));
}

#[tokio::test]
async fn what_is_not_a_frame_is_answered_and_changes_nothing() {
    let world = World::new().await;
    let mut door = world.open();
    let (mut socket, mut end) = linked(&mut door).await;
    let cases = [
        (Message::text("{"), "bad_request"),
        (Message::text("[]"), "bad_request"),
        (Message::text("{\"type\":\"format_disk\",\"id\":\"x\"}"), "unknown_type"),
        (Message::text("{\"type\":\"accepted\"}"), "bad_request"),
        (Message::text("{\"type\":\"accepted\",\"id\":\"../..\"}"), "bad_request"),
        (Message::binary(vec![0; 10]), "bad_request"),
        (Message::text("x".repeat(MAX_FRAME_BYTES + 1)), "too_large"),
    ];
    for (frame, code) in cases {
        socket.send(frame).await.unwrap();
        let answer = next_json(&mut socket).await;
        assert_eq!((&answer["type"], &answer["code"]), (&json!("error"), &json!(code)), "{answer}");
        assert!(answer["message"].as_str().unwrap().len() < 400);
    }
    say(&mut socket, &json!({"type": "format_disk", "id": "mine"})).await;
    assert_eq!(next_json(&mut socket).await["id"], "mine");
    say(&mut socket, &hello()).await;
    assert!(matches!(heard(&mut end).await, Uplink::Hello { .. }));
    assert!(end.up.try_recv().is_err());
}

#[tokio::test]
async fn a_plain_request_for_the_link_is_told_what_it_is() {
    let world = World::new().await;
    let mut door = world.open();
    let answer = door.client.request("GET", "/link", "").await;
    assert_eq!(answer.status, 400);
    assert!(answer.error().await.message.contains("/link is a WebSocket"));
    assert!(door.links.try_recv().is_err(), "nothing was attached");
}

#[tokio::test]
async fn a_link_that_control_lets_go_ends_even_if_its_agent_does_not_read() {
    let world = World::new().await;
    let mut door = world.open();
    let (socket, end) = linked(&mut door).await;
    let big = "r".repeat(100_000);
    let refuse = || {
        let error = ErrorBody::new(ErrorCode::Internal, big.clone());
        Downlink::Reply { id: "r".parse().unwrap(), result: Reply::Refused { error } }
    };
    // Until neither the socket nor the channel takes any more.
    while timeout(Duration::from_millis(200), end.down.send(refuse())).await.is_ok() {}
    let ControlEnd { down, up } = end;
    drop(up);
    assert!(timeout(PATIENCE, down.closed()).await.is_ok());
    drop(socket);
}

#[tokio::test]
async fn a_frame_of_the_largest_size_passes() {
    let world = World::new().await;
    let mut door = world.open();
    let (mut socket, mut end) = linked(&mut door).await;
    let empty = json!({"type": "hello", "version": ""}).to_string().len();
    let version = "v".repeat(MAX_FRAME_BYTES - empty);
    say(&mut socket, &json!({"type": "hello", "version": version})).await;
    assert_eq!(heard(&mut end).await, Uplink::Hello { version });
}

#[tokio::test]
async fn too_many_bad_frames_end_the_link() {
    let mut options = quick();
    options.door.bad_frames = 3;
    let world = World::with(options, DOLLAR).await;
    let mut door = world.open();
    let (mut socket, mut end) = linked(&mut door).await;
    for _ in 0..4 {
        socket.send(Message::text("nonsense")).await.unwrap();
    }
    assert!(is_closed(&mut socket).await);
    assert!(timeout(PATIENCE, end.up.recv()).await.unwrap().is_none());
    linked(&mut door).await;
}

#[tokio::test]
async fn a_frame_beyond_all_measure_ends_the_link_and_not_the_door() {
    let world = World::new().await;
    let mut door = world.open();
    let (mut socket, mut end) = linked(&mut door).await;
    // The send itself may fail: the other side stops reading.
    let sent = timeout(PATIENCE, socket.send(Message::text("x".repeat(32 << 20)))).await;
    sent.expect("the link hangs").ok();
    assert!(timeout(PATIENCE, end.up.recv()).await.unwrap().is_none());
    linked(&mut door).await;
}

#[tokio::test]
async fn the_link_closes_when_control_or_the_door_does() {
    let world = World::new().await;
    let mut door = world.open();
    let (mut socket, end) = linked(&mut door).await;
    drop(end);
    assert!(is_closed(&mut socket).await);
    let (mut socket, _end) = linked(&mut door).await;
    drop(door.door);
    assert!(is_closed(&mut socket).await);
}

#[tokio::test]
async fn an_agent_that_hangs_up_frees_control() {
    let world = World::new().await;
    let mut door = world.open();
    let (socket, mut end) = linked(&mut door).await;
    drop(socket);
    assert!(timeout(PATIENCE, end.up.recv()).await.unwrap().is_none());
    assert!(timeout(PATIENCE, end.down.closed()).await.is_ok());
}

#[tokio::test]
async fn a_full_channel_holds_the_agent_back_and_loses_nothing() {
    let world = World::new().await;
    let mut door = world.open();
    let (mut socket, mut end) = linked(&mut door).await;
    let frames = 200;
    let sending = async {
        for number in 0..frames {
            let version = format!("{number} {}", "x".repeat(10_000));
            say(&mut socket, &json!({"type": "hello", "version": version})).await;
        }
    };
    let hearing = async {
        for number in 0..frames {
            let Uplink::Hello { version } = heard(&mut end).await else { panic!("another frame") };
            assert!(version.starts_with(&format!("{number} ")));
        }
    };
    tokio::join!(sending, hearing);
}

#[tokio::test]
async fn the_link_is_pinged() {
    let mut options = quick();
    options.door.ping = Duration::from_millis(20);
    let world = World::with(options, DOLLAR).await;
    let mut door = world.open();
    let (mut socket, _end) = linked(&mut door).await;
    let ping = timeout(PATIENCE, socket.next()).await.unwrap().unwrap().unwrap();
    assert!(matches!(ping, Message::Ping(_)), "{ping:?}");
}
