//! Shows a turn's text to the person while it is written.
//!
//! Promises: the chunks since the last restart, put together, are exactly `shown`; the first piece
//! goes out at once, later ones at most every few milliseconds.

use std::time::Duration;

use cloister_protocol::link::Uplink;
use cloister_protocol::{TextChunk, TurnId, Update};
use tokio::time::Instant;

use crate::link::{Link, LinkError};
use crate::text;

const GATHER: Duration = Duration::from_millis(15);
const MAX_CHUNK_BYTES: usize = 64 << 10;
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
        self.last_sent.map(|at| at + GATHER)
    }

    pub(super) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    pub(super) async fn flush(&mut self) -> Result<(), LinkError> {
        self.catch_up().await?;
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
        if self.answer_start >= self.shown.len() {
            self.unsent.truncate(self.answer_start - self.shown.len());
            return Ok(());
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
