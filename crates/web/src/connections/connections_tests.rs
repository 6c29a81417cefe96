use std::time::Duration;

use cloister_protocol::UserId;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;

const SMALL: Shares = Shares { strangers: 4, known: 4, per_address: 100, per_person: 2 };
/// Too long for a test to sit through: only what makes room passes.
const LONG: u64 = 3600;

fn patient() -> ConnectionOptions {
    let options = ConnectionOptions::default();
    ConnectionOptions { head_s: LONG, stall_s: LONG, grace_s: LONG, ..options }
}

async fn listening(
    options: ConnectionOptions,
    shares: Shares,
) -> (std::net::SocketAddr, JoinSet<io::Result<()>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    // `/in`: whoever asks there is logged in.
    let enter = |seat: axum::Extension<Seat>| async move {
        if seat.is_of(UserId::from_number(1)) { "in" } else { "full" }
    };
    let router = Router::new()
        .route("/", axum::routing::get(async || "hello"))
        .route("/in", axum::routing::get(enter))
        .route("/body", axum::routing::post(async |body: axum::body::Bytes| body));
    let mut serving = JoinSet::new();
    let own = Serving::with(&options, shares);
    serving.spawn(serve(listener, router, CancellationToken::new(), own));
    (address, serving)
}

async fn get(stream: &mut TcpStream, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nhost: here\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut seen = Vec::new();
    while !seen.windows(4).any(|four| four == b"\r\n\r\n") {
        assert!(stream.read_buf(&mut seen).await.unwrap() > 0, "no answer to {path}");
    }
    let head = String::from_utf8(seen.clone()).unwrap();
    let (head, body) = head.split_once("\r\n\r\n").unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut rest = vec![0; length.parse::<usize>().unwrap() - body.len()];
    stream.read_exact(&mut rest).await.unwrap();
    body.to_owned() + std::str::from_utf8(&rest).unwrap()
}

/// A connection with a head and one byte of its body.
async fn stuck(address: std::net::SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = b"POST /body HTTP/1.1\r\nhost: here\r\ncontent-length: 1000\r\n\r\nx";
    stream.write_all(head).await.unwrap();
    stream
}

async fn is_closed(stream: &mut TcpStream) {
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.ok();
}

/// Held back until the piece before is acknowledged, every turn of an ordinary client lasts 40 ms longer.
#[tokio::test]
async fn what_is_written_leaves_at_once() {
    let mut listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (accepted, _) = accept(&mut listener).await;
    assert!(accepted.nodelay().unwrap());
    assert!(!client.nodelay().unwrap(), "it is nothing that every socket has");
}

/// A client that never finishes its head holds a place for a while, not for ever.
#[tokio::test(start_paused = true)]
async fn a_head_that_never_ends_is_given_up() {
    let (address, _serving) = listening(ConnectionOptions::default(), SMALL).await;
    let mut slow = TcpStream::connect(address).await.unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\nhost: he").await.unwrap();
    let mut rest = Vec::new();
    let begun = tokio::time::Instant::now();
    slow.read_to_end(&mut rest).await.unwrap();
    assert!(begun.elapsed() <= ConnectionOptions::default().head() * 2);
    assert!(!rest.starts_with(b"HTTP/1.1 200"));
}

/// The same for a body.
#[tokio::test(start_paused = true)]
async fn a_body_that_never_ends_is_given_up() {
    let (address, _serving) = listening(ConnectionOptions::default(), SMALL).await;
    let mut slow = stuck(address).await;
    let mut rest = Vec::new();
    slow.read_to_end(&mut rest).await.unwrap();
    assert!(!rest.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&rest));
}

/// Strangers make room for each other, the oldest first; whoever comes next is answered at once.
#[tokio::test]
async fn beyond_their_share_the_oldest_stranger_makes_room() {
    let (address, _serving) = listening(patient(), SMALL).await;
    let mut first = stuck(address).await;
    let mut others = Vec::new();
    for _ in 0..20 {
        others.push(stuck(address).await);
        assert_eq!(get(&mut TcpStream::connect(address).await.unwrap(), "/").await, "hello");
    }
    is_closed(&mut first).await;
}

/// Who is logged in keeps their connection however many strangers come, and so does their socket; of one person
/// there are so many.
#[tokio::test]
async fn strangers_never_take_the_places_of_who_is_logged_in() {
    let (address, _serving) = listening(patient(), SMALL).await;
    let mut own = TcpStream::connect(address).await.unwrap();
    assert_eq!(get(&mut own, "/in").await, "in");
    let mut strangers = Vec::new();
    for _ in 0..50 {
        strangers.push(stuck(address).await);
    }
    assert_eq!(get(&mut own, "/").await, "hello");
    let mut second = TcpStream::connect(address).await.unwrap();
    assert_eq!(get(&mut second, "/in").await, "in");
    let mut third = TcpStream::connect(address).await.unwrap();
    assert_eq!(get(&mut third, "/in").await, "full");
    drop(second);
    // The place is free as soon as the connection is gone.
    let free = async {
        while get(&mut TcpStream::connect(address).await.unwrap(), "/in").await != "in" {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), free).await.unwrap();
}
