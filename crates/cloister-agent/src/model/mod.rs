//! One streaming call to the model, through the broker.
//!
//! Owns: the request, its connection, reading the stream. The broker picks the model, retries and
//! falls over; what still fails here is final, and its words are written for people.

mod answer;
mod connection;
mod message;
mod sse;
mod thoughts;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cloister_protocol::link::Call;
use cloister_protocol::{ErrorBody, ErrorCode, ErrorEnvelope, Usage, WorkKind};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use answer::AnswerBuilder;
pub(crate) use answer::Piece;
use connection::{DoorConnection, KeptConnection};
pub(crate) use message::{ChatMessage, Content, Part};
use sse::SseParser;

use crate::door::{self, CONNECT_TIMEOUT, DialError};

/// The broker has its own, shorter limits, and says every few seconds that a model is waited for; this only keeps a dead
/// broker from holding us for ever. An answer that goes on may take as long as it takes.
const IDLE_TIMEOUT: Duration = Duration::from_secs(900);
const MAX_ERROR_BYTES: usize = 64 << 10;
/// Calls of this agent at once; others wait. The door refuses a few more than this.
const MAX_CALLS: usize = 36;
/// How often a call is made again that may do better in a moment, and the pause before the first time.
const MAX_TRIES: u32 = 4;
const PAUSE: Duration = Duration::from_millis(500);

/// Why there is no answer, in words for the person.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct ModelError {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
    /// It may do better in a moment: the door broke, or it is busy. How a call itself ended is told
    /// over a door that holds.
    passing: bool,
    /// The model can't read as much as it was shown.
    pub(crate) too_long: bool,
}

impl ModelError {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let passing = code == ErrorCode::Busy;
        Self { code, message: message.into(), passing, too_long: false }
    }

    fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::ModelUnavailable, message)
    }

    fn door_broke(message: impl Into<String>) -> Self {
        Self { passing: true, ..Self::unavailable(message) }
    }

    fn from_body(body: ErrorBody) -> Self {
        let message = match body.fix {
            Some(fix) if !fix.is_empty() => format!("{} {fix}", ended(&body.message)),
            _ => body.message,
        };
        Self { too_long: body.code == ErrorCode::TooLarge, ..Self::new(body.code, message) }
    }
}

/// A sentence with its end, so that another can follow.
fn ended(message: &str) -> String {
    let message = message.trim_end();
    let stop = if message.ends_with(['.', '!', '?', '…', ':']) { "" } else { "." };
    format!("{message}{stop}")
}

/// Decides whether a call is made again. A door breaks when the control plane dies, and the agent dies
/// with it a moment later: until then nothing may be taken for the end of a turn.
#[derive(Default)]
pub(crate) struct Tries(u32);

impl Tries {
    /// After a pause, whether to call again.
    pub(crate) async fn again(&mut self, error: &ModelError) -> bool {
        if !error.passing || self.0 >= MAX_TRIES {
            return false;
        }
        self.0 += 1;
        sleep(PAUSE * self.0).await;
        true
    }
}

/// What the model said, whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ModelAnswer {
    pub(crate) text: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) usage: Usage,
    /// It ends where it may be no longer, not where the model was done.
    pub(crate) cut: bool,
}

#[derive(Clone)]
pub(crate) struct Model {
    door: PathBuf,
    places: Arc<Semaphore>,
    kept: KeptConnection,
}

#[derive(serde::Serialize)]
struct Body<'a> {
    model: &'static str,
    stream: bool,
    stream_options: StreamOptions,
    messages: &'a [ChatMessage],
    /// For the broker alone; without it, it is what the level does.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<WorkKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a Value>,
}

#[derive(serde::Serialize)]
struct StreamOptions {
    include_usage: bool,
}

impl Model {
    pub(crate) fn new(door: &Path) -> Self {
        let places = Arc::new(Semaphore::new(MAX_CALLS));
        Self { door: door.to_owned(), places, kept: KeptConnection::default() }
    }

    /// Sends the request; the answer is read piece by piece from what is returned.
    pub(crate) async fn open(
        &self,
        messages: &[ChatMessage],
        tools: Option<&Value>,
        kind: Option<WorkKind>,
    ) -> Result<ModelCall, ModelError> {
        let stream_options = StreamOptions { include_usage: true };
        let body = Body { model: "default", stream: true, stream_options, messages, kind, tools };
        let body = serde_json::to_vec(&body).map_err(|error| {
            ModelError::unavailable(format!("The request can't be written: {error}."))
        })?;
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|closed| {
            ModelError::unavailable(format!("The agent is ending ({closed})."))
        })?;
        let request = request(body)?;
        let mut connection = self.connect().await.map_err(not_reached)?;
        let response = match timeout(IDLE_TIMEOUT, connection.sender.send_request(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                return Err(ModelError::door_broke(format!(
                    "The connection to the broker broke before an answer came ({error})."
                )));
            }
            Err(_elapsed) => return Err(too_slow(IDLE_TIMEOUT)),
        };
        if !response.status().is_success() {
            return Err(refusal(response).await);
        }
        Ok(ModelCall {
            body: response.into_body(),
            sse: SseParser::default(),
            answer: AnswerBuilder::default(),
            pieces: VecDeque::new(),
            over: None,
            connection,
            kept: self.kept.clone(),
            _place: place,
        })
    }

    async fn connect(&self) -> Result<DoorConnection, DialError> {
        if let Some(connection) = self.kept.take().await {
            return Ok(connection);
        }
        let mut driver = JoinSet::new();
        let sender = door::dial(&self.door, &mut driver).await?;
        Ok(DoorConnection { sender, _driver: driver })
    }

    /// Asks for work of this kind and collects the whole answer.
    pub(crate) async fn ask(
        &self,
        messages: &[ChatMessage],
        kind: WorkKind,
    ) -> Result<ModelAnswer, ModelError> {
        let mut call = self.open(messages, None, Some(kind)).await?;
        while call.next().await?.is_some() {}
        call.finish()
    }
}

fn not_reached(error: DialError) -> ModelError {
    match error {
        DialError::TimedOut => too_slow(CONNECT_TIMEOUT),
        DialError::Connect(_) | DialError::Handshake(_) => {
            ModelError::door_broke(format!("The broker can't be reached: {error}."))
        }
    }
}

fn request(body: Vec<u8>) -> Result<hyper::Request<Full<Bytes>>, ModelError> {
    hyper::Request::post("/v1/chat/completions")
        .header(HOST, "cloister")
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "text/event-stream")
        .body(Full::from(body))
        .map_err(|error| ModelError::unavailable(format!("The request can't be written: {error}.")))
}

fn too_slow(limit: Duration) -> ModelError {
    ModelError::unavailable(format!("No answer of the model within {} s.", limit.as_secs()))
}

async fn refusal(response: hyper::Response<Incoming>) -> ModelError {
    let status = response.status();
    let body =
        timeout(CONNECT_TIMEOUT, Limited::new(response.into_body(), MAX_ERROR_BYTES).collect());
    let envelope = match body.await {
        Ok(Ok(body)) => serde_json::from_slice::<ErrorEnvelope>(&body.to_bytes()).ok(),
        Ok(Err(_)) | Err(_) => None,
    };
    match envelope {
        Some(envelope) => ModelError::from_body(envelope.error),
        None => ModelError::unavailable(format!("The broker answered {status} without a reason.")),
    }
}

/// An answer that is being written.
pub(crate) struct ModelCall {
    body: Incoming,
    sse: SseParser,
    answer: AnswerBuilder,
    pieces: VecDeque<Piece>,
    /// How the answer ended; told after the pieces that came before.
    over: Option<Result<(), ModelError>>,
    connection: DoorConnection,
    kept: KeptConnection,
    _place: OwnedSemaphorePermit,
}

impl ModelCall {
    /// The next piece as soon as there is one; none when the answer is whole. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Result<Option<Piece>, ModelError> {
        loop {
            if let Some(piece) = self.pieces.pop_front() {
                return Ok(Some(piece));
            }
            match &self.over {
                Some(over) => return over.clone().map(|()| None),
                None => self.over = self.read().await,
            }
        }
    }

    pub(crate) fn finish(self) -> Result<ModelAnswer, ModelError> {
        let Self { body, answer, connection, kept, .. } = self;
        if answer.is_closed() {
            kept.put(connection, body);
        }
        answer.finish().map_err(garbled)
    }

    /// Takes what the network brings next; says when, and how, it was the last.
    async fn read(&mut self) -> Option<Result<(), ModelError>> {
        match timeout(IDLE_TIMEOUT, self.body.frame()).await {
            Err(_elapsed) => Some(Err(too_slow(IDLE_TIMEOUT))),
            Ok(Some(Ok(frame))) => {
                let events = self.sse.push(frame.data_ref()?);
                match events.map_err(garbled).and_then(|events| self.take(events)) {
                    Ok(()) => self.answer.is_closed().then_some(Ok(())),
                    Err(error) => Some(Err(error)),
                }
            }
            Ok(Some(Err(_)) | None) => {
                let rest = self.sse.finish();
                Some(
                    self.take(rest).and_then(|()| {
                        if self.answer.is_whole() { Ok(()) } else { Err(broken_off()) }
                    }),
                )
            }
        }
    }

    fn take(&mut self, events: Vec<String>) -> Result<(), ModelError> {
        for event in events {
            match self.answer.apply(&event) {
                Ok(pieces) => {
                    for piece in pieces {
                        join_or_push(&mut self.pieces, piece);
                    }
                }
                Err(answer::AnswerError::Told(body)) => return Err(ModelError::from_body(body)),
                Err(error) => return Err(garbled(error)),
            }
        }
        Ok(())
    }
}

fn broken_off() -> ModelError {
    ModelError::door_broke("The model's answer broke off before its end. Please ask again.")
}

/// Pieces that arrived together are one.
fn join_or_push(pieces: &mut VecDeque<Piece>, piece: Piece) {
    match (pieces.back_mut(), piece) {
        (Some(Piece::Text(before)), Piece::Text(text))
        | (Some(Piece::Thought(before)), Piece::Thought(text)) => before.push_str(&text),
        (Some(Piece::Calls), Piece::Calls) => {}
        (_, piece) => pieces.push_back(piece),
    }
}

fn garbled(error: impl std::fmt::Display) -> ModelError {
    ModelError::unavailable(format!("The model's answer can't be read: {error}."))
}
