//! Where platforms deliver what is new by calling us. Anybody can call: a delivery proves itself to its surface
//! by a secret, and nothing of it is believed before.
//!
//! Promises: no session, no cookie and no redirect; what is not there answers as any address that is not there;
//! bodies are bounded in size and time, calls in number, per address and in all. Of what does not prove itself no
//! body is read, so nobody outside holds up what a platform delivers.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use cloister_control::Control;
use cloister_control::ports::{SurfaceHosts, Webhook, WebhookAnswer};
use cloister_protocol::ErrorCode;
use tokio::sync::Semaphore;

use crate::peer::Peer;
use crate::reply::Failure;

/// The largest delivery.
const MAX_BODY: usize = 1 << 20;
/// How long a body may take to arrive, and how long a surface may take to store it.
const BODY_TIME: Duration = Duration::from_secs(10);
const STORE_TIME: Duration = Duration::from_secs(30);
/// Deliveries that are worked on at once.
const AT_ONCE: usize = 64;
/// How many of them one address may have.
const AT_ONCE_EACH: u32 = 8;
/// What one address may call in a window of time.
const WINDOW: Duration = Duration::from_secs(10);
const PER_WINDOW: u32 = 600;
/// Addresses that are remembered; beyond, the unknown ones count as one.
const MAX_ADDRESSES: usize = 4096;
/// Names longer than this are nobody's.
const MAX_NAME: usize = 128;
/// When to come again, in seconds.
const AGAIN_S: u64 = 5;

const SECRET: &str = "x-telegram-bot-api-secret-token";
const FORWARDED_FOR: &str = "x-forwarded-for";

#[derive(Clone)]
struct Hooks {
    control: Control,
    surfaces: SurfaceHosts,
    places: Arc<Semaphore>,
    callers: Callers,
}

async fn deliver(
    State(hooks): State<Hooks>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    named: Result<Path<(String, String)>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let caller = caller(peer, &headers);
    if !hooks.callers.take(caller, Instant::now()) {
        return later(ErrorCode::Busy, "too many deliveries from this address");
    }
    if hooks.control.closing() {
        return try_again();
    }
    let Ok(Path((surface, name))) = named else { return not_there() };
    let host = hooks.surfaces.get(&surface).filter(|_| name.len() <= MAX_NAME);
    let Some(host) = host else { return not_there() };
    if let Err(refused) = host.expects(&name, secret(&headers)) {
        return answer(refused);
    }
    let Some(_one_of_few) = hooks.callers.begin(caller, Instant::now()) else {
        return later(ErrorCode::Busy, "too many deliveries from this address at once");
    };
    let Ok(_place) = hooks.places.try_acquire() else {
        return later(ErrorCode::Busy, "too many deliveries at once");
    };
    let body = match read(body).await {
        Ok(body) => body,
        Err(refused) => return refused,
    };
    let hook = Webhook { name: &name, secret_header: secret(&headers), body: &body };
    let taken = tokio::time::timeout(STORE_TIME, host.webhook(hook)).await;
    answer(taken.unwrap_or(WebhookAnswer::TryAgain))
}

fn answer(answer: WebhookAnswer) -> Response {
    match answer {
        WebhookAnswer::Taken => StatusCode::OK.into_response(),
        WebhookAnswer::NotFound => not_there(),
        WebhookAnswer::Forbidden => {
            Failure::new(ErrorCode::Forbidden, "this delivery does not prove itself")
                .into_response()
        }
        WebhookAnswer::TryAgain => try_again(),
    }
}

/// The whole body, if it is not too large or too slow.
async fn read(body: Body) -> Result<Bytes, Response> {
    match tokio::time::timeout(BODY_TIME, axum::body::to_bytes(body, MAX_BODY)).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(_)) => {
            let message = format!("the body did not arrive, or has more than {MAX_BODY} bytes");
            Err(Failure::new(ErrorCode::TooLarge, message).into_response())
        }
        Err(_) => {
            let failure = Failure::new(ErrorCode::BadRequest, "the body took too long");
            Err((StatusCode::REQUEST_TIMEOUT, failure).into_response())
        }
    }
}

/// What the caller gives as proof; given twice it is none.
fn secret(headers: &HeaderMap) -> Option<&str> {
    let mut given = headers.get_all(SECRET).iter();
    match (given.next(), given.next()) {
        (Some(secret), None) => secret.to_str().ok(),
        _ => None,
    }
}

fn not_there() -> Response {
    Failure::new(ErrorCode::NotFound, "there is nothing at this address").into_response()
}

fn try_again() -> Response {
    later(ErrorCode::ShuttingDown, "it was not stored; send it again")
}

fn later(code: ErrorCode, message: &str) -> Response {
    let mut response = Failure::new(code, message).into_response();
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(AGAIN_S));
    response
}

/// Who calls. A proxy on this machine says for whom it does; anybody else may say what they like.
fn caller(peer: Peer, headers: &HeaderMap) -> Option<IpAddr> {
    let address = peer.0?;
    if !address.is_loopback() {
        return Some(address);
    }
    let said = headers.get_all(FORWARDED_FOR).iter().next_back();
    let last = said.and_then(|said| said.to_str().ok()).and_then(|said| said.rsplit(',').next());
    let forwarded = last.and_then(|last| last.trim().parse::<IpAddr>().ok());
    Some(forwarded.map_or(address, |forwarded| forwarded.to_canonical()))
}

/// How often each address has called lately, and what is worked on for it.
#[derive(Clone, Default)]
struct Callers(Arc<Mutex<HashMap<IpAddr, Calls>>>);

#[derive(Clone, Copy)]
struct Calls {
    since: Instant,
    count: u32,
    /// Deliveries that are worked on now.
    open: u32,
}

impl Calls {
    const fn new(now: Instant) -> Self {
        Self { since: now, count: 0, open: 0 }
    }

    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= WINDOW
    }
}

/// One delivery that is worked on, until this is dropped.
struct OpenDelivery {
    callers: Callers,
    of: IpAddr,
}

impl Drop for OpenDelivery {
    fn drop(&mut self) {
        if let Some(calls) = self.callers.all().get_mut(&self.of) {
            calls.open = calls.open.saturating_sub(1);
        }
    }
}

impl Callers {
    fn all(&self) -> MutexGuard<'_, HashMap<IpAddr, Calls>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether one more call is fine. Who is on this machine's own socket is the operator.
    fn take(&self, address: Option<IpAddr>, now: Instant) -> bool {
        let Some(address) = address else { return true };
        let mut all = self.all();
        if all.len() >= MAX_ADDRESSES {
            all.retain(|_, calls| calls.open > 0 || !calls.is_over(now));
        }
        let key = known_as(&all, address);
        let calls = all.entry(key).or_insert(Calls::new(now));
        if calls.is_over(now) {
            *calls = Calls { open: calls.open, ..Calls::new(now) };
        }
        calls.count = calls.count.saturating_add(1);
        calls.count <= PER_WINDOW
    }

    /// Takes one of the few places of an address; none: it has them all.
    fn begin(&self, address: Option<IpAddr>, now: Instant) -> Option<Option<OpenDelivery>> {
        let Some(address) = address else { return Some(None) };
        let mut all = self.all();
        let of = known_as(&all, address);
        let calls = all.entry(of).or_insert(Calls::new(now));
        if calls.open >= AT_ONCE_EACH {
            return None;
        }
        calls.open += 1;
        Some(Some(OpenDelivery { callers: self.clone(), of }))
    }
}

/// What an address is counted as.
fn known_as(all: &HashMap<IpAddr, Calls>, address: IpAddr) -> IpAddr {
    match network(address) {
        known if all.len() < MAX_ADDRESSES || all.contains_key(&known) => known,
        _ => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    }
}

/// One household has a whole /64 of IPv6 addresses.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => {
            let prefix = v6.to_bits() & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from_bits(prefix))
        }
    }
}

/// The routes, at the end of this file: a test reads them from its text.
pub(crate) fn routes(control: &Control, surfaces: &SurfaceHosts) -> Router {
    let hooks = Hooks {
        control: control.clone(),
        surfaces: surfaces.clone(),
        places: Arc::new(Semaphore::new(AT_ONCE)),
        callers: Callers::default(),
    };
    Router::new().route("/hooks/{surface}/{name}", post(deliver)).with_state(hooks)
}

#[cfg(test)]
#[path = "hooks_tests.rs"]
mod tests;
