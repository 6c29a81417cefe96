//! Thousands of connections that say something and then nothing: people are answered all the same.

use std::time::Duration;

use cloister_testkit::ModelServer;
use rustix::process::{Resource, Rlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::browsing::Browsing;
use crate::world::{PATIENCE, Talk as _, World};

/// More than took the listener down once.
const MANY: usize = 5_200;
/// Nothing ends by itself within the test.
const PATIENT: &str = "[connections]\nhead_s = 3600\nstall_s = 3600\ngrace_s = 3600\n";

fn raise_open_files() -> bool {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    rustix::process::setrlimit(Resource::Nofile, raised).unwrap();
    limit.maximum.is_none_or(|most| most > 2 * MANY as u64)
}

/// A head, and one byte of its body.
async fn stuck(address: &str, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head =
        format!("POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-length: 100000\r\n\r\nx");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// With 5,200 connections held open by a stranger, somebody who is logged in is answered on the
/// socket they had and on a new one, and so are a new person and the operator's own socket.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_stuck_connections_keep_nobody_out() {
    if !raise_open_files() {
        eprintln!("not enough open files on this machine");
        return;
    }
    let world = World::with(PATIENT, ModelServer::builder()).await;
    world.add_user("quiet").await;
    let mut before = world.client("quiet", 1).await;
    assert_eq!(before.say("before").await.text, "echo: before");
    let address = world.stack.address().get().unwrap();
    let paths = ["/login", "/api/v1/sessions", "/hooks/telegram/bot", "/chats"];
    let mut held = Vec::new();
    for number in 0..MANY {
        held.push(stuck(&address, paths[number % paths.len()]).await);
    }
    assert_eq!(before.say("during").await.text, "echo: during");
    let mut fresh = world.client("quiet", 1).await;
    assert_eq!(fresh.say("anew").await.text, "echo: anew");
    let invited = world.json(&["invite", "newcomer"]).await;
    let link = invited["link"].as_str().unwrap().to_owned();
    let page = timeout(PATIENCE, Browsing::new(&link).log_in(&link)).await.unwrap();
    assert_eq!(page.status, 200, "{}", page.html);
    // One address has few of them in the end: the others were sent away.
    let mut open = 0;
    for stream in &mut held {
        let mut byte = [0; 1];
        open +=
            usize::from(timeout(Duration::from_millis(1), stream.read(&mut byte)).await.is_err());
    }
    assert!(open < MANY / 2, "{open} are still held");
}

/// A large file that comes slowly, but comes, gets through; one that stops is given up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_upload_gets_through_and_one_that_stops_does_not() {
    let impatient = "[connections]\nstall_s = 2\ngrace_s = 2\nleast_bytes_per_s = 100\n";
    let world = World::with(impatient, ModelServer::builder()).await;
    let session = world.stack.session("owner").await.unwrap();
    let address = world.stack.address().get().unwrap();
    let send = async |pieces: usize, length: usize| {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let head = format!(
            "POST /cells/w1/v1/chats/C1/files?name=slow.txt HTTP/1.1\r\nhost: {address}\r\n\
             authorization: Bearer {}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n",
            session.token
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        for _ in 0..pieces {
            // A line this slow is what is tested: longer in all than what may stand still.
            tokio::time::sleep(Duration::from_millis(500)).await;
            stream.write_all(&[b'x'; 200]).await.unwrap();
        }
        let mut answer = Vec::new();
        timeout(PATIENCE, stream.read_to_end(&mut answer)).await.unwrap().ok();
        String::from_utf8_lossy(&answer).into_owned()
    };
    let (slow, stopped) = tokio::join!(send(10, 2_000), send(2, 2_000));
    assert!(slow.starts_with("HTTP/1.1 200"), "{slow}");
    assert!(!stopped.starts_with("HTTP/1.1 200"), "{stopped}");
}
