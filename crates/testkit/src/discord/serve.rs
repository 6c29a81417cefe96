//! The wire: connections, faults, authorisation, rate limits, and the envelope of answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::faults::{self, Fault, Scope};
use super::gateway::Upgraded;
use super::limits::{By, Counted, Standing, fingerprint};
use super::rest::{self, Call, Done, Refusal};
use super::state::{Id, Request, Shared};
use super::{body, gateway};

const MOST_BYTES: usize = 64 << 20;
const API: &str = "/api/v10/";

/// Cuts the connection.
#[derive(Debug, thiserror::Error)]
#[error("cut")]
pub(super) struct CutNow;

pub(super) type Answer = Response<Full<Bytes>>;

pub(super) async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                if !shared.state().settings.down {
                    connections.spawn(connection(stream, Arc::clone(&shared)));
                }
            }
            Some(_ended) = connections.join_next() => {}
        }
    }
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    let mut cut = shared.cut.subscribe();
    let (hand, mut handed) = mpsc::channel(1);
    let service = service_fn(|request| handle(Arc::clone(&shared), request, hand.clone()));
    let serving = async {
        let http =
            http1::Builder::new().serve_connection(TokioIo::new(stream), service).with_upgrades();
        // A connection that breaks is the business of who made it.
        http.await.ok();
        if let Ok(upgraded) = handed.try_recv() {
            gateway::run(&shared, upgraded).await;
        }
    };
    tokio::select! {
        () = serving => {}
        _told = cut.changed() => {}
    }
}

async fn handle(
    shared: Arc<Shared>,
    request: hyper::Request<Incoming>,
    hand: mpsc::Sender<Upgraded>,
) -> Result<Answer, CutNow> {
    let path = request.uri().path().to_owned();
    if request.headers().contains_key("upgrade") {
        return gateway::upgrade(&shared, request, &hand);
    }
    let route = template(request.method().as_str(), &path);
    let fault = faults::take(&mut shared.state().laid, &route);
    let bucket = bucket_of(&route, &path);
    let bot = bot_of(&shared, request.headers()).unwrap_or_default();
    let counted = Counted { bot, bucket: &bucket, by: by(&route) };
    if path.starts_with(API) {
        note_early(&shared, &route, counted);
    }
    let act = async {
        if path.starts_with("/attachments/") {
            return attachment(&shared, &path, request.headers());
        }
        answer(&shared, &route, request).await
    };
    match fault {
        None => Ok(act.await),
        Some(Fault::Late(time)) => {
            sleep(time).await;
            Ok(act.await)
        }
        Some(Fault::Slow(time)) => {
            let done = act.await;
            sleep(time).await;
            Ok(done)
        }
        Some(Fault::Cut) => Err(CutNow),
        Some(Fault::Lost) => {
            act.await;
            Err(CutNow)
        }
        Some(Fault::Hang) => std::future::pending().await,
        Some(Fault::Status(status)) => Ok(broken(&shared, &route, &path, status)),
        Some(Fault::TooMany { after, scope }) => {
            shared.state().buckets.refuse(counted, scope, after);
            note(&shared, &route, &path, 429, Value::Null);
            Ok(too_many(after, scope, &fingerprint(&bucket)))
        }
    }
}

/// An answer of the servers in between has no envelope.
fn broken(shared: &Shared, route: &str, path: &str, status: u16) -> Answer {
    note(shared, route, path, status, Value::Null);
    if status == 500 {
        return envelope(status, &json!({"message": "500: Internal Server Error", "code": 0}));
    }
    let page = "<html><head><title>502 Bad Gateway</title></head><body>cloudflare</body></html>";
    respond(status, "text/html", Bytes::from(page))
}

fn note(shared: &Shared, route: &str, path: &str, status: u16, body: Value) {
    let (route, path) = (route.to_owned(), path.to_owned());
    shared.state().remember(Request { at: Instant::now(), route, path, status, body });
    shared.stir();
}

async fn answer(shared: &Shared, route: &str, request: hyper::Request<Incoming>) -> Answer {
    let (head, incoming) = request.into_parts();
    let path = head.uri.path().to_owned();
    let query = head.uri.query().unwrap_or_default().to_owned();
    let Ok(bytes) = Limited::new(incoming, MOST_BYTES).collect().await else {
        return refuse(&Refusal::new(413, 40005, "Request entity too large"));
    };
    let bytes = bytes.to_bytes();
    let Some(inner) = path.strip_prefix(API) else {
        shared.state().complain(format!("{route}: no address of the API v10"));
        return envelope(404, &json!({"message": "404: Not Found", "code": 0}));
    };
    check_agent(shared, route, &head.headers);
    let content_type = header(&head.headers, &CONTENT_TYPE);
    let read = match body::read(content_type, &bytes) {
        Ok(read) => read,
        Err(wrong) => {
            shared.state().complain(format!("{route}: {wrong}"));
            return refuse(&Refusal::new(400, 50109, "The request body contains invalid JSON."));
        }
    };
    let kept = read.json.clone();
    let call = Call {
        method: head.method.as_str().to_owned(),
        route: route.to_owned(),
        segments: inner.split('/').map(str::to_owned).collect(),
        query: rest::query(&query),
        json: read.json,
        files: read.files,
        bytes: bytes.len(),
        bot: 0,
    };
    let answer = act(shared, call, &head.headers, &path);
    note(shared, route, &path, answer.status().as_u16(), kept);
    answer
}

/// Interactions are answered by their token and outside of the limits.
fn by(route: &str) -> By {
    if route.contains(" /interactions/") {
        By::Acknowledgement
    } else if route.contains(" /webhooks/") {
        By::Token
    } else {
        By::Bot
    }
}

/// Who asks although an answer has said that nothing is taken now is banned sooner or later.
fn note_early(shared: &Shared, route: &str, counted: Counted<'_>) {
    let mut state = shared.state();
    if let Some((limit, early)) = state.buckets.early(counted) {
        let early = early.as_millis();
        state.complain(format!("{route}: asked {early} ms before the limit {limit} lets it"));
    }
}

fn act(shared: &Shared, mut call: Call, headers: &HeaderMap, path: &str) -> Answer {
    let by = by(&call.route);
    let bot = bot_of(shared, headers);
    if by == By::Bot {
        let Some(bot) = bot else {
            return envelope(401, &json!({"message": "401: Unauthorized", "code": 0}));
        };
        call.bot = bot;
    }
    let bucket = bucket_of(&call.route, path);
    let counted = Counted { bot: call.bot, bucket: &bucket, by };
    let standing = shared.state().buckets.take(counted, &call.route);
    if let Some(after) = standing.refused {
        let scope = if standing.global { Scope::Global } else { Scope::User };
        return limited(too_many(after, scope, &standing.bucket), &standing);
    }
    let done = rest::act(shared, &call);
    let answer = match done {
        Ok(Done::Json(json)) => envelope(200, &json),
        Ok(Done::Empty) => respond(204, "text/plain", Bytes::new()),
        Err(refusal) => {
            if refusal.is_our_fault() {
                let mut state = shared.state();
                state.complain(format!("{}: {refusal} for {}", call.route, call.json));
            }
            refuse(&refusal)
        }
    };
    if answer.status() == StatusCode::TOO_MANY_REQUESTS {
        // A limit of what is changed, and not of the requests: it is in no header of the bucket but its name.
        let mut answer = answer;
        set(&mut answer, "x-ratelimit-bucket", &standing.bucket);
        set(&mut answer, "x-ratelimit-scope", "shared");
        return answer;
    }
    limited(answer, &standing)
}

fn bot_of(shared: &Shared, headers: &HeaderMap) -> Option<Id> {
    let token = header(headers, &AUTHORIZATION).strip_prefix("Bot ")?;
    shared.state().bot_by_token(token).map(|bot| bot.user)
}

fn check_agent(shared: &Shared, route: &str, headers: &HeaderMap) {
    let agent = header(headers, &USER_AGENT);
    if !agent.starts_with("DiscordBot (") {
        shared.state().complain(format!("{route}: the User-Agent is {agent:?}"));
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// `METHOD /path` with `:id` and `:token` in place of what differs.
fn template(method: &str, path: &str) -> String {
    let path = path.strip_prefix("/api/v10").unwrap_or(path);
    let segments: Vec<&str> = path
        .split('/')
        .map(|segment| {
            let digits = !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit());
            if digits {
                ":id"
            } else if segment.starts_with(super::people::TOKEN_MARK) {
                ":token"
            } else {
                segment
            }
        })
        .collect();
    format!("{method} {}", segments.join("/"))
}

/// The bucket of a request: its route with the channel, guild or webhook it is about.
fn bucket_of(route: &str, path: &str) -> String {
    let mut parts = path.trim_start_matches(API).split('/');
    let (kind, major) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let token = parts.next().filter(|_| kind == "webhooks").unwrap_or_default();
    format!("{route}#{major}#{token}")
}

fn attachment(shared: &Shared, path: &str, headers: &HeaderMap) -> Answer {
    let route = "GET /attachments";
    if headers.contains_key(AUTHORIZATION) {
        shared.state().complain("the token was sent to where files are");
    }
    let id = path.split('/').nth(3).and_then(|id| id.parse::<Id>().ok());
    let file = id.and_then(|id| shared.state().files.get(&id).cloned());
    note(shared, route, path, if file.is_some() { 200 } else { 404 }, Value::Null);
    match file {
        Some(file) => respond(200, &file.mime, Bytes::from(file.bytes)),
        None => respond(404, "text/plain", Bytes::from("This content is no longer available.")),
    }
}

fn refuse(refusal: &Refusal) -> Answer {
    envelope(refusal.status, &refusal.envelope())
}

fn too_many(after: Duration, scope: Scope, bucket: &str) -> Answer {
    let seconds = after.as_secs_f64();
    if scope == Scope::Edge {
        let page =
            "<html><head><title>Error 1015: you are being rate limited</title></head></html>";
        let mut answer = respond(429, "text/html", Bytes::from(page));
        set(&mut answer, "retry-after", &format!("{:.0}", seconds.ceil()));
        return answer;
    }
    let told = json!({
        "message": "You are being rate limited.",
        "retry_after": (seconds * 1000.0).ceil() / 1000.0,
        "global": scope == Scope::Global,
    });
    let mut answer = envelope(429, &told);
    let whole = seconds.ceil();
    let named = match scope {
        Scope::User => "user",
        Scope::Shared => "shared",
        Scope::Global | Scope::Edge => "global",
    };
    set(&mut answer, "retry-after", &format!("{whole:.0}"));
    set(&mut answer, "x-ratelimit-scope", named);
    if scope == Scope::Global {
        set(&mut answer, "x-ratelimit-global", "true");
    } else {
        set(&mut answer, "x-ratelimit-bucket", bucket);
        set(&mut answer, "x-ratelimit-limit", "5");
        set(&mut answer, "x-ratelimit-remaining", "0");
        set(&mut answer, "x-ratelimit-reset-after", &format!("{seconds:.3}"));
    }
    answer
}

fn limited(mut answer: Answer, standing: &Standing) -> Answer {
    if standing.global {
        return answer;
    }
    let reset = super::state::now_ms() as f64 / 1000.0 + standing.reset_after.as_secs_f64();
    for (name, value) in [
        ("x-ratelimit-bucket", standing.bucket.clone()),
        ("x-ratelimit-limit", standing.limit.to_string()),
        ("x-ratelimit-remaining", standing.remaining.to_string()),
        ("x-ratelimit-reset", format!("{reset:.3}")),
        ("x-ratelimit-reset-after", format!("{:.3}", standing.reset_after.as_secs_f64())),
    ] {
        set(&mut answer, name, &value);
    }
    answer
}

fn set(answer: &mut Answer, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().insert(HeaderName::from_static(name), value);
    }
}

fn envelope(status: u16, told: &Value) -> Answer {
    respond(status, "application/json", Bytes::from(told.to_string()))
}

pub(super) fn respond(status: u16, content_type: &str, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    if let Ok(content_type) = HeaderValue::from_str(content_type) {
        answer.headers_mut().insert(CONTENT_TYPE, content_type);
    }
    answer
}
