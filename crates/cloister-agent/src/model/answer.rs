//! Puts a streamed answer together from its deltas.

use cloister_protocol::link::Call;
use cloister_protocol::{ErrorBody, ErrorCode, Usage};
use serde::Deserialize;
use serde_json::Value;

use super::ModelAnswer;
use crate::text;

/// Text and arguments together; fits a frame of the link with room for its escapes.
const MAX_ANSWER_BYTES: usize = 512 << 10;
const MAX_CALLS: usize = 32;

/// A piece of the answer as it arrives.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece {
    Text(String),
    /// Forget the text of this answer so far: another model starts it anew.
    Restart,
}

#[derive(Debug, PartialEq, thiserror::Error)]
pub(super) enum AnswerError {
    #[error("{}", .0.message)]
    Told(ErrorBody),
    #[error("it is not the JSON that was agreed ({0})")]
    NotJson(String),
    #[error("it is longer than {MAX_ANSWER_BYTES} bytes")]
    TooLong,
    #[error("it asks for more than {MAX_CALLS} calls at once")]
    TooManyCalls,
    #[error("it asks for a tool without a name")]
    NoToolName,
}

#[derive(Deserialize)]
struct Chunk {
    cloister: Option<String>,
    error: Option<Value>,
    choices: Option<Vec<Choice>>,
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    index: Option<usize>,
    id: Option<String>,
    function: Option<FunctionDelta>,
}

#[derive(Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct WireUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
}

#[derive(Default)]
pub(super) struct AnswerBuilder {
    text: String,
    calls: Vec<PartialCall>,
    usage: Usage,
    bytes: usize,
    finish_reason: Option<String>,
    closed: bool,
}

#[derive(Default)]
struct PartialCall {
    index: usize,
    id: String,
    name: String,
    arguments: String,
}

impl AnswerBuilder {
    /// Takes the data of one event.
    pub(super) fn apply(&mut self, event: &str) -> Result<Option<Piece>, AnswerError> {
        if self.closed {
            return Ok(None);
        }
        if event.trim() == "[DONE]" {
            self.closed = true;
            return Ok(None);
        }
        let chunk: Chunk = serde_json::from_str(event).map_err(|error| {
            AnswerError::NotJson(format!("{error}: {:?}", text::head(event, 80)))
        })?;
        if let Some(error) = chunk.error {
            return Err(AnswerError::Told(error_body(error)));
        }
        if chunk.cloister.as_deref() == Some("restart") {
            *self = Self::default();
            return Ok(Some(Piece::Restart));
        }
        if let Some(usage) = chunk.usage {
            self.usage = Usage {
                prompt_tokens: usage.prompt_tokens.unwrap_or_default(),
                completion_tokens: usage.completion_tokens.unwrap_or_default(),
            };
        }
        // Only one answer is ever asked for.
        let Some(choice) = chunk.choices.and_then(|choices| choices.into_iter().next()) else {
            return Ok(None);
        };
        if choice.finish_reason.is_some() {
            self.finish_reason = choice.finish_reason;
        }
        choice.delta.map_or(Ok(None), |delta| self.add(delta))
    }

    /// The model has said that it is done: nothing after this matters but usage.
    pub(super) fn is_whole(&self) -> bool {
        self.closed || self.finish_reason.is_some()
    }

    /// The stream has said that nothing follows.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(super) fn finish(self) -> Result<ModelAnswer, AnswerError> {
        if self.calls.iter().any(|call| call.name.is_empty()) {
            return Err(AnswerError::NoToolName);
        }
        let calls = self.calls.into_iter().map(PartialCall::finish).collect();
        Ok(ModelAnswer { text: self.text, calls, usage: self.usage })
    }

    fn add(&mut self, delta: Delta) -> Result<Option<Piece>, AnswerError> {
        for call in delta.tool_calls.into_iter().flatten() {
            self.add_call(call)?;
        }
        let Some(text) = delta.content.filter(|text| !text.is_empty()) else { return Ok(None) };
        self.grow(text.len())?;
        self.text.push_str(&text);
        Ok(Some(Piece::Text(text)))
    }

    fn add_call(&mut self, delta: CallDelta) -> Result<(), AnswerError> {
        // Without an index, an id starts a new call and its absence continues the last one.
        let index = delta.index.unwrap_or_else(|| {
            let next = self.calls.len();
            if delta.id.is_some() { next } else { next.saturating_sub(1) }
        });
        let FunctionDelta { name, arguments } =
            delta.function.unwrap_or(FunctionDelta { name: None, arguments: None });
        let (name, arguments) = (name.unwrap_or_default(), arguments.unwrap_or_default());
        let id = delta.id.unwrap_or_default();
        self.grow(name.len() + arguments.len() + id.len())?;
        let known = self.calls.iter().position(|call| call.index == index);
        if known.is_none() {
            if self.calls.len() >= MAX_CALLS {
                return Err(AnswerError::TooManyCalls);
            }
            self.calls.push(PartialCall { index, ..PartialCall::default() });
        }
        let place = known.unwrap_or(self.calls.len() - 1);
        if let Some(call) = self.calls.get_mut(place) {
            call.id.push_str(&id);
            call.name.push_str(&name);
            call.arguments.push_str(&arguments);
        }
        Ok(())
    }

    fn grow(&mut self, bytes: usize) -> Result<(), AnswerError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_ANSWER_BYTES { Err(AnswerError::TooLong) } else { Ok(()) }
    }
}

impl PartialCall {
    fn finish(self) -> Call {
        let id = if self.id.is_empty() { format!("call_{}", self.index) } else { self.id };
        let arguments = if self.arguments.is_empty() { "{}".to_owned() } else { self.arguments };
        Call { id, name: self.name, arguments }
    }
}

/// The broker's own error body, or whatever a provider put in its place.
fn error_body(error: Value) -> ErrorBody {
    let message = match &error {
        Value::String(message) => message.clone(),
        other => {
            other.get("message").and_then(Value::as_str).unwrap_or("no reason given").to_owned()
        }
    };
    serde_json::from_value(error).unwrap_or_else(|_foreign: serde_json::Error| {
        let message = format!("The model failed: {}", text::head(&message, 500));
        ErrorBody::new(ErrorCode::ModelUnavailable, message)
    })
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
