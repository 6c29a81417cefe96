//! What there is to do in one conversation: left there by who listens, taken up by who sends.
//!
//! Nothing in it must not be lost: rows and settled questions are in the database, and found there again.

use std::collections::BTreeSet;

use cloister_protocol::{ApprovalId, TextChunk};
use tokio::time::Instant;

use super::Pace;

/// The most that is kept of an answer that is being written; the whole of it comes with its end.
const MOST_TEXT: usize = 64 << 10;
/// The most turns that are shown as being worked on at once.
const MOST_TURNS: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Desk {
    /// There may be rows to tell.
    rows: bool,
    /// Questions whose message is to show how they were settled.
    settled: BTreeSet<ApprovalId>,
    /// What is being worked on, oldest first.
    turns: Vec<Turn>,
}

/// A message that has no answer yet.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    /// Its inbox row.
    pub(super) row: i64,
    /// What of the answer is known.
    pub(super) text: String,
    /// Since when.
    pub(super) text_since: Option<Instant>,
    /// Rises with every change of the text.
    pub(super) version: u64,
    next_seq: u32,
    /// Something is missing; nothing is shown until it starts anew.
    gap: bool,
    last_sign: Instant,
}

impl Turn {
    fn new(row: i64, now: Instant) -> Self {
        Self {
            row,
            text: String::new(),
            text_since: None,
            version: 0,
            next_seq: 0,
            gap: false,
            last_sign: now,
        }
    }

    fn add(&mut self, chunk: &TextChunk, now: Instant) {
        if chunk.seq == 0 {
            self.restart();
        }
        self.gap |= chunk.seq != self.next_seq;
        self.next_seq = chunk.seq.saturating_add(1);
        if self.gap || self.text.len() > MOST_TEXT {
            return;
        }
        self.text.push_str(&chunk.text);
        self.text_since.get_or_insert(now);
        self.version += 1;
    }

    fn restart(&mut self) {
        self.text.clear();
        self.next_seq = 0;
        self.gap = false;
        self.version += 1;
    }

    /// Whether there is something to show of it.
    pub(super) fn is_legible(&self) -> bool {
        !self.gap && !self.text.trim().is_empty()
    }
}

impl Desk {
    pub(super) fn look(&mut self) {
        self.rows = true;
    }

    /// Whether there may be rows; from now on there are none until somebody says so again.
    pub(super) fn take_rows(&mut self) -> bool {
        std::mem::take(&mut self.rows)
    }

    pub(super) fn settle(&mut self, approval: ApprovalId) {
        self.settled.insert(approval);
    }

    pub(super) fn take_settled(&mut self) -> Option<ApprovalId> {
        self.settled.pop_first()
    }

    /// A message was taken, or its turn shows that it is alive.
    pub(super) fn sign(&mut self, row: i64, now: Instant) {
        if let Some(turn) = self.turn(row, now) {
            turn.last_sign = now;
        }
    }

    pub(super) fn add(&mut self, row: i64, chunk: &TextChunk, now: Instant) {
        if let Some(turn) = self.turn(row, now) {
            turn.last_sign = now;
            turn.add(chunk, now);
        }
    }

    pub(super) fn restart(&mut self, row: i64) {
        if let Some(turn) = self.turns.iter_mut().find(|turn| turn.row == row) {
            turn.restart();
        }
    }

    pub(super) fn ended(&mut self, row: i64) {
        self.turns.retain(|turn| turn.row != row);
    }

    fn turn(&mut self, row: i64, now: Instant) -> Option<&mut Turn> {
        if self.turns.iter().all(|turn| turn.row != row) {
            if self.turns.len() >= MOST_TURNS {
                self.turns.remove(0);
            }
            self.turns.push(Turn::new(row, now));
        }
        self.turns.iter_mut().find(|turn| turn.row == row)
    }

    pub(super) fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// Forgets the turns of which nothing was heard for too long; whether there were any.
    pub(super) fn expire(&mut self, now: Instant, pace: &Pace) -> bool {
        let before = self.turns.len();
        self.turns.retain(|turn| now < turn.last_sign + pace.typing_most);
        self.turns.len() < before
    }

    /// Until when something is being worked on, unless it shows another sign of life.
    pub(super) fn busy_until(&self, pace: &Pace) -> Option<Instant> {
        self.turns.iter().map(|turn| turn.last_sign + pace.typing_most).max()
    }

    /// Nothing can be done there.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn has_work(&self) -> bool {
        self.rows || !self.settled.is_empty()
    }

    pub(super) fn is_idle(&self) -> bool {
        !self.has_work() && self.turns.is_empty()
    }
}

#[cfg(test)]
#[path = "desk_tests.rs"]
mod tests;
