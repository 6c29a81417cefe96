//! The relay: what programs find on the loopback as their HTTP proxy. It passes bytes to the door and
//! back, understands none of them and decides nothing.

use std::io;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::door::CONNECT_TIMEOUT;

/// Connections at once; others wait in the listener's queue.
const MAX_CONNECTIONS: usize = 48;
/// A connection over which nothing has moved for this long is closed, at the latest after twice this.
const IDLE: Duration = Duration::from_secs(300);
const BUFFER_BYTES: usize = 16 << 10;
/// After a connection could not be taken, for lack of descriptors: others must end first.
const PAUSE: Duration = Duration::from_millis(50);

pub(super) struct Relay {
    port: u16,
    connections: Arc<AtomicU64>,
    /// Ends with this.
    _serving: JoinSet<()>,
}

impl Relay {
    pub(super) async fn start(door: &Path, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let port = listener.local_addr()?.port();
        let connections = Arc::new(AtomicU64::new(0));
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, Arc::from(door), Arc::clone(&connections), IDLE));
        Ok(Self { port, connections, _serving: serving })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// How many connections there have been.
    pub(super) fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }
}

async fn serve(
    listener: TcpListener,
    door: Arc<Path>,
    connections: Arc<AtomicU64>,
    idle: Duration,
) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut relayed = JoinSet::new();
    loop {
        while relayed.try_join_next().is_some() {}
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((program, _)) => {
                connections.fetch_add(1, Ordering::Relaxed);
                let door = Arc::clone(&door);
                relayed.spawn(async move {
                    // Either end sees for itself how the connection ended.
                    pass(program, &door, idle).await.ok();
                    drop(place);
                });
            }
            Err(_no_descriptor) => sleep(PAUSE).await,
        }
    }
}

/// Passes bytes both ways until both directions have ended, one has failed, or nothing moves.
async fn pass(mut program: TcpStream, door: &Path, idle: Duration) -> io::Result<()> {
    // A program's answer comes in pieces: none waits until the one before is acknowledged.
    program.set_nodelay(true)?;
    let mut broker = timeout(CONNECT_TIMEOUT, UnixStream::connect(door)).await??;
    let (mut from_program, mut to_program) = program.split();
    let (mut from_broker, mut to_broker) = broker.split();
    let moved = AtomicU64::new(0);
    let both = async {
        let out = pump(&mut from_program, &mut to_broker, &moved);
        let back = pump(&mut from_broker, &mut to_program, &moved);
        tokio::try_join!(out, back).map(|((), ())| ())
    };
    tokio::select! {
        ended = both => ended,
        () = idleness(&moved, idle) => Ok(()),
    }
}

/// Copies until the end, which it passes on too.
async fn pump(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    moved: &AtomicU64,
) -> io::Result<()> {
    let mut buffer = vec![0u8; BUFFER_BYTES];
    loop {
        let count = from.read(&mut buffer).await?;
        let Some(bytes @ [_, ..]) = buffer.get(..count) else { break };
        to.write_all(bytes).await?;
        moved.fetch_add(1, Ordering::Relaxed);
    }
    to.shutdown().await
}

async fn idleness(moved: &AtomicU64, idle: Duration) {
    let mut before = moved.load(Ordering::Relaxed);
    loop {
        sleep(idle).await;
        let now = moved.load(Ordering::Relaxed);
        if now == before {
            return;
        }
        before = now;
    }
}

#[cfg(test)]
#[path = "relay_tests.rs"]
mod tests;
