//! One call of a cell: walks the chain of its level until a model has answered.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use bytes::{Bytes, BytesMut};
use cloister_control::books::{Model, ModelSeen};
use cloister_control::ports::Principal;
use cloister_control::{ANSWERED, Books, GONE, Metrics, ModelCall, Unanswered};
use cloister_kit::Backoff;
use cloister_policy::engine::Names;
use cloister_protocol::{ErrorCode, Language, Level, ModelDoing, with_causes};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use super::attempt::{Attempt, AttemptEnded, Upstream, read_out};
use super::dialect::worded;
use super::failure::{Failure, Next, OWN, unavailable};
use super::meter::Lease;
use super::pictures::PictureOrder;
use super::request::ChatRequest;
use crate::refusal::Refusal;

/// How long the words of an answer are gathered after some were passed on: every piece wakes the door, the cell, the
/// control plane and the reader, and nobody sees words come more often than this.
const GATHER: Duration = Duration::from_millis(20);
/// How much is gathered at most.
const MOST_GATHERED: usize = 64 << 10;

/// How long nothing is said of a model that has not begun: most begin within it, and who reads nothing sees no change.
const UNSAID: Duration = Duration::from_secs(1);
/// The same where a model was asked before in vain.
const UNSAID_AGAIN: Duration = Duration::from_millis(200);
/// How often it is said again.
const SAID_EVERY: Duration = Duration::from_secs(10);

/// How far an answer has come: something of it was heard, something was passed on.
const HEARD: u8 = 1;
const PASSED: u8 = 2;

/// A piece of what a cell is answered.
#[derive(Debug)]
pub(crate) enum Piece {
    /// Whole events of the wire format, as the provider sent them.
    Events(Bytes),
    /// There is nothing of the answer that could be passed on; how often a model has been asked by now.
    Waiting { attempt: u32, doing: ModelDoing },
    /// What came before is void: another attempt begins.
    Restart,
    /// The call has failed. Always the last piece; the first one if no answer had begun.
    Failed(Refusal),
}

/// Nobody reads the answer any more.
pub(crate) struct Gone;

/// Where the pieces of an answer go: the first one at once, those that follow soon after one together.
pub(crate) struct Sink {
    pieces: mpsc::Sender<Piece>,
    stall: Duration,
    /// What waits for more, and how long at most.
    gathered: BytesMut,
    due: Option<Instant>,
    /// Something of an answer has been passed on.
    begun: bool,
    /// What was passed on belongs to an attempt that has failed.
    void: bool,
    /// How far this attempt's answer has come.
    reached: Arc<AtomicU8>,
    /// What the call takes up as long as its answer goes on.
    held: Option<Box<dyn Send + Sync>>,
}

impl Sink {
    pub(crate) fn new(pieces: mpsc::Sender<Piece>, stall: Duration) -> Self {
        Self {
            pieces,
            stall,
            gathered: BytesMut::new(),
            due: None,
            begun: false,
            void: false,
            reached: Arc::default(),
            held: None,
        }
    }

    /// Keeps this until the answer has ended.
    pub(crate) fn holding(self, held: impl Send + Sync + 'static) -> Self {
        Self { held: Some(Box::new(held)), ..self }
    }

    fn begin_attempt(&mut self) {
        self.reached = Arc::default();
        self.void = self.begun;
        self.gathered.clear();
        self.due = None;
    }

    /// The provider has begun to answer, with something that may have to be held back.
    pub(crate) fn heard(&self) {
        self.reached.fetch_max(HEARD, Ordering::Relaxed);
    }

    pub(crate) async fn send(&mut self, events: Bytes) -> Result<(), Gone> {
        if self.due.is_none_or(|due| due <= Instant::now()) && self.gathered.is_empty() {
            return self.pass(events).await;
        }
        self.gathered.extend_from_slice(&events);
        if self.gathered.len() < MOST_GATHERED { Ok(()) } else { self.flush().await }
    }

    /// When what is gathered has to go; none when there is nothing.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due.filter(|_| !self.gathered.is_empty())
    }

    /// Passes on what is gathered.
    pub(crate) async fn flush(&mut self) -> Result<(), Gone> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let events = self.gathered.split().freeze();
        self.pass(events).await
    }

    async fn pass(&mut self, events: Bytes) -> Result<(), Gone> {
        if std::mem::take(&mut self.void) {
            self.put(Piece::Restart).await?;
        }
        self.begun = true;
        self.reached.store(PASSED, Ordering::Relaxed);
        self.due = Some(Instant::now() + GATHER);
        self.put(Piece::Events(events)).await
    }

    /// The answer is whole: whoever reads it need not wait for what is left to do, and may call again.
    fn end(&mut self) {
        self.held = None;
        (self.pieces, _) = mpsc::channel(1);
    }

    async fn put(&self, piece: Piece) -> Result<(), Gone> {
        match timeout(self.stall, self.pieces.send(piece)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Gone),
        }
    }
}

/// Says what a model is at of whose answer nothing could be passed on, as long as that is so.
async fn say_waiting(
    pieces: mpsc::Sender<Piece>,
    attempt: u32,
    reached: Arc<AtomicU8>,
) -> Infallible {
    let mut next = Instant::now() + if attempt > 1 { UNSAID_AGAIN } else { UNSAID };
    let mut said = None;
    loop {
        sleep_until(next.min(Instant::now() + UNSAID)).await;
        let doing = match reached.load(Ordering::Relaxed) {
            PASSED => break,
            HEARD => ModelDoing::Writes,
            _ => ModelDoing::Reads,
        };
        if Instant::now() < next && (said.is_none() || said == Some(doing)) {
            continue;
        }
        // Who does not keep up with the answer need not know that there is none.
        if pieces.try_send(Piece::Waiting { attempt, doing }).is_err() {
            break;
        }
        said = Some(doing);
        next = Instant::now() + SAID_EVERY;
    }
    std::future::pending().await
}

/// Comes when a call has taken too long and nothing of an answer was heard: one that goes on has limits of its own.
async fn out_of_time(until: Instant, reached: &AtomicU8) {
    sleep_until(until).await;
    if reached.load(Ordering::Relaxed) >= HEARD {
        std::future::pending::<()>().await;
    }
}

pub(crate) struct Call<'a> {
    pub(crate) books: &'a Books,
    pub(crate) upstream: &'a Upstream,
    pub(crate) metrics: &'a Metrics,
    pub(crate) who: Principal,
    pub(crate) level: Level,
    /// What the context leaves of the chain.
    pub(crate) allowed: Names,
    pub(crate) request: ChatRequest,
    pub(crate) sink: Sink,
    /// How often a model was asked.
    pub(crate) attempts: u32,
    /// When all attempts together must have begun to answer.
    pub(crate) until: Instant,
}

impl Call<'_> {
    /// Answers through the sink; a failure is its last piece.
    pub(crate) async fn run(mut self) {
        if self.level == Level::Coordinator {
            self.metrics.model_asked(self.who.workspace);
        }
        if let Err(refusal) = self.walk().await
            && self.sink.put(Piece::Failed(refusal)).await.is_err()
        {
            tracing::debug!(workspace = %self.who.workspace, "nobody waited for a call's failure");
        }
    }

    async fn walk(&mut self) -> Result<(), Refusal> {
        let chain = self
            .books
            .chain_for(
                (self.who.workspace, self.who.chat),
                self.level,
                self.request.kind(self.level),
            )
            .await
            .map_err(|e| Refusal::internal("read which models to use", &e))?;
        let there_are_models = !chain.is_empty();
        let chain: Vec<_> =
            chain.iter().filter(|model| self.allowed.has(&model.name)).cloned().collect();
        if there_are_models && chain.is_empty() {
            let to = language_of(self.books, self.who).await;
            let message = Unanswered::NotAllowed.message(to);
            let fix = match runs_platform(self.books, self.who).await {
                true => "`cloister context show` says which it allows.".to_owned(),
                false => Unanswered::NotAllowed.fix(to),
            };
            return Err(Refusal::new(StatusCode::FORBIDDEN, ErrorCode::Forbidden, message).fix(fix));
        }
        let pictures = PictureOrder::of(&self.request);
        let chain = pictures.arrange(chain);
        let (mut tried, mut without) = (Vec::new(), Vec::new());
        for (place, model) in chain.iter().enumerate() {
            let is_last = place + 1 == chain.len();
            self.request = pictures.for_model(model);
            match self.try_model(model, is_last).await? {
                Some(failure) => {
                    tracing::warn!(
                        workspace = %self.who.workspace,
                        model = model.name,
                        reason = %failure,
                        "a model did not answer"
                    );
                    without.extend(pictures.after(model, &failure).map(|request| (model, request)));
                    if self.upstream.given(model) > self.upstream.options().total {
                        // What it was given is not the next one's to make up for.
                        self.until = Instant::now() + self.upstream.options().total;
                    }
                    let whose = if model.is_own() { OWN } else { "" };
                    tried.push((format!("{}{whose}", model.name), failure));
                }
                None => return Ok(()),
            }
        }
        for (model, request) in without {
            self.request = request;
            if self.try_model(model, true).await?.is_none() {
                return Ok(());
            }
        }
        let to = language_of(self.books, self.who).await;
        Err(unavailable(&tried, runs_platform(self.books, self.who).await, to))
    }

    /// Tries one model as often as makes sense. Returns its last failure, or nothing when the call
    /// is over.
    async fn try_model(
        &mut self,
        model: &Model,
        is_last: bool,
    ) -> Result<Option<Failure>, Refusal> {
        let mut attempts = 0;
        let waits = self.upstream.options();
        let mut backoff = Backoff::between(waits.backoff, waits.backoff_max);
        loop {
            attempts += 1;
            let failure = match self.try_once(model).await? {
                AttemptEnded::Answered | AttemptEnded::Gone => return Ok(None),
                AttemptEnded::Failed(failure) => failure,
            };
            let options = self.upstream.options();
            let worth_it = match failure.next() {
                Next::Again => {
                    is_last
                        || failure.retry_after().is_none_or(|wait| wait <= options.retry_after_max)
                }
                Next::OtherFirst => is_last,
                Next::Other => false,
            };
            if !worth_it || attempts >= options.attempts {
                return Ok(Some(failure));
            }
            let asked = failure.retry_after().unwrap_or_default().min(options.retry_after_max);
            let again_at = Instant::now() + backoff.pause().max(asked);
            if again_at >= self.until {
                return Ok(Some(failure));
            }
            tokio::select! {
                () = sleep_until(again_at) => {}
                () = self.sink.pieces.closed() => return Ok(None),
            }
        }
    }

    async fn try_once(&mut self, model: &Model) -> Result<AttemptEnded, Refusal> {
        let lease =
            Lease::take(self.books, self.metrics, self.who, self.level, model, &self.request)
                .await?;
        let worded = worded(&self.request, model, lease.max_tokens);
        let started = Instant::now();
        let mut attempt = Attempt::new(lease.max_tokens).reading(worded.calls);
        let reader = self.sink.pieces.clone();
        self.sink.begin_attempt();
        self.attempts += 1;
        let reached = Arc::clone(&self.sink.reached);
        let waiting = say_waiting(reader.clone(), self.attempts, Arc::clone(&reached));
        let given = self.upstream.given(model);
        if given > self.upstream.options().total {
            self.until = self.until.max(started + given);
        }
        let ended = tokio::select! {
            ended = self.upstream.attempt(model, self.level, worded.body, &mut attempt, &mut self.sink) => ended,
            () = reader.closed() => AttemptEnded::Gone,
            () = out_of_time(self.until, &reached) => AttemptEnded::Failed(Failure::OutOfTime(given)),
            never = waiting => match never {},
        };
        let took = started.elapsed();
        drop(reader);
        if attempt.began_after.is_some() {
            // What an answer took that made progress is not the next attempt's to make up for.
            self.until = self.until.max(Instant::now() + given);
        }
        let answered = matches!(ended, AttemptEnded::Answered);
        let within = lease.held_enough(attempt.reached, &attempt.progress);
        if answered && within {
            self.sink.end();
        }
        let rest = attempt.rest.take();
        let settled = lease.settle(self.books, attempt.reached, &attempt.progress);
        let settled = if within {
            tokio::join!(settled, read_out(rest)).0
        } else {
            // What nobody had held is booked before whoever asked can ask again.
            let settled = settled.await;
            if answered {
                self.sink.end();
            }
            read_out(rest).await;
            settled
        };
        self.note_seen(model, attempt.slowest, &ended).await;
        let status = match &ended {
            AttemptEnded::Answered => ANSWERED,
            AttemptEnded::Gone => GONE,
            AttemptEnded::Failed(failure) => failure.status(),
        };
        self.metrics.model_call(ModelCall {
            level: self.level,
            // What people call their own is not the platform's to count by.
            model: if model.is_own() { "own" } else { &model.name },
            status,
            took,
            usage: settled.usage,
            cost: if model.is_own() { 0 } else { settled.cost },
            cached_tokens: settled.cached_tokens,
        });
        self.metrics.tokens_used(self.who.user, settled.usage);
        tracing::info!(
            user = %self.who.user,
            workspace = %self.who.workspace,
            task = self.who.task.map(tracing::field::display),
            level = self.level.as_str(),
            model = model.name,
            status,
            prompt_tokens = settled.usage.prompt_tokens,
            cached_tokens = settled.cached_tokens,
            completion_tokens = settled.usage.completion_tokens,
            cost = settled.cost,
            ms = took.as_secs_f64() * 1e3,
            "model call"
        );
        Ok(ended)
    }
}

impl Call<'_> {
    /// Keeps what an attempt showed of its model.
    async fn note_seen(&self, model: &Model, slowest_ms: Option<u32>, ended: &AttemptEnded) {
        let window_tokens = match ended {
            AttemptEnded::Failed(failure) => failure.window(),
            AttemptEnded::Answered | AttemptEnded::Gone => None,
        };
        let window_tokens = window_tokens.filter(|_| model.profile.window_tokens != window_tokens);
        let seen = ModelSeen { slowest_ms, window_tokens };
        if seen != ModelSeen::default()
            && let Err(error) = self.books.note_seen(model, seen).await
        {
            tracing::warn!(
                error = with_causes(&error),
                model = model.name,
                "what was seen of a model is not kept"
            );
        }
    }
}

/// The language of the person behind a call; where that can't be read, the one that everybody is spoken to in.
pub(super) async fn language_of(books: &Books, who: Principal) -> Language {
    books.language_of(who.user).await.unwrap_or_else(|error| {
        tracing::warn!(error = with_causes(&error), user = %who.user, "a language could not be read");
        Language::default()
    })
}

/// Whether the person behind a call can do what only those who run the platform can; where that can't be read they
/// are told what everybody is told.
pub(super) async fn runs_platform(books: &Books, who: Principal) -> bool {
    books.runs_platform(who.user).await.unwrap_or_else(|error| {
        tracing::warn!(error = with_causes(&error), user = %who.user, "roles could not be read");
        false
    })
}

#[cfg(test)]
#[path = "call_tests.rs"]
mod tests;
