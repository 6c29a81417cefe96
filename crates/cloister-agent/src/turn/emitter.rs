//! Shows a turn's text to the person while it is written.
//!
//! Promises: the chunks since the last restart, put together, are exactly `shown`; the first piece
//! goes out at once, later ones at most every few milliseconds.

use std::time::Duration;

use cloister_protocol::link::Uplink;
use cloister_protocol::{ModelDoing, TextChunk, TurnId, Update};
use tokio::time::Instant;

use crate::link::{Link, LinkError};
use crate::text;

const GATHER: Duration = Duration::from_millis(15);
const MAX_CHUNK_BYTES: usize = 64 << 10;
/// The same for thoughts, which nobody reads as closely.
const GATHER_THOUGHTS: Duration = Duration::from_millis(100);
/// How much of the thoughts of one turn is shown.
const MAX_THOUGHTS_BYTES: usize = 128 << 10;
const BETWEEN_ANSWERS: &str = "\n\n";

pub(super) struct Emitter {
    link: Link,
    turn: TurnId,
    /// What the other side has been sent.
    shown: String,
    /// What it has not.
    unsent: String,
    /// How much of `shown` was there before this answer.
    answer_start: usize,
    /// Nothing of this answer has come yet but spaces, which are not shown.
    at_start: bool,
    next_seq: u32,
    last_sent: Option<Instant>,
    /// What the model was last said to be at, while there is no text of its answer.
    doing: Option<ModelDoing>,
    /// How often it was asked for this answer.
    attempt: u32,
    /// Thoughts that were not told yet, how many bytes were, and when.
    thoughts: String,
    thoughts_told: usize,
    thought_at: Option<Instant>,
    /// The connection that the chunks went over; on another one they are all sent again.
    connection: u64,
}

impl Emitter {
    pub(super) fn new(link: Link, turn: TurnId) -> Self {
        let connection = link.connection();
        Self {
            link,
            turn,
            shown: String::new(),
            unsent: String::new(),
            answer_start: 0,
            at_start: true,
            next_seq: 0,
            last_sent: None,
            doing: None,
            attempt: 1,
            thoughts: String::new(),
            thoughts_told: 0,
            thought_at: None,
            connection,
        }
    }

    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// All of the turn's text, also what is still to be sent.
    pub(super) fn whole(&self) -> String {
        format!("{}{}", self.shown, self.unsent)
    }

    /// What there is of the current answer.
    pub(super) fn of_answer(&self) -> String {
        let all = self.whole();
        let of_answer = all.get(self.answer_start..).unwrap_or_default();
        of_answer.strip_prefix(BETWEEN_ANSWERS).unwrap_or(of_answer).to_owned()
    }

    pub(super) fn begin_answer(&mut self) {
        self.answer_start = self.shown.len() + self.unsent.len();
        self.at_start = true;
        (self.doing, self.attempt) = (None, 1);
    }

    /// Nothing of the answer has come yet.
    pub(super) async fn wait(&mut self, attempt: u32, doing: ModelDoing) -> Result<(), LinkError> {
        self.attempt = attempt;
        self.tell_doing(doing, String::new()).await
    }

    /// The model writes calls; said where it was said before what else it does.
    pub(super) async fn writes_calls(&mut self) -> Result<(), LinkError> {
        match self.doing {
            Some(ModelDoing::Reads | ModelDoing::Thinks) => {
                self.tell_thoughts().await?;
                self.tell_doing(ModelDoing::Writes, String::new()).await
            }
            Some(ModelDoing::Writes) | None => Ok(()),
        }
    }

    /// Adds to what the model thinks.
    pub(super) async fn think(&mut self, text: &str) -> Result<(), LinkError> {
        if self.thoughts_told + self.thoughts.len() < MAX_THOUGHTS_BYTES {
            self.thoughts.push_str(text);
        }
        let due = self.thought_at.is_none_or(|at| at + GATHER_THOUGHTS <= Instant::now());
        if due { self.tell_thoughts().await } else { Ok(()) }
    }

    async fn tell_thoughts(&mut self) -> Result<(), LinkError> {
        if self.thoughts.is_empty() {
            return Ok(());
        }
        let thought = text::head(&self.thoughts, MAX_CHUNK_BYTES).to_owned();
        self.thoughts.clear();
        self.thoughts_told += thought.len();
        self.thought_at = Some(Instant::now());
        self.tell_doing(ModelDoing::Thinks, thought).await
    }

    async fn tell_doing(&mut self, doing: ModelDoing, thought: String) -> Result<(), LinkError> {
        self.doing = Some(doing);
        let (turn, attempt) = (self.turn.clone(), self.attempt);
        let update = Update::Model { turn, doing, attempt, thought };
        self.link.send(Uplink::Update(update)).await
    }

    /// Adds text of the current answer.
    pub(super) async fn push(&mut self, text: &str) -> Result<(), LinkError> {
        let text = if self.at_start { text.trim_start() } else { text };
        if text.is_empty() {
            return Ok(());
        }
        if self.at_start && self.answer_start > 0 {
            self.unsent.push_str(BETWEEN_ANSWERS);
        }
        self.at_start = false;
        self.tell_thoughts().await?;
        self.doing = None;
        self.unsent.push_str(text);
        if self.due().is_none_or(|due| due <= Instant::now()) { self.flush().await } else { Ok(()) }
    }

    /// A paragraph of its own after everything else.
    pub(super) async fn add_paragraph(&mut self, text: &str) -> Result<(), LinkError> {
        self.begin_answer();
        self.push(text).await
    }

    /// When what is gathered must go out; none when nothing went out yet.
    pub(super) fn due(&self) -> Option<Instant> {
        match self.thought_at.filter(|_| !self.thoughts.is_empty()) {
            Some(at) => Some(at + GATHER_THOUGHTS),
            None => self.last_sent.map(|at| at + GATHER),
        }
    }

    pub(super) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty() || !self.thoughts.is_empty()
    }

    pub(super) async fn flush(&mut self) -> Result<(), LinkError> {
        self.catch_up().await?;
        self.tell_thoughts().await?;
        while !self.unsent.is_empty() {
            let place = self.link.place().await?;
            let chunk = text::head(&self.unsent, MAX_CHUNK_BYTES).to_owned();
            self.unsent.drain(..chunk.len());
            self.shown.push_str(&chunk);
            let chunk = TextChunk { turn: self.turn.clone(), seq: self.next_seq, text: chunk };
            place.send(Uplink::TextChunk(chunk));
            self.next_seq += 1;
            self.last_sent = Some(Instant::now());
        }
        Ok(())
    }

    /// Another model begins this answer anew.
    pub(super) async fn restart_answer(&mut self) -> Result<(), LinkError> {
        self.at_start = true;
        self.thoughts.clear();
        let thought = std::mem::take(&mut self.thoughts_told) > 0;
        if self.answer_start >= self.shown.len() {
            self.unsent.truncate(self.answer_start - self.shown.len());
            return if thought { self.start_over().await } else { Ok(()) };
        }
        self.unsent.clear();
        self.shown.truncate(self.answer_start);
        self.start_over().await
    }

    /// Tells the other side to forget what it has of this turn, and sends it again.
    pub(super) async fn start_over(&mut self) -> Result<(), LinkError> {
        let place = self.link.place().await?;
        place.send(Uplink::Update(Update::Restart { turn: self.turn.clone() }));
        self.connection = self.link.connection();
        self.next_seq = 0;
        let shown = std::mem::take(&mut self.shown);
        self.unsent.insert_str(0, &shown);
        if self.has_unsent() { Box::pin(self.flush()).await } else { Ok(()) }
    }

    async fn catch_up(&mut self) -> Result<(), LinkError> {
        if self.next_seq > 0 && self.connection != self.link.connection() {
            self.start_over().await
        } else {
            self.connection = self.link.connection();
            Ok(())
        }
    }
}
