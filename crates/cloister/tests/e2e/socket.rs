//! The public agent socket: who may open it, and what it makes of bad frames.

use cloister_protocol::admin::Session;
use cloister_protocol::{AgentFrame, ChatId, ErrorCode};
use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{self, client::IntoClientRequest};

use crate::world::{PATIENCE, Talk, World, code_of};

const SOCKET: &str = "/cells/w1/v1/agent_ws/C1/";

async fn get(world: &World, path: &str, token: Option<&str>) -> (u16, ErrorCode) {
    let response = world.stack.http("GET", path, token, Vec::new()).await.unwrap();
    (response.status, code_of(&response))
}

async fn new_session(world: &World, body: serde_json::Value) -> Session {
    let token = world.stack.operator_token().unwrap();
    let body = body.to_string().into_bytes();
    let answer = world.stack.http("POST", "/api/v1/sessions", Some(&token), body).await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json().unwrap()
}

#[tokio::test]
async fn a_token_opens_what_it_is_for_and_nothing_else() {
    let world = World::start().await;
    let own = world.stack.session("owner").await.unwrap();
    let foreign = world.add_user("alice").await;
    let expired = new_session(&world, json!({"user": "owner", "ttl_s": 0})).await;
    let unauthorized = (401, ErrorCode::Unauthorized);
    for path in [SOCKET, "/cells/w1/v1/artifacts/0123456789abcdef"] {
        assert_eq!(get(&world, path, None).await, unauthorized);
        assert_eq!(get(&world, path, Some("")).await, unauthorized);
        assert_eq!(get(&world, path, Some("0123456789abcdef")).await, unauthorized);
        assert_eq!(get(&world, path, Some(&expired.token)).await, unauthorized);
        let operator = world.stack.operator_token().unwrap();
        assert_eq!(get(&world, path, Some(&operator)).await, unauthorized);
        assert_eq!(get(&world, path, Some(&foreign.token)).await, (403, ErrorCode::Forbidden));
    }
    let not_found = (404, ErrorCode::NotFound);
    let bad = (400, ErrorCode::BadRequest);
    for (path, expected) in [
        ("/cells/w1/v1/agent_ws/C99/", not_found),
        ("/cells/w1/v1/artifacts/0123456789abcdef", not_found),
        ("/cells/w1/v1/agent_ws/c1/", bad),
        ("/cells/W1/v1/agent_ws/C1/", bad),
        ("/cells/w01/v1/agent_ws/C1/", bad),
        ("/cells/..%2fw1/v1/agent_ws/C1/", bad),
        // Everything is right, and it is no WebSocket.
        (SOCKET, bad),
    ] {
        assert_eq!(get(&world, path, Some(&own.token)).await, expected, "{path}");
    }
    // A workspace that is not there looks like one of somebody else.
    let elsewhere = get(&world, "/cells/w77/v1/agent_ws/C1/", Some(&own.token)).await;
    assert_eq!(elsewhere, (403, ErrorCode::Forbidden));
    let upload = world.upload(&Session { workspace: own.workspace, ..foreign }, "x", b"x").await;
    assert_eq!((upload.status, code_of(&upload)), (403, ErrorCode::Forbidden));
    for (token, expected) in [(None, 401), (Some("wrong"), 401), (Some(own.token.as_str()), 401)] {
        let body = b"{\"user\":\"owner\"}".to_vec();
        let answer = world.stack.http("POST", "/api/v1/sessions", token, body).await.unwrap();
        assert_eq!(answer.status, expected);
    }
}

#[tokio::test]
async fn a_login_link_works_exactly_once() {
    let world = World::start().await;
    let (_, token) = world.stack.login_url().split_once("token=").unwrap();
    let body = json!({"login_token": token}).to_string().into_bytes();
    let tries = (0..8).map(|_| world.stack.http("POST", "/api/v1/sessions", None, body.clone()));
    let answers = futures_util::future::join_all(tries).await;
    let mut statuses: Vec<u16> = answers.iter().map(|a| a.as_ref().unwrap().status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 401, 401, 401, 401, 401, 401, 401]);
    let good = answers.into_iter().flatten().find(|answer| answer.status == 200).unwrap();
    let session: Session = good.json().unwrap();
    let mut client = world.stack.client(&session, ChatId::from_number(1));
    assert_eq!(client.say("hello").await.text, "echo: hello");
}

type Raw = WebSocketStream<TcpStream>;

async fn open(world: &World, session: &Session) -> Raw {
    let address = world.stack.address().get().unwrap();
    // The other way to show the token, for clients that can't set a header.
    let url = format!("ws://{address}{SOCKET}?token={}", session.token);
    let stream = TcpStream::connect(&address).await.unwrap();
    tokio_tungstenite::client_async(url.into_client_request().unwrap(), stream).await.unwrap().0
}

async fn next(socket: &mut Raw) -> Option<AgentFrame> {
    loop {
        match timeout(PATIENCE, socket.next()).await.unwrap() {
            Some(Ok(tungstenite::Message::Text(text))) => {
                return Some(serde_json::from_str(&text).unwrap());
            }
            Some(Ok(tungstenite::Message::Close(_)) | Err(_)) | None => return None,
            Some(Ok(_)) => {}
        }
    }
}

/// Frames that must not work, and the code they are answered with.
fn bad_frames() -> Vec<(String, ErrorCode)> {
    use ErrorCode::{BadRequest, NotFound, TooLarge, UnknownType};
    let text = |bytes: usize| json!({"type": "message", "id": "x", "text": "a".repeat(bytes)});
    let attached = |path: &str| {
        let file = json!({"path": path, "name": "x", "mime": "text/plain"});
        json!({"type": "message", "id": "x", "text": "hi", "attachments": [file]}).to_string()
    };
    vec![
        ("not JSON".to_owned(), BadRequest),
        (String::new(), BadRequest),
        ("[]".to_owned(), BadRequest),
        (format!("{}{}", "[".repeat(50_000), "]".repeat(50_000)), BadRequest),
        ("{}".to_owned(), BadRequest),
        (r#"{"type": 5}"#.to_owned(), BadRequest),
        (r#"{"type": "dance"}"#.to_owned(), UnknownType),
        (r#"{"type": "end", "turn": "t-1"}"#.to_owned(), UnknownType),
        (r#"{"type": "message", "text": "no id"}"#.to_owned(), BadRequest),
        (r#"{"type": "message", "id": 5, "text": "x"}"#.to_owned(), BadRequest),
        (r#"{"type": "message", "id": "a b", "text": "x"}"#.to_owned(), BadRequest),
        (r#"{"type": "message", "id": "", "text": "x"}"#.to_owned(), BadRequest),
        (r#"{"type": "message", "id": "x", "text": 7}"#.to_owned(), BadRequest),
        (r#"{"type": "message", "id": "x", "text": null}"#.to_owned(), BadRequest),
        (r#"{"type": "message", "id": "x", "text": " \n "}"#.to_owned(), BadRequest),
        (r#"{"type": "message", "id": "x", "attachments": "no"}"#.to_owned(), BadRequest),
        (r#"{"type": "message", "id": "x", "chat": "C2", "text": "x"}"#.to_owned(), BadRequest),
        (attached("chats/C1/incoming/../../../../cloister.db"), BadRequest),
        (attached("/etc/passwd"), BadRequest),
        (attached("SOUL.md"), BadRequest),
        (attached("chats/C1/incoming/not-there.txt"), NotFound),
        (text(300 << 10).to_string(), TooLarge),
        (text(3 << 19).to_string(), TooLarge),
        (r#"{"type": "cancel", "task": "x"}"#.to_owned(), BadRequest),
        (r#"{"type": "cancel", "task": "T99"}"#.to_owned(), NotFound),
        (r#"{"type": "approval", "id": "A1", "answer": "maybe"}"#.to_owned(), BadRequest),
        (r#"{"type": "approval", "id": "A1", "answer": "allow"}"#.to_owned(), NotFound),
    ]
}

#[tokio::test]
async fn bad_frames_are_answered_and_change_nothing() {
    let world = World::start().await;
    let session = world.stack.session("owner").await.unwrap();
    let mut socket = open(&world, &session).await;
    for (text, code) in bad_frames() {
        let shown: String = text.chars().take(80).collect();
        socket.send(tungstenite::Message::text(text)).await.unwrap();
        let Some(AgentFrame::Error(error)) = next(&mut socket).await else { panic!("{shown}") };
        assert_eq!(error.code, code, "{shown}: {}", error.message);
        assert!(!error.message.is_empty());
    }
    socket.send(tungstenite::Message::binary(vec![0u8, 255, 1])).await.unwrap();
    let Some(AgentFrame::Error(error)) = next(&mut socket).await else { panic!("binary") };
    assert_eq!(error.code, ErrorCode::BadRequest);

    // It is as usable as before. Fields we do not know are ignored, and so is who it says it is.
    let good = json!({"type": "message", "id": "good", "chat": "C1", "text": "hello",
                      "from": "mallory", "mood": {"x": [1]}});
    socket.send(tungstenite::Message::text(good.to_string())).await.unwrap();
    loop {
        if let AgentFrame::End(end) = next(&mut socket).await.unwrap() {
            assert_eq!(end.text, "echo: hello");
            break;
        }
    }
    let said: Vec<(String, String)> =
        world.transcript("C1").await.into_iter().map(|line| (line.from, line.text)).collect();
    let expected = [("owner", "hello"), ("agent", "echo: hello")];
    assert_eq!(said, expected.map(|(from, text)| (from.to_owned(), text.to_owned())));
    let requests = world.model.requests();
    assert_eq!(requests.len(), 1);
    assert!(!requests[0].body.to_string().contains("mallory"));
}

#[tokio::test]
async fn a_socket_that_speaks_only_nonsense_is_closed() {
    let world = World::start().await;
    let session = world.stack.session("owner").await.unwrap();
    let mut socket = open(&world, &session).await;
    for _ in 0..100 {
        socket.send(tungstenite::Message::text("nonsense")).await.unwrap();
    }
    let mut errors = 0;
    while next(&mut socket).await.is_some() {
        errors += 1;
    }
    assert_eq!(errors, 100);
}

#[tokio::test]
async fn an_open_socket_closes_when_its_session_ends() {
    let world = World::start().await;
    let session = new_session(&world, json!({"user": "owner", "ttl_s": 1})).await;
    let mut socket = open(&world, &session).await;
    let message = json!({"type": "message", "id": "m1", "text": "hello"}).to_string();
    let talk = async {
        while socket.send(tungstenite::Message::text(message.clone())).await.is_ok() {
            if next(&mut socket).await.is_none() {
                return;
            }
        }
    };
    timeout(PATIENCE, talk).await.unwrap();
    assert_eq!(get(&world, SOCKET, Some(&session.token)).await, (401, ErrorCode::Unauthorized));
}

#[tokio::test]
async fn every_refusal_of_the_public_address_has_the_envelope() {
    let world = World::start().await;
    let operator = world.stack.operator_token().unwrap();
    let big = vec![b' '; 2 << 20];
    let sessions = "/api/v1/sessions";
    for (method, path, body, status, code) in [
        ("GET", "/nothing", Vec::new(), 404, ErrorCode::NotFound),
        ("GET", "/admin/v1/users", Vec::new(), 404, ErrorCode::NotFound),
        ("DELETE", sessions, Vec::new(), 405, ErrorCode::BadRequest),
        ("POST", SOCKET, Vec::new(), 405, ErrorCode::BadRequest),
        ("POST", sessions, b"{bad".to_vec(), 400, ErrorCode::BadRequest),
        ("POST", sessions, b"{}".to_vec(), 400, ErrorCode::BadRequest),
        ("POST", sessions, b"{\"user\":\"nobody\"}".to_vec(), 404, ErrorCode::NotFound),
        (
            "POST",
            sessions,
            b"{\"user\":\"owner\",\"ttl_s\":-1}".to_vec(),
            400,
            ErrorCode::BadRequest,
        ),
        ("POST", sessions, big, 413, ErrorCode::TooLarge),
        ("GET", "/cells/w1/v1/agent_ws/C1/?after=x", Vec::new(), 400, ErrorCode::BadRequest),
        ("GET", "/cells/%FF/v1/agent_ws/C1/", Vec::new(), 400, ErrorCode::BadRequest),
    ] {
        let answer = world.stack.http(method, path, Some(&operator), body).await.unwrap();
        assert_eq!((answer.status, code_of(&answer)), (status, code), "{method} {path}");
    }
}
