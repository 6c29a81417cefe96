//! The link on the wire: frames of JSON text, each side held back by the other.

use std::sync::Arc;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use cloister_kit::{Bucket, Rate};
use cloister_protocol::link::Uplink;
use cloister_protocol::{AgentFrame, ErrorCode, ErrorFrame, MAX_FRAME_BYTES, with_causes};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::serve::Door;
use crate::refusal::shorten;

/// The largest frame that is read at all. One between this and the allowed size is answered with an
/// error; a larger one ends the link.
pub(super) const MAX_READ_BYTES: usize = 4 * MAX_FRAME_BYTES;

/// Errors that may wait to be written; a cell that does not read them is not read either.
const WAITING_ERRORS: usize = 16;

/// Runs one connection of the link until either side ends it.
pub(super) async fn run(socket: WebSocket, door: Arc<Door>) {
    let attached = door.link.attach();
    let replaced = attached.up.clone();
    let (sink, stream) = socket.split();
    let (errors, waiting_errors) = mpsc::channel(WAITING_ERRORS);
    let reader = read(stream, attached.up, errors, &door);
    let writer = write(sink, attached.down, waiting_errors, &door);
    tokio::select! {
        () = reader => {}
        () = writer => {}
        // Control has let go of this link, which may be stuck at an agent that does not read.
        () = replaced.closed() => {}
        () = door.closing.cancelled() => {}
    }
}

/// Passes what the agent says to control. Ends when the agent or control does, or when the agent
/// has sent too much that can't be read.
async fn read(
    mut frames: SplitStream<WebSocket>,
    up: mpsc::Sender<Uplink>,
    errors: mpsc::Sender<ErrorFrame>,
    door: &Door,
) {
    let pace = Bucket::new(Rate::new(door.options.frame_burst, door.options.frames_per_second));
    let mut bad_frames = 0;
    loop {
        pace.wait().await;
        let frame = match frames.next().await {
            Some(Ok(Message::Text(text))) => parse(&text),
            Some(Ok(Message::Binary(_))) => {
                Err(error(ErrorCode::BadRequest, "frames of the link are text, this one is binary"))
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
            Some(Ok(Message::Close(_))) | None => return,
            Some(Err(broken)) => {
                // The agent died, or sent what is no frame at all; if it lives, it is told.
                tracing::debug!(error = with_causes(&broken), workspace = %door.who.workspace, "a link broke");
                let told = error(ErrorCode::TooLarge, "the frame is too large, or is not a frame");
                drop(errors.send(told).await);
                return;
            }
        };
        match frame {
            Ok(frame) => {
                if up.send(frame).await.is_err() {
                    return;
                }
            }
            Err(error) => {
                bad_frames += 1;
                if errors.send(error).await.is_err() {
                    return;
                }
                if bad_frames > door.options.bad_frames {
                    tracing::warn!(workspace = %door.who.workspace, "a link was closed: its agent sends what can't be read");
                    // The writer closes the link once it has written the last error.
                    drop(errors);
                    return std::future::pending().await;
                }
            }
        }
    }
}

/// Writes what control says, the answers to bad frames, and a ping now and then.
async fn write(
    mut sink: SplitSink<WebSocket, Message>,
    mut down: mpsc::Receiver<cloister_protocol::link::Downlink>,
    mut errors: mpsc::Receiver<ErrorFrame>,
    door: &Door,
) {
    let mut ping = interval_at(Instant::now() + door.options.ping, door.options.ping);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let reason = loop {
        let message = tokio::select! {
            frame = down.recv() => match frame {
                Some(frame) => text(&frame),
                None => break CloseFrame { code: close_code::NORMAL, reason: "done".into() },
            },
            error = errors.recv() => match error {
                Some(error) => text(&AgentFrame::Error(error)),
                None => break CloseFrame { code: close_code::POLICY, reason: "too many bad frames".into() },
            },
            _ = ping.tick() => Some(Message::Ping(bytes::Bytes::new())),
        };
        let Some(message) = message else { continue };
        if sink.send(message).await.is_err() {
            return;
        }
    };
    if let Err(error) = sink.send(Message::Close(Some(reason))).await {
        tracing::debug!(error = with_causes(&error), "a link was gone before it was closed");
    }
}

fn text(frame: &impl serde::Serialize) -> Option<Message> {
    match serde_json::to_string(frame) {
        Ok(json) => Some(Message::text(json)),
        Err(error) => {
            tracing::error!(error = with_causes(&error), "a frame could not be written as JSON");
            None
        }
    }
}

/// What is readable of a frame that is otherwise not.
#[derive(Deserialize)]
struct Outline {
    id: Option<serde_json::Value>,
}

fn parse(text: &str) -> Result<Uplink, ErrorFrame> {
    if text.len() > MAX_FRAME_BYTES {
        let message =
            format!("a frame has at most {MAX_FRAME_BYTES} bytes, this one has {}", text.len());
        return Err(error(ErrorCode::TooLarge, &message));
    }
    serde_json::from_str(text).map_err(|cause| {
        let reason = cause.to_string();
        let is_unknown = reason.starts_with("unknown variant");
        let code = if is_unknown { ErrorCode::UnknownType } else { ErrorCode::BadRequest };
        let outline: Option<Outline> = serde_json::from_str(text).ok();
        let id = outline.and_then(|outline| Some(outline.id?.as_str()?.to_owned()));
        ErrorFrame {
            id: id.map(|id| shorten(&id, 128)),
            ..error(code, &format!("the frame can't be read: {reason}"))
        }
    })
}

fn error(code: ErrorCode, message: &str) -> ErrorFrame {
    ErrorFrame { code, message: shorten(message, 300), id: None, retry_after_s: None }
}
