//! The server's routes, and a reply as bytes on the wire.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use axum::{Json, Router};
use bytes::Bytes;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::sleep;

use super::received::Received;
use super::reply::Reply;
use super::{Shared, default_rule, verify};

const MAX_BODY_BYTES: usize = 64 << 20;

pub(super) async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let routes = Router::new()
        .route("/v1/chat/completions", post(chat))
        .route("/v1/models", get(models))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(shared);
    let listener = listener.tap_io(|stream| {
        // Without it, small pieces wait for each other. A socket that refuses still works.
        stream.set_nodelay(true).unwrap_or_default();
    });
    // Ends only when it is dropped.
    axum::serve(listener, routes).await.unwrap_or_default();
}

async fn models(State(shared): State<Arc<Shared>>) -> Json<Value> {
    Json(json!({"object": "list", "data": [shared.listed]}))
}

async fn chat(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let Ok(body) = serde_json::from_slice::<Value>(&body) else {
        shared.change(|state| state.violations.push("a request that is not JSON".to_owned()));
        return error(StatusCode::BAD_REQUEST, "the request is not JSON");
    };
    let (received, reply) = shared.change(|state| {
        let number = state.count;
        state.count += 1;
        let received = Received { number, at: Instant::now(), headers, body };
        state.violations.extend(verify::violations(&received, &shared.key));
        state.received.push_back(received.clone());
        while state.received.len() > shared.kept {
            state.received.pop_front();
        }
        let queued = state.queue.pop_front();
        let by_rule = || state.rules.iter().find_map(|rule| rule(&received));
        let reply = queued.or_else(by_rule).unwrap_or_else(|| default_rule::reply(&received));
        (received, reply)
    });
    answer(shared, &received, reply).await
}

async fn answer(shared: Arc<Shared>, received: &Received, reply: Reply) -> Response {
    let open = Open::new(Arc::clone(&shared));
    if reply.hang {
        std::future::pending::<()>().await;
    }
    pause(reply.first_byte_ms).await;
    if let Some(code) = reply.status {
        open.complete();
        let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, reply.body).into_response();
        if let Some(seconds) = reply.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        return response;
    }
    let plan = Plan::new(&reply, received, shared.seed);
    if !received.wants_stream() {
        open.complete();
        return Json(plan.whole).into_response();
    }
    let content_type = reply.content_type.clone().unwrap_or_else(|| "text/event-stream".to_owned());
    let body = Body::from_stream(pieces(plan, reply, open));
    ([(header::CONTENT_TYPE, content_type)], body).into_response()
}

fn error(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({"error": {"message": message}}))).into_response()
}

/// Counts an answer as completed or, when it is dropped before, as abandoned.
struct Open {
    shared: Arc<Shared>,
    done: bool,
}

impl Open {
    fn new(shared: Arc<Shared>) -> Self {
        shared.change(|state| state.open += 1);
        Self { shared, done: false }
    }

    fn complete(mut self) {
        self.done = true;
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.shared.change(|state| {
            state.open -= 1;
            if self.done { state.completed += 1 } else { state.abandoned += 1 }
        });
    }
}

/// What will be sent, in order.
struct Plan {
    pieces: Vec<Planned>,
    whole: Value,
}

enum Planned {
    Data(String),
    /// As it is.
    Raw(String),
    Cut,
}

impl Plan {
    fn new(reply: &Reply, received: &Received, seed: u64) -> Self {
        let id = format!("chatcmpl-{seed}-{}", received.number);
        let text = if reply.echo { received.last_user_text() } else { reply.text.clone() };
        let chunk = |choices: Value, usage: Value| {
            json!({"id": id, "object": "chat.completion.chunk", "created": 0,
                   "model": received.model(), "choices": choices, "usage": usage})
            .to_string()
        };
        let delta = |delta: Value, reason: Value| {
            chunk(json!([{"index": 0, "delta": delta, "finish_reason": reason}]), Value::Null)
        };
        let usage = usage(reply, received, &text);
        let reason = if reply.tool_calls.is_empty() { "stop" } else { "tool_calls" };
        let calls = wire_calls(reply, &id);
        let mut pieces: Vec<Planned> = Vec::new();
        if !reply.raw.is_empty() {
            let whole = whole(&id, received, &text, &calls, (reason, &usage));
            let mut pieces: Vec<_> = reply.raw.iter().cloned().map(Planned::Raw).collect();
            pieces.extend(reply.cut_after.map(|_| Planned::Cut));
            return Self { pieces, whole };
        }
        if !reply.thoughts.is_empty() {
            let thought = json!({"reasoning_content": reply.thoughts});
            pieces.push(Planned::Data(delta(thought, Value::Null)));
        }
        let texts = split(&text, reply.chunks, seed.wrapping_add(received.number as u64));
        for (place, piece) in texts.iter().enumerate() {
            if reply.cut_after == Some(place) || reply.stop_after == Some(place) {
                break;
            }
            pieces.push(Planned::Data(delta(json!({"content": piece}), Value::Null)));
        }
        let whole = whole(&id, received, &text, &calls, (reason, &usage));
        if reply.cut_after.is_some() {
            pieces.push(Planned::Cut);
            return Self { pieces, whole };
        }
        if reply.stop_after.is_some() {
            return Self { pieces, whole };
        }
        if reply.malformed {
            pieces.push(Planned::Data("{\"choices\": [".to_owned()));
        }
        if let Some(message) = &reply.stream_error {
            pieces.push(Planned::Data(json!({"error": {"message": message}}).to_string()));
        }
        for piece in call_deltas(&calls) {
            pieces.push(Planned::Data(delta(json!({"tool_calls": [piece]}), Value::Null)));
        }
        pieces.push(Planned::Data(delta(json!({}), json!(reason))));
        if !reply.no_usage {
            pieces.push(Planned::Data(chunk(json!([]), usage)));
        }
        pieces.push(Planned::Data("[DONE]".to_owned()));
        Self { pieces, whole }
    }
}

fn whole(id: &str, received: &Received, text: &str, calls: &[Value], end: (&str, &Value)) -> Value {
    let mut message = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    json!({"id": id, "object": "chat.completion", "created": 0, "model": received.model(),
           "choices": [{"index": 0, "message": message, "finish_reason": end.0}], "usage": end.1})
}

fn usage(reply: &Reply, received: &Received, text: &str) -> Value {
    let prompt_bytes = received.body.get("messages").map_or(0, |json| json.to_string().len());
    let counted = (prompt_bytes as u64 / 4 + 1, text.len() as u64 / 4 + 1);
    let (prompt, completion) = reply.usage.unwrap_or(counted);
    json!({"prompt_tokens": prompt, "completion_tokens": completion,
           "total_tokens": prompt + completion})
}

fn wire_calls(reply: &Reply, id: &str) -> Vec<Value> {
    let calls = reply.tool_calls.iter().enumerate().map(|(place, call)| {
        json!({"id": format!("call_{id}_{place}"), "type": "function",
               "function": {"name": call.name, "arguments": call.arguments.to_string()}})
    });
    calls.collect()
}

/// Each call in three pieces: its name, then its arguments in halves, as providers do.
fn call_deltas(calls: &[Value]) -> Vec<Value> {
    let mut deltas = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        let text = |pointer| call.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        deltas.push(json!({"index": index, "id": text("/id"), "type": "function",
                           "function": {"name": text("/function/name"), "arguments": ""}}));
        for half in split(text("/function/arguments"), Some(2), 0) {
            deltas.push(json!({"index": index, "function": {"arguments": half}}));
        }
    }
    deltas
}

/// Cuts a text into this many pieces, or by the seed.
fn split(text: &str, count: Option<usize>, seed: u64) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let mut random = seed ^ 0x9e37_79b9_7f4a_7c15;
    let mut pieces = Vec::new();
    let mut rest = characters.as_slice();
    while !rest.is_empty() {
        let size = match count {
            Some(count) => rest.len().div_ceil(count.saturating_sub(pieces.len()).max(1)),
            None => {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                1 + usize::try_from(random % 24).unwrap_or(0)
            }
        };
        let (piece, after) = rest.split_at(size.min(rest.len()));
        pieces.push(piece.iter().collect());
        rest = after;
    }
    pieces
}

fn pieces(
    plan: Plan,
    reply: Reply,
    open: Open,
) -> impl futures_util::Stream<Item = io::Result<Bytes>> + Send + 'static {
    let remaining = plan.pieces.into_iter();
    stream::unfold((remaining, reply, Some(open)), |(mut remaining, reply, mut open)| async move {
        let Some(piece) = remaining.next() else {
            if let Some(open) = open.take() {
                open.complete();
            }
            return None;
        };
        if let Some(steps) = &reply.steps
            && let Ok(permit) = steps.0.acquire().await
        {
            permit.forget();
        }
        pause(reply.delay_ms).await;
        let item = match piece {
            Planned::Data(data) => Ok(Bytes::from(format!("data: {data}\n\n"))),
            Planned::Raw(bytes) => Ok(Bytes::from(bytes)),
            Planned::Cut => {
                if let Some(open) = open.take() {
                    open.complete();
                }
                Err(io::Error::new(io::ErrorKind::ConnectionReset, "cut as the test asked"))
            }
        };
        Some((item, (remaining, reply, open)))
    })
}

/// Lets what was sent go out. No timer where no wait is asked for: even an empty one lasts a tick.
async fn pause(millis: u64) {
    if millis > 0 {
        sleep(Duration::from_millis(millis)).await;
    } else {
        tokio::task::yield_now().await;
    }
}
