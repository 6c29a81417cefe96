use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;

async fn listening(most: usize) -> (std::net::SocketAddr, JoinSet<io::Result<()>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/", axum::routing::get(async || "hello"));
    let mut serving = JoinSet::new();
    serving.spawn(serve(listener, router, CancellationToken::new(), most));
    (address, serving)
}

/// A client that never finishes its head holds a place for a while, not for ever.
#[tokio::test(start_paused = true)]
async fn a_head_that_never_ends_is_given_up() {
    let (address, _serving) = listening(4).await;
    let mut slow = TcpStream::connect(address).await.unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\nhost: he").await.unwrap();
    let mut rest = Vec::new();
    let begun = tokio::time::Instant::now();
    slow.read_to_end(&mut rest).await.unwrap();
    assert!(begun.elapsed() <= HEAD_TIME * 2);
    assert!(!rest.starts_with(b"HTTP/1.1 200"));
}

#[tokio::test]
async fn beyond_the_limit_a_connection_waits_for_its_turn() {
    let (address, _serving) = listening(1).await;
    let request = b"GET / HTTP/1.1\r\nhost: here\r\n\r\n";
    let mut first = TcpStream::connect(address).await.unwrap();
    first.write_all(request).await.unwrap();
    let mut head = [0; 12];
    first.read_exact(&mut head).await.unwrap();
    let mut second = TcpStream::connect(address).await.unwrap();
    second.write_all(request).await.unwrap();
    let early =
        tokio::time::timeout(Duration::from_millis(100), second.read_exact(&mut head)).await;
    assert!(early.is_err(), "both are served");
    drop(first);
    second.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
}
