//! A proxy between the product and the homeserver that does what networks and servers do on bad days.
//!
//! Every request is counted, so that a test can tell patience from a busy loop. Faults are laid on a kind of
//! request, for a number of requests or until they are lifted; what no fault is laid on passes unchanged.

mod events;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1 as client;
use hyper::header::{
    ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderValue, TRANSFER_ENCODING,
};
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{Synapse, SynapseError, io};

/// How many of the newest requests are remembered.
const REMEMBERED: usize = 50_000;

/// What is done to a request or its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The answer comes later by this.
    Delay(Duration),
    /// The connection is cut before anything is passed on.
    Cut,
    /// The request is passed on, and the connection cut before the answer: it happened, and nobody knows.
    Swallow,
    /// It is never answered.
    Hang,
    /// It is answered with this status and not passed on.
    Status(u16),
    /// It is answered with 429 and not passed on.
    TooMany { retry_after_ms: u64 },
    /// The token is not known (any more).
    LoggedOut,
    /// What the sync before this one told is told once more, before what is new.
    RepeatEvents,
    /// What this sync has to tell in rooms is told by the next one, after what that one has to tell.
    HoldEvents,
    /// The homeserver keeps to itself that rooms are encrypted: lay it on every path.
    HideEncryption,
}

/// A request that came by.
#[derive(Clone, Debug)]
pub struct Passed {
    pub at: Instant,
    pub method: String,
    /// Without the query.
    pub path: String,
    /// The fault that was laid on it.
    pub fault: Option<Fault>,
}

#[derive(Debug)]
struct Laid {
    /// A part of the path.
    on: String,
    fault: Fault,
    /// How many requests it is still for; none: all.
    times: Option<usize>,
}

#[derive(Debug, Default)]
struct State {
    laid: Vec<Laid>,
    passed: Vec<Passed>,
    /// The joined rooms of the last sync that had any.
    told: Option<Value>,
    /// Joined rooms that were held back.
    held: Option<Value>,
}

#[derive(Debug)]
struct Shared {
    behind: String,
    state: Mutex<State>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running proxy; dropping it stops it.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    _serving: JoinSet<()>,
}

impl FaultProxy {
    /// Stands before the homeserver and passes everything.
    pub async fn before(synapse: &Synapse) -> Result<Self, SynapseError> {
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(io("the proxy's port"))?;
        let address = listener.local_addr().map_err(io("the proxy's port"))?;
        let shared = Arc::new(Shared { behind: synapse.address(), state: Mutex::default() });
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, _serving: serving })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Lays a fault on every request whose path has this in it, until it is lifted.
    pub fn lay(&self, on: &str, fault: Fault) {
        self.push(on, fault, None);
    }

    /// Lays a fault on the next so many requests whose path has this in it.
    pub fn lay_times(&self, on: &str, fault: Fault, times: usize) {
        self.push(on, fault, Some(times));
    }

    fn push(&self, on: &str, fault: Fault, times: Option<usize>) {
        self.shared.state().laid.push(Laid { on: on.to_owned(), fault, times });
    }

    /// Lifts every fault.
    pub fn heal(&self) {
        self.shared.state().laid.clear();
    }

    /// How many times faults that were laid for a number of requests are still to happen.
    pub fn pending(&self) -> usize {
        self.shared.state().laid.iter().filter_map(|laid| laid.times).sum()
    }

    /// Requests since a moment whose path has this in it.
    pub fn count_since(&self, since: Instant, part: &str) -> usize {
        let state = self.shared.state();
        state.passed.iter().filter(|p| p.at >= since && p.path.contains(part)).count()
    }

    pub fn passed(&self) -> Vec<Passed> {
        self.shared.state().passed.clone()
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                connections.spawn(connection(stream, Arc::clone(&shared)));
            }
            Some(_ended) = connections.join_next() => {}
        }
    }
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(|request| handle(Arc::clone(&shared), request));
    // A connection that breaks is the business of who made it.
    server::Builder::new().serve_connection(TokioIo::new(stream), service).await.ok();
}

/// Cuts the connection.
#[derive(Debug, thiserror::Error)]
#[error("cut")]
struct CutNow;

type Answer = Response<Full<Bytes>>;

async fn handle(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Answer, CutNow> {
    let path = request.uri().path().to_owned();
    let fault = note(&shared, request.method().as_str(), &path);
    let answer = match fault {
        None => pass(&shared, request).await,
        Some(Fault::Delay(time)) => {
            sleep(time).await;
            pass(&shared, request).await
        }
        Some(Fault::Cut) => None,
        Some(Fault::Swallow) => {
            pass(&shared, request).await;
            None
        }
        Some(Fault::Hang) => std::future::pending().await,
        Some(Fault::Status(status)) => {
            Some(refusal(status, &json!({"errcode": "M_UNKNOWN", "error": "a fault was laid"})))
        }
        Some(Fault::TooMany { retry_after_ms }) => {
            let told = json!({"errcode": "M_LIMIT_EXCEEDED", "error": "Too Many Requests",
                              "retry_after_ms": retry_after_ms});
            Some(refusal(429, &told))
        }
        Some(Fault::LoggedOut) => {
            let told = json!({"errcode": "M_UNKNOWN_TOKEN", "error": "Invalid access token passed.",
                              "soft_logout": false});
            Some(refusal(401, &told))
        }
        Some(Fault::HideEncryption) if path.contains("/state/m.room.encryption") => {
            Some(refusal(404, &json!({"errcode": "M_NOT_FOUND", "error": "Event not found."})))
        }
        Some(Fault::HideEncryption) if !path.ends_with("/sync") => pass(&shared, request).await,
        Some(fault @ (Fault::RepeatEvents | Fault::HoldEvents | Fault::HideEncryption)) => {
            altered(&shared, &fault, request).await
        }
    };
    answer.ok_or(CutNow)
}

/// Remembers a request and takes the fault that is laid on it.
fn note(shared: &Shared, method: &str, path: &str) -> Option<Fault> {
    let mut state = shared.state();
    if state.passed.len() >= REMEMBERED {
        state.passed.drain(..REMEMBERED / 2);
    }
    let fitting = |laid: &Laid| path.contains(&laid.on) && laid.times != Some(0);
    let fault = state.laid.iter_mut().find(|laid| fitting(laid)).map(|laid| {
        laid.times = laid.times.map(|times| times.saturating_sub(1));
        laid.fault.clone()
    });
    let (method, path) = (method.to_owned(), path.to_owned());
    state.passed.push(Passed { at: Instant::now(), method, path, fault: fault.clone() });
    fault
}

fn refusal(status: u16, told: &Value) -> Answer {
    answer(status, "application/json", Bytes::from(told.to_string()))
}

fn answer(status: u16, content_type: &str, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    if let Ok(content_type) = HeaderValue::from_str(content_type) {
        answer.headers_mut().insert(CONTENT_TYPE, content_type);
    }
    answer
}

/// Passes a request on, and what was held back along with it; none: the connection is to be cut.
async fn pass(shared: &Shared, request: Request<Incoming>) -> Option<Answer> {
    let is_sync = request.uri().path().ends_with("/sync");
    let (status, content_type, mut body) = exchange(&shared.behind, request).await.ok()?;
    if is_sync && status == 200 {
        body = edited(&body, |rooms| {
            let mut state = shared.state();
            if let Some(held) = state.held.take() {
                events::append(rooms, held);
            }
            if events::has_timeline(rooms) {
                state.told = Some(rooms.clone());
            }
        });
    }
    Some(answer(status, &content_type, body))
}

/// A sync whose answer is changed on its way.
async fn altered(shared: &Shared, fault: &Fault, request: Request<Incoming>) -> Option<Answer> {
    let (status, content_type, body) = exchange(&shared.behind, request).await.ok()?;
    if status != 200 {
        return Some(answer(status, &content_type, body));
    }
    let body = edited(&body, |rooms| {
        let mut state = shared.state();
        if *fault == Fault::HideEncryption {
            events::hide_encryption(rooms);
        } else if *fault == Fault::RepeatEvents {
            let told = state.told.clone().unwrap_or_else(|| json!({}));
            let new = std::mem::replace(rooms, told);
            events::append(rooms, new);
        } else {
            let taken = events::take_timelines(rooms);
            events::append(state.held.get_or_insert_with(|| json!({})), taken);
        }
    });
    Some(answer(status, &content_type, body))
}

/// Changes the joined rooms in the answer to a sync.
fn edited(body: &Bytes, edit: impl FnOnce(&mut Value)) -> Bytes {
    let Ok(mut sync) = serde_json::from_slice::<Value>(body) else { return body.clone() };
    let mut rooms = sync.pointer("/rooms/join").cloned().unwrap_or_else(|| json!({}));
    edit(&mut rooms);
    if rooms.as_object().is_some_and(|rooms| !rooms.is_empty()) {
        sync["rooms"]["join"] = rooms;
    }
    Bytes::from(sync.to_string())
}

type AnyError = Box<dyn std::error::Error + Send + Sync>;

async fn exchange(
    behind: &str,
    request: Request<Incoming>,
) -> Result<(u16, String, Bytes), AnyError> {
    let (mut head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str()).parse()?;
    head.uri = path;
    head.headers.insert(HOST, HeaderValue::from_str(behind)?);
    head.headers.remove(TRANSFER_ENCODING);
    // What is changed on the way must be readable.
    head.headers.remove(ACCEPT_ENCODING);
    head.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    let stream = TcpStream::connect(behind).await?;
    let (mut sender, connection) = client::handshake(TokioIo::new(stream)).await?;
    let exchange = async {
        let answer = sender.send_request(Request::from_parts(head, Full::new(body))).await?;
        let content_type = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or("application/octet-stream").to_owned();
        let status = answer.status().as_u16();
        Ok::<_, AnyError>((status, content_type, answer.into_body().collect().await?.to_bytes()))
    };
    tokio::pin!(connection, exchange);
    tokio::select! {
        done = &mut exchange => done,
        _ = &mut connection => exchange.await,
    }
}
