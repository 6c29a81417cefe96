//! What one client has seen of each turn, so that the chunks it gets always add up to the answer, once.
//!
//! What is stored can overtake what is live: a message that comes again, or a look at what was missed, brings the
//! end of a turn while its chunks still wait in the queue. After its end nothing of a turn is said any more.

use std::collections::{HashMap, HashSet, VecDeque};

use cloister_control::Half;
use cloister_protocol::{AgentFrame, TextChunk, TurnId, Update};

/// How many unfinished turns are followed at once.
const MAX_TURNS: usize = 256;
/// How many ended turns are remembered: more than can wait in a listener's queue.
const MAX_ENDED: usize = 1024;

#[derive(Clone, Copy, Default)]
struct SeenAnswer {
    bytes: usize,
    next_seq: u32,
    /// By how much its numbers are lower here: what came before was told in one piece.
    behind: u32,
    /// A chunk is missing: what was seen is not the beginning of the answer.
    torn: bool,
}

/// The state of one client's view.
#[derive(Default)]
pub(crate) struct Replay {
    turns: HashMap<TurnId, SeenAnswer>,
    ended: EndedTurns,
}

/// The turns that ended last.
#[derive(Default)]
struct EndedTurns {
    known: HashSet<TurnId>,
    order: VecDeque<TurnId>,
}

impl EndedTurns {
    fn add(&mut self, turn: &TurnId) {
        if !self.known.insert(turn.clone()) {
            return;
        }
        self.order.push_back(turn.clone());
        if self.order.len() > MAX_ENDED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

impl Replay {
    /// The frames to send in place of `frame`.
    pub(crate) fn frames(&mut self, frame: &AgentFrame) -> Vec<AgentFrame> {
        match frame {
            AgentFrame::TextChunk(TextChunk { turn, .. })
            | AgentFrame::Update(Update::Restart { turn } | Update::Model { turn, .. })
                if self.ended.known.contains(turn) =>
            {
                Vec::new()
            }
            AgentFrame::TextChunk(chunk) => self.chunk(chunk),
            AgentFrame::Update(Update::Restart { turn }) => {
                self.turns.remove(turn);
                vec![frame.clone()]
            }
            AgentFrame::End(end) => {
                let seen = self.turns.remove(&end.turn).unwrap_or_default();
                self.ended.add(&end.turn);
                let mut frames = Vec::new();
                if seen.torn || seen.bytes != end.text.len() {
                    if seen.bytes > 0 {
                        frames.push(AgentFrame::Update(Update::Restart { turn: end.turn.clone() }));
                    }
                    let turn = end.turn.clone();
                    frames.push(AgentFrame::TextChunk(TextChunk {
                        turn,
                        seq: 0,
                        text: end.text.clone(),
                    }));
                }
                frames.push(frame.clone());
                frames
            }
            AgentFrame::Accepted { .. }
            | AgentFrame::ToolCall(_)
            | AgentFrame::ToolResult(_)
            | AgentFrame::Update(_)
            | AgentFrame::Ask(_)
            | AgentFrame::SendFile(_)
            | AgentFrame::Error(_) => vec![frame.clone()],
        }
    }

    /// What was said of an answer before this client came, as its first chunk.
    pub(crate) fn resume(&mut self, half: Half) -> Option<AgentFrame> {
        let Half { turn, text, next } = half;
        let known = self.ended.known.contains(&turn) || self.turns.contains_key(&turn);
        if known || next == 0 || self.turns.len() >= MAX_TURNS {
            return None;
        }
        let seen = SeenAnswer { bytes: text.len(), next_seq: next, behind: next - 1, torn: false };
        self.turns.insert(turn.clone(), seen);
        Some(AgentFrame::TextChunk(TextChunk { turn, seq: 0, text }))
    }

    fn chunk(&mut self, chunk: &TextChunk) -> Vec<AgentFrame> {
        if self.turns.len() >= MAX_TURNS && !self.turns.contains_key(&chunk.turn) {
            return Vec::new();
        }
        let seen = self.turns.entry(chunk.turn.clone()).or_default();
        if seen.torn || chunk.seq != seen.next_seq {
            // A client that came late gets the whole text with the end.
            seen.torn = true;
            return Vec::new();
        }
        seen.next_seq += 1;
        seen.bytes += chunk.text.len();
        let seq = chunk.seq - seen.behind;
        vec![AgentFrame::TextChunk(TextChunk { seq, ..chunk.clone() })]
    }
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;
