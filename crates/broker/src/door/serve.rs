//! Serving one door: its connections and its routes.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use bytes::Bytes;
use cloister_control::ports::{LinkSide, More, Principal};
use cloister_kit::{Bucket, Rate};
use cloister_policy::reach::CellRequest;
use cloister_protocol::{ErrorCode, ErrorEnvelope, with_causes};
use futures_util::stream;
use http_body_util::LengthLimitError;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::limits::Repeats;
use super::link;
use crate::chat::{ChatRequest, MaskedPieces, ModelGateway, Piece, collect};
use crate::egress::{self, Outlet};
use crate::options::DoorOptions;
use crate::refusal::{Refusal, shorten};

const RESTART_EVENT: &[u8] = b"data: {\"cloister\":\"restart\"}\n\n";

/// There is one link per live cell, and its frames are small; larger ones are read in pieces.
const READ_BUFFER: usize = 4 << 10;
const BODY_UNIT: usize = 1 << 10;

/// One door and what it may take.
pub(crate) struct Door {
    gateway: ModelGateway,
    outlet: Arc<Outlet>,
    pub(super) options: DoorOptions,
    pub(super) who: Principal,
    pub(super) link: Arc<dyn LinkSide>,
    pub(super) closing: CancellationToken,
    connections: Bucket,
    requests: Bucket,
    calls: Arc<Semaphore>,
    /// In units of `BODY_UNIT`.
    bodies: Arc<Semaphore>,
    repeats: Repeats,
}

impl Door {
    pub(super) fn new(
        gateway: ModelGateway,
        outlet: Outlet,
        options: DoorOptions,
        who: Principal,
        link: Arc<dyn LinkSide>,
        closing: CancellationToken,
    ) -> Self {
        let rate = Rate::new(options.request_burst, options.requests_per_second);
        Self {
            connections: Bucket::new(rate),
            requests: Bucket::new(rate),
            calls: Arc::new(Semaphore::new(options.calls_of(who))),
            bodies: Arc::new(Semaphore::new(options.bodies_bytes.div_ceil(BODY_UNIT))),
            repeats: Repeats::new(options.same_request),
            gateway,
            outlet: Arc::new(outlet),
            options,
            who,
            link,
            closing,
        }
    }
}

/// What a call under way holds of its door.
struct Admitted {
    _call: OwnedSemaphorePermit,
    _body: OwnedSemaphorePermit,
}

impl Door {
    /// Lets a call in if the door has room for it and for its body.
    fn admit(&self, headers: &HeaderMap) -> Result<Admitted, Refusal> {
        let busy = |full: TryAcquireError| {
            tracing::debug!(%full, workspace = %self.who.workspace, "a call was not let in");
            Refusal::busy(format!(
                "too many or too large model calls are under way already (at most {} at once)",
                self.options.calls_of(self.who)
            ))
        };
        let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        let length = length.and_then(|text| text.parse::<usize>().ok());
        // Without a length it may become as long as is allowed at all.
        let length = length.unwrap_or(usize::MAX).min(self.options.body_bytes);
        let units = u32::try_from(length.div_ceil(BODY_UNIT)).unwrap_or(u32::MAX);
        Ok(Admitted {
            _call: Arc::clone(&self.calls).try_acquire_owned().map_err(busy)?,
            _body: Arc::clone(&self.bodies).try_acquire_many_owned(units).map_err(busy)?,
        })
    }
}

/// Accepts until it is dropped. A cell that dials too fast or too often waits at its own door.
pub(super) async fn serve(listener: UnixListener, door: Arc<Door>) {
    let routes = routes(&door);
    let mut connections = JoinSet::new();
    loop {
        door.connections.wait().await;
        while connections.len() >= door.options.connections
            && connections.join_next().await.is_some()
        {}
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.spawn(connection(stream, routes.clone(), Arc::clone(&door)));
            }
            Err(error) => {
                tracing::warn!(error = with_causes(&error), workspace = %door.who.workspace, "a door could not accept");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn connection(stream: UnixStream, routes: Router, door: Arc<Door>) {
    let header_read = door.options.header_read;
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let (outlet, routes) = (Arc::clone(&door.outlet), routes.clone());
        async move {
            // A proxy is asked for other hosts' paths; none of them must reach a route of the door.
            if egress::is_for_proxy(&request) {
                return Ok(egress::serve_proxy(outlet, request).await);
            }
            routes.oneshot(request.map(Body::new)).await
        }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(header_read)
        .max_buf_size(64 << 10)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    if let Err(error) = served.await {
        tracing::debug!(error = with_causes(&error), "a connection of a cell ended early");
    }
}

fn routes(door: &Arc<Door>) -> Router {
    Router::new()
        .route("/link", get(open_link))
        .route("/v1/models", get(models))
        .route("/v1/chat/completions", post(chat))
        .merge(egress::routes(Arc::clone(&door.outlet)))
        .fallback(not_here)
        .method_not_allowed_fallback(not_this_way)
        .layer(middleware::from_fn_with_state(Arc::clone(door), within_rate))
        .with_state(Arc::clone(door))
}

/// Refuses what comes too fast, and not at once: a cell can't make the broker busy with refusals. A path
/// without a row in the table of requests is not there, whatever routes there are.
async fn within_rate(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    if door.requests.take().is_err() {
        sleep(door.options.busy_delay).await;
        return Refusal::busy("this cell asks too much at once").into_response();
    }
    if CellRequest::of_route(request.uri().path()).is_none() {
        return not_here(request).await.into_response();
    }
    next.run(request).await
}

async fn not_here(request: Request) -> Refusal {
    let path = shorten(request.uri().path(), 100);
    let message = format!("{path} is not available through this door");
    Refusal::new(StatusCode::NOT_FOUND, ErrorCode::NotFound, message)
        .fix("Available are /link, /v1/models, /v1/chat/completions, /fetch, /search, /secrets, /ca.pem, /egress/refusals and a proxy.")
}

async fn not_this_way(request: Request) -> Refusal {
    let message = format!("{} does not take {}", request.uri().path(), request.method());
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, ErrorCode::BadRequest, message)
}

async fn open_link(
    State(door): State<Arc<Door>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Refusal> {
    let upgrade = upgrade.map_err(|rejection| {
        Refusal::bad_request(format!("/link is a WebSocket: {rejection}"))
            .fix("Open it with a WebSocket handshake.")
    })?;
    Ok(upgrade
        // Larger frames than allowed are read, so that they can be answered; within reason.
        .max_message_size(link::MAX_READ_BYTES)
        .max_frame_size(link::MAX_READ_BYTES)
        .read_buffer_size(READ_BUFFER)
        .on_upgrade(move |socket| link::run(socket, door)))
}

/// The model of a request is the broker's choice; there is one name for it.
async fn models() -> Json<serde_json::Value> {
    let model = json!({"id": "default", "object": "model", "owned_by": "cloister"});
    Json(json!({"object": "list", "data": [model]}))
}

async fn chat(State(door): State<Arc<Door>>, request: Request) -> Result<Response, Refusal> {
    let permit = door.admit(request.headers())?;
    let body = read_body(request.into_body(), &door.options).await?;
    let shelf = door.outlet.shelf();
    let now = shelf.look().await;
    let now = now.map_err(|error| Refusal::internal("read this user's secrets", &error))?;
    let body = shelf.masked(&now.mask, body, "what a model is asked").await;
    let request = ChatRequest::parse(&body)?;
    if door.repeats.is_loop(&body) {
        door.gateway.metrics().loop_stopped("requests");
        let message =
            format!("the same request came more than {} times in a row", door.options.same_request);
        return Err(Refusal::new(StatusCode::TOO_MANY_REQUESTS, ErrorCode::LoopStopped, message)
            .fix("Change the request: the answer will not be another one."));
    }
    drop(body);
    let stream = request.stream;
    let pieces = door.gateway.call(door.who, door.link.models().await, request, permit);
    let mut pieces = MaskedPieces::new(pieces, now.mask, Arc::clone(shelf));
    match pieces.recv().await {
        None => Err(Refusal::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            ErrorCode::Internal,
            "the call ended without an answer",
        )),
        Some(Piece::Failed(refusal)) => Err(asking_for_more(&door, refusal).await),
        Some(first) if stream => Ok(event_stream(first, pieces, door)),
        Some(first) => Ok(Json(collect(first, pieces).await?).into_response()),
    }
}

/// A refusal at a limit, after people were asked for more.
async fn asking_for_more(door: &Door, refusal: Refusal) -> Refusal {
    let Some(over) = refusal.over.as_deref().copied() else { return refusal };
    let otherwise = refusal.error.fix.clone().unwrap_or_default();
    let fix = match door.link.out_of_budget(over).await {
        More::Asked(approval) => {
            format!("{approval} asks whether more may be spent: /approve {approval}. {otherwise}")
        }
        More::Refused(approval) => {
            format!("Somebody was asked for more and said no ({approval}). {otherwise}")
        }
        More::Nobody => return refusal,
    };
    refusal.fix(fix)
}

async fn read_body(body: Body, options: &DoorOptions) -> Result<Bytes, Refusal> {
    let reading = timeout(options.body_read, axum::body::to_bytes(body, options.body_bytes));
    match reading.await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(error))
            if std::error::Error::source(&error).is_some_and(|e| e.is::<LengthLimitError>()) =>
        {
            let message = format!("the request is larger than {} bytes", options.body_bytes);
            Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, ErrorCode::TooLarge, message)
                .fix("Send fewer or smaller images, or a shorter history."))
        }
        Ok(Err(error)) => Err(Refusal::bad_request(shorten(
            &format!("the request could not be read: {error}", error = with_causes(&error)),
            200,
        ))),
        Err(_elapsed) => {
            let message = format!("the request did not arrive within {:?}", options.body_read);
            Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, ErrorCode::BadRequest, message))
        }
    }
}

/// Each piece goes out as it comes.
fn event_stream(first: Piece, rest: MaskedPieces, door: Arc<Door>) -> Response {
    let pieces =
        stream::unfold((Some(first), rest, door), move |(next, mut rest, door)| async move {
            let piece = match next {
                Some(piece) => piece,
                None => rest.recv().await?,
            };
            let piece = match piece {
                Piece::Failed(refusal) => Piece::Failed(asking_for_more(&door, refusal).await),
                Piece::Events(_) | Piece::Restart | Piece::Waiting { .. } => piece,
            };
            Some((Ok::<_, Infallible>(event(piece)), (None, rest, door)))
        });
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    (headers, Body::from_stream(pieces)).into_response()
}

fn event(piece: Piece) -> Bytes {
    match piece {
        Piece::Events(events) => events,
        Piece::Restart => Bytes::from_static(RESTART_EVENT),
        Piece::Waiting { attempt, doing } => {
            let waiting = json!({"cloister": "waiting", "attempt": attempt, "doing": doing});
            Bytes::from(format!("data: {waiting}\n\n"))
        }
        Piece::Failed(refusal) => {
            let envelope = ErrorEnvelope { error: refusal.error };
            let json = serde_json::to_string(&envelope).unwrap_or_default();
            Bytes::from(format!("data: {json}\n\n"))
        }
    }
}
