//! One attempt on one model: ask, and pass its answer on as it comes.

use std::time::Duration;

use axum::http::header;
use bytes::{Bytes, BytesMut};
use cloister_control::books::Model;
use cloister_protocol::{Level, last_cause};
use futures_util::stream::{self, BoxStream, StreamExt};
use tokio::time::{Instant, timeout, timeout_at};

use super::call::{Gone, Sink};
use super::events::{EventsSeen, Progress, WholeEvents};
use super::failure::{Failure, ProviderSaid};
use super::meter::Reached;
use super::one_piece;
use super::patience::{Patience, Waits};
use super::retry_after::retry_after;
use super::text_calls::CallsFromText;
use crate::demo;
use crate::keys::{ApiKey, KeyRing};
use crate::options::UpstreamOptions;
use crate::refusal::shorten;

/// How much of an error's body is read, and how long that may take.
const ERROR_BODY_BYTES: usize = 2_048;
const LOGGED_CHARS: usize = 500;
const ERROR_BODY_WAIT: Duration = Duration::from_secs(2);

/// How much of an answer is read that comes in one piece.
const ANSWER_BYTES: usize = 4 << 20;

/// How much of a list of models is read.
const LIST_BYTES: usize = 8 << 20;

/// How much is read after the end of an answer, and for how long.
const REST_BYTES: usize = 16 << 10;
const REST_WAIT: Duration = Duration::from_millis(200);

const DONE: &[u8] = b"data: [DONE]\n\n";

/// What ends an answer of a provider that does not end it at the limit it was given.
const CUT_AT_LIMIT: &[u8] =
    b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n";
/// Pieces that carry no token: roles, names of tools, usage.
const EMPTY_PIECES: u64 = 256;
/// Pieces without a word are held back until there is one, up to this much.
const MOST_HELD: usize = 64 << 10;
/// An answer that makes progress may take this long for each token that it may have: slower, nobody reads it.
const PER_TOKEN: Duration = Duration::from_secs(2);

/// The providers, as the broker reaches them.
pub(crate) struct Upstream {
    client: reqwest::Client,
    keys: KeyRing,
    options: UpstreamOptions,
    patience: Patience,
}

/// How far an attempt has come. Outlives the attempt, so that one that is dropped in its middle can
/// be settled.
pub(crate) struct Attempt {
    pub(crate) reached: Reached,
    pub(crate) progress: Progress,
    /// Used in place of the model's own key.
    pub(crate) key: Option<ApiKey>,
    /// What the provider may still send after the end of its answer.
    pub(crate) rest: Option<AnswerStream>,
    max_tokens: u64,
    /// How long it took to the first word, thought or call.
    pub(super) began_after: Option<Duration>,
    /// What came before that.
    held: BytesMut,
    /// The same in milliseconds, if it is to be kept.
    pub(super) slowest: Option<u32>,
    /// Looks for calls in the text of a model that writes them there.
    calls: Option<CallsFromText>,
}

impl Attempt {
    pub(crate) fn new(max_tokens: u64) -> Self {
        let (reached, progress) = (Reached::Nobody, Progress::default());
        let (key, rest, began_after, slowest, calls) = (None, None, None, None, None);
        let held = BytesMut::new();
        Self { reached, progress, key, rest, max_tokens, began_after, held, slowest, calls }
    }

    /// Reads calls out of the text of the answer.
    pub(super) fn reading(self, calls: Option<CallsFromText>) -> Self {
        Self { calls, ..self }
    }

    /// Events as the reader of the answer is to see them.
    fn as_read(&mut self, events: Bytes) -> Bytes {
        match &mut self.calls {
            Some(calls) => calls.rewrite(&events),
            None => events,
        }
    }

    /// These events behind those that were held back.
    fn behind_held(&mut self, events: Bytes) -> Bytes {
        if self.held.is_empty() {
            return events;
        }
        self.held.extend_from_slice(&events);
        self.held.split().freeze()
    }

    /// How long the whole answer may take once it has begun, however well it goes on.
    fn whole_answer(&self) -> Duration {
        PER_TOKEN * u32::try_from(self.max_tokens).unwrap_or(u32::MAX)
    }

    /// A piece is at least a token: more pieces than tokens were paid for is more than was asked.
    fn is_past_limit(&self) -> bool {
        self.progress.pieces() > self.max_tokens.saturating_add(EMPTY_PIECES)
    }
}

pub(crate) enum AttemptEnded {
    Answered,
    /// Nobody wants the answer any more.
    Gone,
    Failed(Failure),
}

impl From<Failure> for AttemptEnded {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Gone> for AttemptEnded {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

/// When an attempt was begun, and how long it is waited for.
#[derive(Clone, Copy)]
struct Begun {
    at: Instant,
    waits: Waits,
}

/// Until when the next piece of an answer is waited for. Until something is said the wait for the first word holds,
/// whatever else comes; then an answer goes on as long as it makes progress.
struct Deadline {
    waits: Waits,
    first_word: Instant,
    /// Since the first word: until when anything must come, something that says something, and its end.
    going_on: Option<(Instant, Instant, Instant)>,
}

impl Deadline {
    fn of(sent: Instant, waits: Waits) -> Self {
        Self { waits, first_word: sent + waits.first_byte, going_on: None }
    }

    fn at(&self) -> Instant {
        match self.going_on {
            None => self.first_word,
            Some((anything, word, end)) => anything.min(word).min(end),
        }
    }

    /// A piece of an answer that has begun.
    fn heard(&mut self, says_something: bool, end: Instant) {
        let now = Instant::now();
        let word = self.going_on.filter(|_| !says_something).map(|(_, word, _)| word);
        let word = word.unwrap_or(now + self.waits.wordless());
        self.going_on = Some((now + self.waits.idle, word, end));
    }

    fn missed(&self) -> Failure {
        match self.going_on {
            None => Failure::FirstByte(self.waits.first_byte),
            Some((anything, word, end)) if end < anything.min(word) => Failure::Endless,
            Some((anything, word, _)) if word < anything => Failure::Idle(self.waits.wordless()),
            Some(_) => Failure::Idle(self.waits.idle),
        }
    }
}

pub(crate) type AnswerStream = BoxStream<'static, Result<Bytes, Failure>>;

impl Upstream {
    pub(crate) fn new(keys: KeyRing, options: UpstreamOptions) -> Result<Self, reqwest::Error> {
        let client = crate::client::builder()
            .connect_timeout(options.connect)
            .pool_idle_timeout(Duration::from_secs(60))
            .tcp_nodelay(true)
            .build()?;
        let patience = Patience::new(&options);
        Ok(Self { client, keys, options, patience })
    }

    pub(crate) fn options(&self) -> &UpstreamOptions {
        &self.options
    }

    /// The key that is kept for this model.
    pub(super) async fn key_of(&self, model: &Model) -> Option<ApiKey> {
        self.keys.read(&model.key).await.ok().flatten()
    }

    /// How long this model is waited for.
    pub(super) fn waits(&self, model: &Model) -> Waits {
        self.patience.with(model)
    }

    /// How long a call may take until this model begins: what all calls have, or longer if the operator says so of it.
    pub(super) fn given(&self, model: &Model) -> Duration {
        let set = model.settings.first_byte_seconds.unwrap_or_default();
        self.options.total.max(self.options.connect + Duration::from_secs(set.into()))
    }

    /// Asks the model and passes what it answers to the sink.
    pub(crate) async fn attempt(
        &self,
        model: &Model,
        level: Level,
        body: Bytes,
        attempt: &mut Attempt,
        sink: &mut Sink,
    ) -> AttemptEnded {
        let waits = self.patience.with(model);
        let answered = async {
            if model.is_demo() {
                attempt.reached = Reached::Answering;
                let answer = stream::iter(demo::answer(level, &body).into_iter().map(Ok)).boxed();
                let begun = Begun { at: Instant::now(), waits };
                return self.pass_on(answer, begun, None, attempt, sink).await;
            }
            let key = match attempt.key.take() {
                Some(key) => Some(key),
                None => self.keys.read(&model.key).await.map_err(Failure::Key)?,
            };
            let begun = Begun { at: Instant::now(), waits };
            let answer = self.open(model, key.as_ref(), body, waits, attempt).await?;
            self.pass_on(answer, begun, key.as_ref(), attempt, sink).await
        };
        let ended = answered.await;
        attempt.slowest = attempt.began_after.and_then(|after| self.patience.began(model, after));
        if matches!(ended, Err(AttemptEnded::Failed(Failure::FirstByte(_)))) {
            self.patience.was_late(model);
        }
        match ended {
            Ok(()) => AttemptEnded::Answered,
            Err(ended) => ended,
        }
    }

    /// Passes the answer on to its end, and what was gathered of it also where it ends too early.
    async fn pass_on(
        &self,
        answer: AnswerStream,
        begun: Begun,
        key: Option<&ApiKey>,
        attempt: &mut Attempt,
        sink: &mut Sink,
    ) -> Result<(), AttemptEnded> {
        let passed = self.pass_events(answer, begun, key, attempt, sink).await;
        sink.flush().await?;
        passed
    }

    /// Nothing leaves while everything is stopped, whoever asks for it: a turn, a task, or a trial of a model.
    fn may_dial(&self) -> Result<(), Failure> {
        if self.keys.is_stopped() { Err(Failure::Stopped) } else { Ok(()) }
    }

    /// Sends the request and waits for the head of the answer.
    async fn open(
        &self,
        model: &Model,
        key: Option<&ApiKey>,
        body: Bytes,
        waits: Waits,
        attempt: &mut Attempt,
    ) -> Result<AnswerStream, Failure> {
        self.may_dial()?;
        let url = format!("{}/chat/completions", model.base_url.trim_end_matches('/'));
        let mut request = self
            .client
            .post(url)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "text/event-stream")
            .body(body);
        if let Some(bearer) = key.and_then(ApiKey::bearer) {
            request = request.header(header::AUTHORIZATION, bearer);
        }
        attempt.reached = Reached::Sent;
        let within = self.options.connect + waits.first_byte;
        let response = match timeout(within, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) if error.is_connect() || error.is_builder() => {
                attempt.reached = Reached::Nobody;
                return Err(Failure::Connect { reason: root_cause(error) });
            }
            Ok(Err(_lost)) => {
                attempt.reached = Reached::Nobody;
                return Err(Failure::Lost);
            }
            Err(_elapsed) => return Err(Failure::FirstByte(waits.first_byte)),
        };
        if !response.status().is_success() {
            attempt.reached = Reached::Nobody;
            return Err(refused(response, key).await);
        }
        attempt.reached = Reached::Answering;
        if is_json(&response) {
            return in_one_piece(response, key, waits.first_byte).await;
        }
        Ok(response.bytes_stream().map(|piece| piece.map_err(|_lost| Failure::Cut)).boxed())
    }

    /// Asks an endpoint which models it has.
    pub(crate) async fn list(
        &self,
        base_url: &str,
        key: Option<&ApiKey>,
    ) -> Result<Bytes, Failure> {
        self.read(format!("{}/models", base_url.trim_end_matches('/')), key).await
    }

    /// What a server says at an address beside its models.
    pub(super) async fn read(&self, url: String, key: Option<&ApiKey>) -> Result<Bytes, Failure> {
        self.may_dial()?;
        let mut request = self.client.get(url).header(header::ACCEPT, "application/json");
        if let Some(bearer) = key.and_then(ApiKey::bearer) {
            request = request.header(header::AUTHORIZATION, bearer);
        }
        let response =
            request.send().await.map_err(|error| Failure::Connect { reason: root_cause(error) })?;
        if !response.status().is_success() {
            return Err(refused(response, key).await);
        }
        Ok(read_at_most(response, LIST_BYTES).await?.into())
    }

    async fn pass_events(
        &self,
        mut answer: AnswerStream,
        Begun { at, waits }: Begun,
        key: Option<&ApiKey>,
        attempt: &mut Attempt,
        sink: &mut Sink,
    ) -> Result<(), AttemptEnded> {
        let mut events = WholeEvents::default();
        let mut limit = Deadline::of(at + self.options.connect, waits);
        while !attempt.progress.done {
            let deadline = limit.at();
            let until = sink.due().map_or(deadline, |due| due.min(deadline));
            let piece = match timeout_at(until, answer.next()).await {
                Ok(Some(piece)) => piece?,
                Ok(None) => break,
                Err(_elapsed) if until < deadline => {
                    sink.flush().await?;
                    continue;
                }
                Err(_elapsed) => return Err(limit.missed().into()),
            };
            let whole = events
                .push(&piece)
                .map_err(|_too_long| Failure::Malformed("an event has no end"))?;
            let said = attempt.progress.content_bytes();
            if let Some(whole) = whole {
                look_and_send(whole, key, attempt, sink).await?;
            }
            if attempt.is_past_limit() && !attempt.progress.done {
                tracing::warn!("a provider does not keep the limit of an answer's length");
                let end = attempt.as_read(Bytes::from_static(CUT_AT_LIMIT));
                return Ok(sink.send(end).await?);
            }
            if attempt.progress.has_begun() {
                let after = *attempt.began_after.get_or_insert_with(|| at.elapsed());
                let most = self.options.total.max(attempt.whole_answer());
                limit.heard(attempt.progress.content_bytes() > said, at + after + most);
            }
        }
        if attempt.progress.done {
            attempt.rest = Some(answer);
            return Ok(());
        }
        if let Some(rest) = events.finish() {
            look_and_send(rest, key, attempt, sink).await?;
        }
        match (attempt.progress.finished, attempt.progress.done) {
            (_, true) => Ok(()),
            (true, false) => Ok(sink.send(Bytes::from_static(DONE)).await?),
            (false, false) => Err(Failure::Cut.into()),
        }
    }
}

/// Reads what follows the end of an answer, which as a rule is nothing: a connection is kept for the next call only if
/// the answer was read to the end of its body.
pub(crate) async fn read_out(rest: Option<AnswerStream>) {
    let Some(mut rest) = rest else { return };
    let reading = async {
        let mut bytes = 0;
        while let Some(Ok(piece)) = rest.next().await {
            bytes += piece.len();
            if bytes > REST_BYTES {
                return;
            }
        }
    };
    if timeout(REST_WAIT, reading).await.is_err() {
        tracing::debug!("a provider keeps an answer open after its end");
    }
}

/// Passes a run of whole events on, unless they say that the answer has failed.
async fn look_and_send(
    events: Bytes,
    key: Option<&ApiKey>,
    attempt: &mut Attempt,
    sink: &mut Sink,
) -> Result<(), AttemptEnded> {
    match attempt.progress.look(&events) {
        EventsSeen::Data if !attempt.progress.has_begun() && attempt.held.len() < MOST_HELD => {
            attempt.held.extend_from_slice(&events);
            Ok(())
        }
        EventsSeen::Data => {
            sink.heard();
            let events = attempt.behind_held(events);
            let events = attempt.as_read(events);
            if events.is_empty() { Ok(()) } else { Ok(sink.send(events).await?) }
        }
        // Before the answer has begun a comment must not begin it: another model may still be asked.
        EventsSeen::Nothing => Ok(()),
        EventsSeen::Error(said) => Err(Failure::Reported { said: strip(&said, key) }.into()),
        EventsSeen::Malformed => Err(Failure::Malformed("an event is not JSON").into()),
    }
}

async fn refused(response: reqwest::Response, key: Option<&ApiKey>) -> Failure {
    let code = response.status().as_u16();
    let retry_after = retry_after(response.headers());
    let said = strip(&said_in(&error_body(response).await), key);
    Failure::Status { code, retry_after, said }
}

/// An answer in one piece: of a provider that does not stream, or an error that came with a friendly status.
async fn in_one_piece(
    response: reqwest::Response,
    key: Option<&ApiKey>,
    within: Duration,
) -> Result<AnswerStream, Failure> {
    let reading = read_at_most(response, ANSWER_BYTES);
    let body = timeout(within, reading).await.map_err(|_elapsed| Failure::FirstByte(within))??;
    if let Some(events) = one_piece::as_events(&body) {
        return Ok(stream::iter([Ok(events)]).boxed());
    }
    let body = String::from_utf8_lossy(body.get(..ERROR_BODY_BYTES).unwrap_or(&body)).into_owned();
    if body.contains("\"error\"") {
        return Err(Failure::Reported { said: strip(&said_in(&body), key) });
    }
    Err(Failure::Malformed("it is not an answer"))
}

async fn read_at_most(response: reqwest::Response, most: usize) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        body.extend_from_slice(&piece.map_err(|_lost| Failure::Cut)?);
        if body.len() > most {
            return Err(Failure::Malformed("what it says has no end"));
        }
    }
    Ok(body)
}

fn is_json(response: &reqwest::Response) -> bool {
    let content_type = response.headers().get(header::CONTENT_TYPE);
    content_type.is_some_and(|value| value.as_bytes().starts_with(b"application/json"))
}

async fn error_body(response: reqwest::Response) -> String {
    let mut stream = response.bytes_stream();
    let mut body = Vec::new();
    let read = async {
        while let Some(Ok(piece)) = stream.next().await {
            body.extend(piece.iter().take(ERROR_BODY_BYTES.saturating_sub(body.len())));
            if body.len() >= ERROR_BODY_BYTES {
                break;
            }
        }
    };
    if timeout(ERROR_BODY_WAIT, read).await.is_err() {
        tracing::debug!("the body of a provider's error did not end in time");
    }
    String::from_utf8_lossy(&body).into_owned()
}

/// The message of a provider's error, or the text as it is.
fn said_in(body: &str) -> String {
    const PLACES: [&str; 4] = ["/error/message", "/error", "/message", "/detail"];
    let json = serde_json::from_str::<serde_json::Value>(body).ok();
    let message = json.and_then(|json| {
        PLACES.iter().find_map(|place| Some(json.pointer(place)?.as_str()?.to_owned()))
    });
    message.unwrap_or_else(|| body.to_owned())
}

fn strip(said: &str, key: Option<&ApiKey>) -> ProviderSaid {
    let said = key.map_or_else(|| said.to_owned(), |key| key.strip_from(said));
    if is_markup(&said) {
        // What a server in between shows browsers says nothing to a person in a chat.
        let page = shorten(&said, LOGGED_CHARS);
        tracing::warn!(page, "a provider answered with a page");
        return ProviderSaid(String::new());
    }
    ProviderSaid(said)
}

/// Whether there are tags in a text.
fn is_markup(text: &str) -> bool {
    let ended = text.rsplit_once('>').map_or("", |(before, _)| before);
    ended
        .split('<')
        .skip(1)
        .any(|tag| tag.starts_with(|c: char| c.is_ascii_alphabetic() || c == '!' || c == '/'))
}

/// The innermost reason: `connection refused` rather than `error sending request`.
fn root_cause(error: reqwest::Error) -> String {
    last_cause(&error.without_url())
}
