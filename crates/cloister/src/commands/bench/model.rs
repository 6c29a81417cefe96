//! The model server of the bench: answers every call with the same few words at once, and knows when
//! each request was there and when its answer was handed over.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt;
use bytes::Bytes;
use futures_util::stream;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::output::CliError;

/// Says which round a direct call belongs to.
pub(super) const ROUND_HEADER: &str = "x-bench-round";
const WORDS: [&str; 8] = ["This ", "is ", "what ", "a ", "short ", "answer ", "looks ", "like."];

/// When a request was there, whole, and when the last of its answer was handed over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Served {
    pub(super) arrived: Instant,
    pub(super) finished: Instant,
}

#[derive(Default)]
struct Seen {
    served: HashMap<u64, Served>,
    /// The last request of an agent, for direct calls of the same size.
    body: Bytes,
}

type Shared = Arc<Mutex<Seen>>;

fn lock(seen: &Shared) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The running server; dropping it ends it.
pub(super) struct Model {
    address: SocketAddr,
    seen: Shared,
    _server: JoinSet<std::io::Result<()>>,
}

impl Model {
    pub(super) async fn start() -> Result<Self, CliError> {
        let failed = "the model server of the bench could not listen";
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(CliError::io(failed))?;
        let address = listener.local_addr().map_err(CliError::io(failed))?;
        let listener = listener.tap_io(|stream| {
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "small packets will be held back");
            }
        });
        let seen = Shared::default();
        let router =
            Router::new().route("/v1/chat/completions", post(answer)).with_state(Arc::clone(&seen));
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, router).await });
        Ok(Self { address, seen, _server: server })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub(super) fn log(&self) -> Log {
        Log(Arc::clone(&self.seen))
    }
}

/// What the server saw.
#[derive(Clone)]
pub(super) struct Log(Shared);

impl Log {
    /// The call of a round, once.
    pub(super) fn take(&self, round: u64) -> Option<Served> {
        lock(&self.0).served.remove(&round)
    }

    /// The last request that an agent made.
    pub(super) fn last_body(&self) -> Bytes {
        lock(&self.0).body.clone()
    }
}

async fn answer(State(seen): State<Shared>, headers: HeaderMap, body: Bytes) -> Response {
    let arrived = Instant::now();
    let direct = headers.get(ROUND_HEADER).and_then(|value| value.to_str().ok()?.parse().ok());
    let round = direct.or_else(|| round_of(&body));
    if direct.is_none() && round.is_some() {
        lock(&seen).body = body;
    }
    let events = stream::unfold(0, move |number| {
        let event = event(number);
        if number == WORDS.len()
            && let Some(round) = round
        {
            let finished = Instant::now();
            lock(&seen).served.insert(round, Served { arrived, finished });
        }
        async move { event.map(|event| (Ok::<_, std::convert::Infallible>(event), number + 1)) }
    });
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response()
}

/// The words one by one, then the end with its usage; none after that.
fn event(number: usize) -> Option<Bytes> {
    let data = match (WORDS.get(number), number.checked_sub(WORDS.len())) {
        (Some(word), _) => format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{word}\"}}}}]}}\n\n"
        ),
        (None, Some(0)) => {
            "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\
             \"usage\":{\"prompt_tokens\":10,\"completion_tokens\":8}}\n\ndata: [DONE]\n\n"
                .to_owned()
        }
        (None, _) => return None,
    };
    Some(Bytes::from(data))
}

#[derive(Deserialize)]
struct Request {
    messages: Vec<Message>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: serde_json::Value,
}

/// What the message of a round says.
pub(super) fn text_of(round: u64) -> String {
    format!("Round {round}: please say something short.")
}

/// The round that a request of an agent is for; none for one that a summary is asked of.
fn round_of(body: &[u8]) -> Option<u64> {
    let request: Request = serde_json::from_slice(body).ok()?;
    let last = request.messages.last()?.content.as_str()?;
    last.strip_prefix("Round ")?.split_once(':')?.0.parse().ok()
}
