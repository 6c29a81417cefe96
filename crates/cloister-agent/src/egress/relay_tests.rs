use std::path::PathBuf;

use tokio::net::UnixListener;

use super::*;

/// A door that answers with what it was sent, after the other side has ended.
fn echo_door() -> (tempfile::TempDir, PathBuf, JoinSet<()>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("door.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            connections.spawn(async move {
                let mut sent = Vec::new();
                stream.read_to_end(&mut sent).await.unwrap();
                stream.write_all(&sent).await.unwrap();
            });
        }
    });
    (dir, path, serving)
}

async fn send(port: u16, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut back = Vec::new();
    stream.read_to_end(&mut back).await.unwrap();
    back
}

#[tokio::test]
async fn bytes_pass_unchanged_and_a_half_closed_connection_still_brings_the_answer() {
    let (_dir, door, _serving) = echo_door();
    let relay = Relay::start(&door, 0).await.unwrap();
    let bytes: Vec<u8> = (0..300_000u32).map(|i| (i % 251) as u8).collect();
    assert!(send(relay.port(), &bytes).await == bytes);
    assert_eq!(relay.connections(), 1);
}

#[tokio::test]
async fn more_connections_than_there_are_places_wait_for_their_turn() {
    let (_dir, door, _serving) = echo_door();
    let relay = Relay::start(&door, 0).await.unwrap();
    let port = relay.port();
    // They hold every place and say nothing.
    let mut holding = Vec::new();
    for _ in 0..MAX_CONNECTIONS {
        holding.push(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap());
    }
    let mut waiting = JoinSet::new();
    waiting.spawn(async move { send(port, b"hello").await });
    while relay.connections() < MAX_CONNECTIONS as u64 {
        tokio::task::yield_now().await;
    }
    assert!(waiting.try_join_next().is_none());
    drop(holding);
    assert_eq!(waiting.join_next().await.unwrap().unwrap(), b"hello");
}

#[tokio::test]
async fn a_door_that_is_gone_ends_the_connection() {
    let (dir, door, serving) = echo_door();
    let relay = Relay::start(&door, 0).await.unwrap();
    drop(serving);
    drop(dir);
    assert_eq!(send(relay.port(), b"").await, b"");
}

#[tokio::test]
async fn a_connection_that_moves_nothing_is_closed() {
    let (_dir, door, _serving) = echo_door();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut serving = JoinSet::new();
    let idle = Duration::from_millis(20);
    serving.spawn(serve(listener, Arc::from(door.as_path()), Arc::default(), idle));
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
    stream.write_all(b"x").await.unwrap();
    let mut back = Vec::new();
    let closed = timeout(Duration::from_secs(20), stream.read_to_end(&mut back)).await;
    assert!(closed.is_ok() && back.is_empty());
}
