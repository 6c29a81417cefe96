//! The model server of the bench: answers every call with the same few words, at once or as slowly as
//! real models do, and knows when each request was there and when its answer was handed over.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt;
use bytes::Bytes;
use cloister_protocol::with_causes;
use futures_util::stream;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use cloister::CliError;

const ROUTE: &str = "/{manner}/v1/chat/completions";

/// Says which round a direct call belongs to.
pub(super) const ROUND_HEADER: &str = "x-bench-round";
const WORDS: [&str; 8] = ["This ", "is ", "what ", "a ", "short ", "answer ", "looks ", "like."];
/// Asks for five executors that burn processor time.
pub(super) const BURN: &str = "Burn: start five tasks that keep a processor busy.";
/// What such an executor does, in words that the built-in model understands.
const BURN_WORK: &str = "run: timeout 100 bash -c 'while :; do :; done'";

/// How an answer comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// All words at once.
    Instant,
    /// Each word is a write of its own, the next one a moment later.
    Pieces,
    /// The first word after 200 ms, then one every 20 ms, 20 in all.
    Typical,
}

impl Manner {
    const FIRST: Duration = Duration::from_millis(200);
    const BETWEEN: Duration = Duration::from_millis(20);
    const MOMENT: Duration = Duration::from_millis(1);
    const TYPICAL_WORDS: usize = 20;

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Instant => "instant",
            Self::Pieces => "pieces",
            Self::Typical => "typical",
        }
    }

    fn named(name: &str) -> Self {
        let all = [Self::Instant, Self::Pieces, Self::Typical];
        all.into_iter().find(|manner| manner.as_str() == name).unwrap_or(Self::Instant)
    }

    /// Where the server answers in this manner.
    pub(super) fn path(self) -> String {
        format!("/{}/v1/chat/completions", self.as_str())
    }

    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Instant => "model answers at once",
            Self::Pieces => "model writes word by word",
            Self::Typical => "model takes 0.6 s",
        }
    }

    fn count(self) -> usize {
        match self {
            Self::Instant | Self::Pieces => WORDS.len(),
            Self::Typical => Self::TYPICAL_WORDS,
        }
    }

    /// The pause before a word.
    fn pause(self, number: usize) -> Duration {
        match (self, number) {
            (Self::Instant, _) => Duration::ZERO,
            (Self::Pieces, _) => Self::MOMENT,
            (Self::Typical, 0) => Self::FIRST,
            (Self::Typical, _) => Self::BETWEEN,
        }
    }
}

/// When a request was there, whole, and when the last of its answer was handed over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Served {
    pub(super) arrived: Instant,
    pub(super) finished: Instant,
}

#[derive(Default)]
struct SeenRequests {
    served: HashMap<u64, Served>,
    /// The last request of an agent, for direct calls of the same size.
    body: Bytes,
}

type Shared = Arc<Mutex<SeenRequests>>;

fn lock(seen: &Shared) -> MutexGuard<'_, SeenRequests> {
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
                tracing::debug!(error = with_causes(&error), "small packets will be held back");
            }
        });
        let seen = Shared::default();
        let router = Router::new().route(ROUTE, post(answer)).with_state(Arc::clone(&seen));
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, router).await });
        Ok(Self { address, seen, _server: server })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn base_url(&self, manner: Manner) -> String {
        format!("http://{}/{}/v1", self.address, manner.as_str())
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

async fn answer(
    State(seen): State<Shared>,
    Path(manner): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let arrived = Instant::now();
    let manner = Manner::named(&manner);
    let direct = headers.get(ROUND_HEADER).and_then(|value| value.to_str().ok()?.parse().ok());
    let asked = direct.is_none().then(|| last_words(&body)).flatten().unwrap_or_default();
    let round = direct.or_else(|| round_of(&asked));
    if direct.is_none() {
        lock(&seen).body = body;
    }
    let head = [(header::CONTENT_TYPE, "text/event-stream")];
    if let Some(call) = called_for(&asked) {
        return (head, call).into_response();
    }
    if asked == BURN {
        return (head, burn()).into_response();
    }
    let events = stream::unfold(0, move |number| {
        let event = event(number, manner.count());
        if number == manner.count()
            && let Some(round) = round
        {
            let finished = Instant::now();
            lock(&seen).served.insert(round, Served { arrived, finished });
        }
        async move {
            let event = event?;
            let pause = manner.pause(number);
            if !pause.is_zero() && number < manner.count() {
                tokio::time::sleep(pause).await;
            }
            Some((Ok::<_, std::convert::Infallible>(event), number + 1))
        }
    });
    (head, Body::from_stream(events)).into_response()
}

/// The words one by one, then the end with its usage; none after that.
fn event(number: usize, words: usize) -> Option<Bytes> {
    let data = match number.cmp(&words) {
        std::cmp::Ordering::Less => {
            let word = WORDS.get(number % WORDS.len()).copied().unwrap_or_default();
            let delta = serde_json::json!({"content": word});
            format!("data: {}\n\n", piece(&delta, None))
        }
        std::cmp::Ordering::Equal => {
            format!("data: {}\n\ndata: [DONE]\n\n", piece(&serde_json::json!({}), Some("stop")))
        }
        std::cmp::Ordering::Greater => return None,
    };
    Some(Bytes::from(data))
}

fn piece(delta: &serde_json::Value, finish: Option<&str>) -> serde_json::Value {
    let mut piece = serde_json::json!({"choices": [{"index": 0, "delta": delta}]});
    if let Some(reason) = finish {
        piece["choices"][0]["finish_reason"] = reason.into();
        piece["usage"] = serde_json::json!({"prompt_tokens": 10, "completion_tokens": 8});
    }
    piece
}

/// A turn with one call of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnStep {
    /// One that the control plane answers without deciding or recording anything.
    Free,
    /// One that it decides about, and records; there is no such file, so nothing else happens.
    Gated,
}

impl TurnStep {
    const fn word(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Gated => "gated",
        }
    }
}

/// Asks for a turn with one call of a tool.
pub(super) fn step(step: TurnStep, round: u64) -> String {
    format!("Step {} {round}, please.", step.word())
}

/// The call that such a message asks for.
fn called_for(words: &str) -> Option<String> {
    let rest = words.strip_prefix("Step ")?;
    let (word, number) = rest.split_once(' ')?;
    let (name, arguments) = if word == TurnStep::Gated.word() {
        ("send_file", serde_json::json!({"path": format!("missing {number}")}))
    } else {
        ("list_tasks", serde_json::json!({}))
    };
    let call = serde_json::json!({
        "index": 0,
        "id": "step-0",
        "type": "function",
        "function": {"name": name, "arguments": arguments.to_string()},
    });
    Some(calls(&[call]))
}

/// An answer that hands the work to five executors.
fn burn() -> String {
    let call = |index: usize| {
        let title = format!("Burn {index}");
        let arguments = serde_json::json!({"title": title, "instructions": BURN_WORK});
        serde_json::json!({
            "index": index,
            "id": format!("burn-{index}"),
            "type": "function",
            "function": {"name": "delegate", "arguments": arguments.to_string()},
        })
    };
    calls(&(0..5).map(call).collect::<Vec<_>>())
}

/// An answer that calls tools.
fn calls(calls: &[serde_json::Value]) -> String {
    let delta = serde_json::json!({"tool_calls": calls});
    let (said, end) = (piece(&delta, None), piece(&serde_json::json!({}), Some("tool_calls")));
    format!("data: {said}\n\ndata: {end}\n\ndata: [DONE]\n\n")
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

/// Something to say that is no round, and not what was said before: a door takes an agent that asks the
/// same thing again and again for one that is stuck.
pub(super) fn small_talk() -> String {
    static SAID: AtomicU64 = AtomicU64::new(1);
    format!("Please say something short ({}).", SAID.fetch_add(1, Ordering::Relaxed))
}

/// What the last message of a request says.
fn last_words(body: &[u8]) -> Option<String> {
    let mut request: Request = serde_json::from_slice(body).ok()?;
    // What an agent knows of the moment stands below what was said.
    Some(request.messages.pop()?.content.as_str()?.lines().next()?.to_owned())
}

/// The round that a request of an agent is for; none for one that a summary is asked of.
fn round_of(words: &str) -> Option<u64> {
    words.strip_prefix("Round ")?.split_once(':')?.0.parse().ok()
}
