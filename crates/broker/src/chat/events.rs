//! The answer of a provider as it passes: whole events go on at once, and what they say about
//! usage, end and errors is kept.

use bytes::{Bytes, BytesMut};
use cloister_protocol::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

/// No event of a provider is longer.
const MAX_EVENT_BYTES: usize = 4 << 20;

/// Cuts a stream of bytes into runs of whole events. A piece of an event waits for its rest: nobody
/// could use it, and it could not be taken back.
#[derive(Default)]
pub(crate) struct WholeEvents {
    waiting: BytesMut,
}

/// An event that is longer than any honest one.
#[derive(Debug)]
pub(crate) struct EventTooLong;

impl WholeEvents {
    /// Takes a piece of the stream and gives back the events that are now whole.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Result<Option<Bytes>, EventTooLong> {
        // An event may end with the first byte of this piece.
        let unseen = self.waiting.len().saturating_sub(2);
        self.waiting.extend_from_slice(piece);
        let fresh = self.waiting.get(unseen..).unwrap_or_default();
        match end_of_last_event(fresh) {
            Some(end) => Ok(Some(self.waiting.split_to(unseen + end).freeze())),
            None if self.waiting.len() > MAX_EVENT_BYTES => Err(EventTooLong),
            None => Ok(None),
        }
    }

    /// What is left when the stream has ended: an event whose last blank line is missing.
    pub(crate) fn finish(&mut self) -> Option<Bytes> {
        let mut rest = self.waiting.split();
        if rest.trim_ascii().is_empty() {
            return None;
        }
        rest.extend_from_slice(b"\n\n");
        Some(rest.freeze())
    }
}

/// The place after the last blank line.
fn end_of_last_event(bytes: &[u8]) -> Option<usize> {
    (1..bytes.len()).rev().find_map(|place| {
        let ends = matches!(bytes.get(..=place)?, [.., b'\n', b'\n'] | [.., b'\n', b'\r', b'\n']);
        ends.then_some(place + 1)
    })
}

/// What an answer has said so far.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) usage: Option<Usage>,
    /// Prompt tokens that the provider had kept of an earlier prompt, as it says.
    pub(crate) cached_tokens: u64,
    /// It said why it ended, or that it is done.
    pub(crate) finished: bool,
    pub(crate) done: bool,
    /// Bytes and pieces of content, for a provider that does not report usage.
    content_bytes: u64,
    pieces: u64,
}

/// What a run of events means for the answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EventsSeen {
    /// Nothing but comments.
    Nothing,
    /// Pieces of the answer.
    Data,
    /// The provider reported an error.
    Error(String),
    Malformed,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    /// What llama.cpp says beside it.
    #[serde(borrow)]
    timings: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    /// What some servers report an error with, where a piece of an answer would be.
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    detail: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    finish_reason: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<&'a RawValue>,
}

/// Numbers, which some servers write with a point.
#[derive(Deserialize)]
struct WireUsage {
    prompt_tokens: Option<f64>,
    completion_tokens: Option<f64>,
    /// What was kept of an earlier prompt, by whom it is said so: OpenAI and most others, …
    prompt_tokens_details: Option<PromptDetails>,
    /// … Anthropic, …
    cache_read_input_tokens: Option<f64>,
    /// … DeepSeek.
    prompt_cache_hit_tokens: Option<f64>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<f64>,
}

#[derive(Deserialize)]
struct Timings {
    cache_n: Option<f64>,
}

impl WireUsage {
    fn cached_tokens(&self) -> Option<u64> {
        let details = self.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens);
        details.or(self.cache_read_input_tokens).or(self.prompt_cache_hit_tokens).map(count)
    }
}

fn count(number: f64) -> u64 {
    number.max(0.0) as u64
}

impl From<WireUsage> for Usage {
    fn from(wire: WireUsage) -> Self {
        let count = |number: Option<f64>| number.map_or(0, count);
        Self {
            prompt_tokens: count(wire.prompt_tokens),
            completion_tokens: count(wire.completion_tokens),
        }
    }
}

impl<'a> Chunk<'a> {
    /// The error that it is in place of a piece of an answer.
    fn reported(&self) -> Option<&'a RawValue> {
        let no_piece = self.choices.is_none() && self.usage.is_none();
        let error = self.error.filter(|error| !matches!(error.get(), "\"\"" | "false"));
        error.or_else(|| self.message.or(self.detail).filter(|_| no_piece))
    }
}

impl Progress {
    /// Looks at a run of whole events.
    pub(crate) fn look(&mut self, events: &[u8]) -> EventsSeen {
        let mut seen = EventsSeen::Nothing;
        for data in data_lines(events) {
            seen = EventsSeen::Data;
            if data == b"[DONE]" {
                self.finished = true;
                self.done = true;
                continue;
            }
            let Ok(chunk) = serde_json::from_slice::<Chunk<'_>>(data) else {
                return EventsSeen::Malformed;
            };
            if let Some(error) = chunk.reported() {
                return EventsSeen::Error(error.get().to_owned());
            }
            self.count(&chunk);
        }
        seen
    }

    fn count(&mut self, chunk: &Chunk<'_>) {
        let usage = chunk.usage.and_then(|usage| serde_json::from_str(usage.get()).ok());
        if let Some(usage) = usage {
            let usage: WireUsage = usage;
            self.cached_tokens = usage.cached_tokens().unwrap_or(self.cached_tokens);
            self.usage = Some(usage.into());
        }
        let timings = chunk.timings.and_then(|timings| serde_json::from_str(timings.get()).ok());
        if let Some(Timings { cache_n: Some(kept) }) = timings {
            self.cached_tokens = self.cached_tokens.max(count(kept));
        }
        for choice in chunk.choices.iter().flatten() {
            self.finished |= choice.finish_reason.is_some_and(|reason| reason.get() != "\"\"");
            let Some(delta) = &choice.delta else { continue };
            let parts = [delta.content, delta.reasoning, delta.reasoning_content, delta.tool_calls];
            let said = parts.iter().flatten().map(|part| part.get());
            let bytes: usize = said.filter(|part| !says_nothing(part)).map(str::len).sum();
            self.content_bytes = self.content_bytes.saturating_add(bytes as u64);
            self.pieces = self.pieces.saturating_add(1);
        }
    }

    /// There are words, thoughts or calls, or it ended without: a role alone and what keeps a connection open begin nothing.
    pub(crate) fn has_begun(&self) -> bool {
        self.content_bytes > 0 || self.finished
    }

    /// How many bytes of words, thoughts and calls have come: it grows as long as an answer makes progress.
    pub(crate) fn content_bytes(&self) -> u64 {
        self.content_bytes
    }

    pub(crate) fn pieces(&self) -> u64 {
        self.pieces
    }

    /// About how many tokens were received, rather too many than too few.
    pub(crate) fn completion_tokens_estimate(&self) -> u64 {
        self.content_bytes.div_ceil(3).max(self.pieces)
    }
}

/// Words that are none, as some servers send them with the role.
fn says_nothing(part: &str) -> bool {
    matches!(part, "\"\"" | "[]")
}

/// The payload of each `data:` line that is one of an answer: what some servers send to keep a connection open is not.
pub(crate) fn data_lines(events: &[u8]) -> impl Iterator<Item = &[u8]> {
    events
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.strip_prefix(b"data:"))
        .map(<[u8]>::trim_ascii)
        .filter(|data| data.starts_with(b"{") || *data == b"[DONE]")
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
