//! The link: the one WebSocket to the control plane.
//!
//! Owns: connecting, saying hello, coming back after a break, matching replies to requests.
//! Promises: frames go out in order; what could not be written is written first on the next
//! connection; a request is sent again on every new connection until its reply comes. What had been
//! written before a break may be lost: whoever needs more watches the connection's number.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cloister_protocol::link::{Downlink, Reply, Request, Uplink};
use cloister_protocol::{RequestId, with_causes};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message};

use crate::{log, text};

/// How long a broken link is tried again before the agent gives up and is launched anew.
const GIVE_UP_AFTER: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const FIRST_BACKOFF: Duration = Duration::from_millis(20);
const MAX_BACKOFF: Duration = Duration::from_secs(1);
const QUEUE: usize = 64;
/// A task's ledger comes in one frame.
const MAX_INCOMING_BYTES: usize = 64 << 20;
const BUFFER_BYTES: usize = 4 << 10;
/// How long a frame that nobody waits for waits for another, and how many go together at most.
const WITH_OTHERS: Duration = Duration::from_millis(15);
const MOST_TOGETHER: usize = 16;

#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    #[error("the link to the control plane is gone")]
    Gone,
    #[error("the control plane did not answer within {} s", .0.as_secs())]
    NoReply(Duration),
}

#[derive(Debug, thiserror::Error)]
enum ConnectError {
    #[error("can't reach the door {door}")]
    Dial { door: PathBuf, source: std::io::Error },
    #[error("the door did not take the link")]
    Handshake(#[source] Box<tungstenite::Error>),
    #[error("the door did not answer within {} s", CONNECT_TIMEOUT.as_secs())]
    TimedOut,
}

/// Which connection is the current one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinkState {
    /// Counts connections; 0 before the first.
    pub(crate) connection: u64,
    pub(crate) up: bool,
}

type Waiting = Arc<Mutex<HashMap<RequestId, oneshot::Sender<Reply>>>>;
type Socket = WebSocketStream<UnixStream>;

/// The agent's end: cheap to clone.
#[derive(Clone)]
pub(crate) struct Link {
    out: mpsc::Sender<Uplink>,
    state: watch::Receiver<LinkState>,
    waiting: Waiting,
}

/// Makes a link; nothing happens until the driver runs.
pub(crate) fn new(door: &Path) -> (Link, mpsc::Receiver<Downlink>, Driver) {
    let (out, outgoing) = mpsc::channel(QUEUE);
    let (frames, incoming) = mpsc::channel(QUEUE);
    let (state_sender, state) = watch::channel(LinkState::default());
    let waiting = Waiting::default();
    let link = Link { out, state, waiting: Arc::clone(&waiting) };
    let driver = Driver {
        door: door.to_owned(),
        outgoing,
        in_hand: Vec::new(),
        frames,
        state: state_sender,
        waiting,
    };
    (link, incoming, driver)
}

impl Link {
    pub(crate) async fn send(&self, frame: Uplink) -> Result<(), LinkError> {
        self.out.send(frame).await.map_err(|_closed: mpsc::error::SendError<_>| LinkError::Gone)
    }

    /// A place in the queue, so that what is said and what is remembered as said can't differ.
    pub(crate) async fn place(&self) -> Result<mpsc::Permit<'_, Uplink>, LinkError> {
        self.out.reserve().await.map_err(|_closed: mpsc::error::SendError<()>| LinkError::Gone)
    }

    pub(crate) fn state(&self) -> watch::Receiver<LinkState> {
        self.state.clone()
    }

    pub(crate) fn connection(&self) -> u64 {
        self.state.borrow().connection
    }

    /// Asks and waits for the reply, for at most `wait` when given.
    pub(crate) async fn request(
        &self,
        request: Request,
        wait: Option<Duration>,
    ) -> Result<Reply, LinkError> {
        let (answer, mut reply) = oneshot::channel();
        self.waiting().insert(request.id.clone(), answer);
        let _forget = Forget { link: self, id: request.id.clone() };
        let deadline = Instant::now() + wait.unwrap_or_default();
        let mut state = self.state();
        loop {
            self.send(Uplink::Request(request.clone())).await?;
            tokio::select! {
                reply = &mut reply => {
                    return reply.map_err(|_dropped: oneshot::error::RecvError| LinkError::Gone);
                }
                again = next_connection(&mut state) => again?,
                () = sleep_until(deadline), if wait.is_some() => {
                    return Err(LinkError::NoReply(wait.unwrap_or_default()));
                }
            }
        }
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, HashMap<RequestId, oneshot::Sender<Reply>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for a connection after the current one.
pub(crate) async fn next_connection(
    state: &mut watch::Receiver<LinkState>,
) -> Result<(), LinkError> {
    let seen = state.borrow().connection;
    let next = state.wait_for(|state| state.up && state.connection > seen).await;
    next.map(|_state| ()).map_err(|_closed: watch::error::RecvError| LinkError::Gone)
}

/// A request that is no longer awaited leaves nothing behind.
struct Forget<'a> {
    link: &'a Link,
    id: RequestId,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.link.waiting().remove(&self.id);
    }
}

/// The part that moves bytes; runs until the link is gone for good.
pub(crate) struct Driver {
    door: PathBuf,
    outgoing: mpsc::Receiver<Uplink>,
    /// Taken from the queue and not yet written whole.
    in_hand: Vec<Message>,
    frames: mpsc::Sender<Downlink>,
    state: watch::Sender<LinkState>,
    waiting: Waiting,
}

impl Driver {
    /// Returns when the control plane could not be reached for a while, or nobody listens any more.
    pub(crate) async fn run(mut self) {
        let mut give_up = Instant::now() + GIVE_UP_AFTER;
        let mut backoff = FIRST_BACKOFF;
        loop {
            match self.connect().await {
                Ok(socket) => {
                    if self.serve(socket).await == Served::Frames {
                        give_up = Instant::now() + GIVE_UP_AFTER;
                        backoff = FIRST_BACKOFF;
                    }
                    self.state.send_modify(|state| state.up = false);
                }
                Err(error) => log_chain(&error),
            }
            if self.frames.is_closed() || Instant::now() + backoff > give_up {
                return;
            }
            sleep(backoff).await;
            backoff = (backoff * 2).min(MAX_BACKOFF);
        }
    }

    async fn connect(&self) -> Result<Socket, ConnectError> {
        let dial = async {
            let stream = UnixStream::connect(&self.door)
                .await
                .map_err(|source| ConnectError::Dial { door: self.door.clone(), source })?;
            let mut config = WebSocketConfig::default();
            config.read_buffer_size = BUFFER_BYTES;
            // What is written is flushed; until then, frames that go together are kept together.
            config.write_buffer_size = BUFFER_BYTES;
            config.max_message_size = Some(MAX_INCOMING_BYTES);
            config.max_frame_size = Some(MAX_INCOMING_BYTES);
            let handshake = |error| ConnectError::Handshake(Box::new(error));
            let request = "ws://cloister/link".into_client_request().map_err(handshake)?;
            tokio_tungstenite::client_async_with_config(request, stream, Some(config))
                .await
                .map(|(socket, _response)| socket)
                .map_err(handshake)
        };
        timeout(CONNECT_TIMEOUT, dial)
            .await
            .unwrap_or_else(|_elapsed: tokio::time::error::Elapsed| Err(ConnectError::TimedOut))
    }

    async fn serve(&mut self, socket: Socket) -> Served {
        let (mut sink, mut stream) = socket.split();
        let hello = Uplink::Hello { version: env!("CARGO_PKG_VERSION").to_owned() };
        let Some(hello) = encode(&hello) else { return Served::Nothing };
        if sink.send(hello).await.is_err() {
            return Served::Nothing;
        }
        self.state.send_modify(|state| {
            *state = LinkState { connection: state.connection + 1, up: true };
        });
        let mut served = Served::Nothing;
        tokio::select! {
            () = write(&mut sink, &mut self.outgoing, &mut self.in_hand) => {}
            () = read(&mut stream, &self.frames, &self.waiting, &mut served) => {}
        }
        served
    }
}

/// Whether a connection was good for anything: one that is closed at once does not reset the clock.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Served {
    Nothing,
    Frames,
}

async fn write(
    sink: &mut SplitSink<Socket, Message>,
    outgoing: &mut mpsc::Receiver<Uplink>,
    in_hand: &mut Vec<Message>,
) {
    loop {
        for message in in_hand.iter() {
            if sink.feed(message.clone()).await.is_err() {
                return;
            }
        }
        if sink.flush().await.is_err() {
            return;
        }
        in_hand.clear();
        if !take(outgoing, in_hand).await {
            return;
        }
    }
}

/// Takes what there is to write: each write wakes the control plane. False when nobody is left to say anything.
async fn take(outgoing: &mut mpsc::Receiver<Uplink>, in_hand: &mut Vec<Message>) -> bool {
    let Some(frame) = outgoing.recv().await else { return false };
    let mut waits = waits(&frame);
    in_hand.extend(encode(&frame));
    let until = Instant::now() + WITH_OTHERS;
    while in_hand.len() < MOST_TOGETHER {
        let next = match outgoing.try_recv() {
            Ok(frame) => Some(frame),
            Err(_empty) if waits => timeout_at(until, outgoing.recv()).await.ok().flatten(),
            Err(_empty) => None,
        };
        let Some(frame) = next else { break };
        waits &= self::waits(&frame);
        in_hand.extend(encode(&frame));
    }
    true
}

/// Whether nobody waits for it: the control plane notes only after a while that a trigger is journaled.
fn waits(frame: &Uplink) -> bool {
    matches!(frame, Uplink::Accepted { .. })
}

async fn read(
    stream: &mut SplitStream<Socket>,
    frames: &mpsc::Sender<Downlink>,
    waiting: &Waiting,
    served: &mut Served,
) {
    while let Some(Ok(message)) = stream.next().await {
        let Message::Text(json) = message else { continue };
        *served = Served::Frames;
        match serde_json::from_str(&json) {
            Ok(Downlink::Reply { id, result }) => answer(waiting, &id, result),
            Ok(frame) => {
                if frames.send(frame).await.is_err() {
                    return;
                }
            }
            Err(error) => {
                let start = text::head(&json, 120);
                log::line(format_args!(
                    "ignored a frame that is not ours: {}: {start:?}",
                    with_causes(&error)
                ));
            }
        }
    }
}

fn answer(waiting: &Waiting, id: &RequestId, reply: Reply) {
    let asker = waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    if asker.is_none_or(|asker| asker.send(reply).is_err()) {
        log::line(format_args!("nobody waits for the reply to {id}"));
    }
}

fn encode(frame: &Uplink) -> Option<Message> {
    match serde_json::to_string(frame) {
        Ok(json) => Some(Message::text(json)),
        Err(error) => {
            log::line(format_args!("can't write a frame: {}", with_causes(&error)));
            None
        }
    }
}

fn log_chain(error: &dyn std::error::Error) {
    log::line(format_args!("{}", with_causes(error)));
}
