//! The HTTP side: addresses, tokens, bodies, faults, and the envelope around every answer.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::Shared;
use super::faults::{self, Fault};
use super::methods;
use super::params::Params;
use super::passing;
use super::refusal::{Answer, Refusal};
use super::state::Call;

/// The largest request: a file of 50 MB and what goes with it.
const LARGEST: usize = (50 << 20) + (64 << 10);
/// How many of the newest calls are remembered.
const REMEMBERED: usize = 20_000;

/// Cuts the connection.
#[derive(Debug, thiserror::Error)]
#[error("cut")]
struct CutNow;

type Reply = Response<Full<Bytes>>;

pub(super) async fn serve(listener: TcpListener, shared: Arc<Shared>) {
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

fn reply(status: u16, content_type: &'static str, body: Bytes) -> Reply {
    let mut reply = Response::new(Full::new(body));
    *reply.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    reply
}

fn envelope(answer: &Answer) -> Reply {
    let (status, told) = match answer {
        Ok(result) => (200, json!({"ok": true, "result": result})),
        Err(refusal) => (refusal.code, refusal.envelope()),
    };
    reply(status, "application/json", Bytes::from(told.to_string()))
}

/// What stands between Telegram and the world answers with a page.
fn page(status: u16) -> Reply {
    let page = format!("<html><head><title>{status}</title></head><body>nginx</body></html>");
    reply(status, "text/html", Bytes::from(page))
}

async fn handle(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Reply, CutNow> {
    let path = request.uri().path().to_owned();
    if let Some(rest) = path.strip_prefix("/file/bot") {
        return file(&shared, rest).await;
    }
    let Some((token, method)) = path.strip_prefix("/bot").and_then(|rest| rest.split_once('/'))
    else {
        return Ok(envelope(&Err(Refusal::new(404, "Not Found"))));
    };
    let bot = match authenticate(&shared, token) {
        Ok(bot) => bot,
        Err(refusal) => return Ok(envelope(&Err(refusal))),
    };
    let method = method.to_owned();
    let raw = read(request).await;
    let params = raw.as_ref().map_err(Refusal::clone);
    let params = params.and_then(|raw| Params::parse(&raw.query, &raw.content_type, &raw.body));
    let (raw, params) = match (raw, params) {
        (Ok(raw), Ok(params)) => (raw, params),
        (Err(refusal), _) | (_, Err(refusal)) => {
            note(&shared, bot, &method, Value::Null, refusal.code);
            return Ok(envelope(&Err(refusal)));
        }
    };
    let shown = params.shown();
    let fault = shared.change_quietly(|state| faults::take(&mut state.laid, &method));
    let answer = match fault {
        Some(Fault::Elsewhere(address)) => {
            let passed = passing::post(&address, &path, &raw.content_type, raw.body).await;
            passed
                .map(|(status, body)| reply(status, "application/json", body))
                .map_err(|_gone| CutNow)
        }
        fault => with_fault(&shared, bot, &method, params, fault).await,
    };
    let code = match &answer {
        Ok(reply) => reply.status().as_u16(),
        Err(CutNow) => 0,
    };
    note(&shared, bot, &method, shown, code);
    answer
}

async fn with_fault(
    shared: &Arc<Shared>,
    bot: i64,
    method: &str,
    params: Params,
    fault: Option<Fault>,
) -> Result<Reply, CutNow> {
    let repeat = fault == Some(Fault::RepeatUpdates);
    match fault {
        None | Some(Fault::RepeatUpdates) => {
            Ok(envelope(&call(shared, bot, method, params, repeat).await))
        }
        Some(Fault::Delay(time)) => {
            sleep(time).await;
            Ok(envelope(&call(shared, bot, method, params, false).await))
        }
        Some(Fault::Late(time)) => {
            let done = call(shared, bot, method, params, false).await;
            sleep(time).await;
            Ok(envelope(&done))
        }
        Some(Fault::Cut | Fault::Elsewhere(_)) => Err(CutNow),
        Some(Fault::Swallow) => {
            call(shared, bot, method, params, false).await.ok();
            Err(CutNow)
        }
        Some(Fault::Hang) => std::future::pending().await,
        Some(Fault::Status(status)) => Ok(page(status)),
        Some(Fault::TooMany { retry_after }) => Ok(envelope(&Err(Refusal::too_many(retry_after)))),
        Some(Fault::Refuse { code, description }) => {
            Ok(envelope(&Err(Refusal::new(code, description))))
        }
    }
}

async fn call(
    shared: &Arc<Shared>,
    bot: i64,
    method: &str,
    mut params: Params,
    repeat: bool,
) -> Answer {
    match method {
        "getUpdates" => methods::updates::get(shared, bot, &mut params, repeat).await,
        "setWebhook" => {
            let answer =
                shared.change(|state| methods::updates::set_webhook(state, bot, &mut params));
            super::webhook::deliver(shared, bot);
            answer
        }
        method => shared.change(|state| methods::call(state, bot, method, &mut params)),
    }
}

/// Whose token it is.
fn authenticate(shared: &Shared, token: &str) -> Result<i64, Refusal> {
    let state = shared.state();
    let looks_right = token.split_once(':').is_some_and(|(id, secret)| {
        id.parse::<i64>().is_ok() && secret.len() == super::SECRET_LENGTH
    });
    if !looks_right {
        return Err(Refusal::new(404, "Not Found"));
    }
    let found = state.bots.values().find(|bot| bot.token == token && !bot.logged_out);
    found.map(|bot| bot.id).ok_or_else(|| Refusal::new(401, "Unauthorized"))
}

/// A request as it came.
struct Raw {
    query: String,
    content_type: String,
    body: Bytes,
}

async fn read(request: Request<Incoming>) -> Result<Raw, Refusal> {
    let too_large = || Refusal::new(413, "Request Entity Too Large");
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let content_type = header(CONTENT_TYPE).unwrap_or_default().to_owned();
    let query = request.uri().query().unwrap_or_default().to_owned();
    let length = header(CONTENT_LENGTH).and_then(|length| length.parse::<usize>().ok());
    if length.is_some_and(|length| length > LARGEST) {
        return Err(too_large());
    }
    match Limited::new(request.into_body(), LARGEST).collect().await {
        Ok(body) => Ok(Raw { query, content_type, body: body.to_bytes() }),
        Err(_too_large_or_broken) => Err(too_large()),
    }
}

fn note(shared: &Shared, bot: i64, method: &str, params: Value, code: u16) {
    shared.change_quietly(|state| {
        if state.calls.len() >= REMEMBERED {
            state.calls.drain(..REMEMBERED / 2);
        }
        let (at, method) = (Instant::now(), method.to_owned());
        state.calls.push(Call { at, bot, method, params, code });
    });
}

/// `TOKEN/PATH`.
async fn file(shared: &Shared, rest: &str) -> Result<Reply, CutNow> {
    let Some((token, path)) = rest.split_once('/') else {
        return Ok(envelope(&Err(Refusal::new(404, "Not Found"))));
    };
    // In a path `+` is itself.
    let path = super::params::unescaped(&path.replace('+', "%2B"));
    let bot = match authenticate(shared, token) {
        Ok(bot) => bot,
        Err(refusal) => return Ok(envelope(&Err(refusal))),
    };
    let fault = shared.change_quietly(|state| faults::take(&mut state.laid, "file"));
    note(shared, bot, "file", json!({"path": path}), 0);
    match fault {
        Some(Fault::Delay(time) | Fault::Late(time)) => sleep(time).await,
        Some(Fault::Cut | Fault::Swallow) => return Err(CutNow),
        Some(Fault::Hang) => std::future::pending().await,
        Some(Fault::Status(status)) => return Ok(page(status)),
        _ => {}
    }
    let found = shared.state().files.values().find(|file| file.path == path).cloned();
    Ok(match found {
        Some(file) => reply(200, "application/octet-stream", file.bytes),
        None => envelope(&Err(Refusal::new(404, "Not Found"))),
    })
}
