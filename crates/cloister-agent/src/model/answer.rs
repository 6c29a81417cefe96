//! Puts a streamed answer together from its deltas.

use cloister_protocol::link::Call;
use cloister_protocol::{ErrorBody, ErrorCode, ModelDoing, Usage};
use serde::Deserialize;
use serde_json::Value;

use super::ModelAnswer;
use super::thoughts::{InText, ThoughtsInText};
use crate::text;

/// Text and arguments together; fits a frame of the link with room for its escapes.
const MAX_ANSWER_BYTES: usize = 512 << 10;
const MAX_CALLS: usize = 32;

/// A piece of the answer as it arrives.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece {
    Text(String),
    /// What it thinks before it answers.
    Thought(String),
    /// It writes calls.
    Calls,
    /// Nothing of it has come; how often a model has been asked by now.
    Waiting {
        attempt: u32,
        doing: ModelDoing,
    },
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
    attempt: Option<u32>,
    doing: Option<ModelDoing>,
    error: Option<Value>,
    choices: Option<Vec<Choice>>,
    usage: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    /// Text, or parts of which some are.
    content: Option<Value>,
    reasoning: Option<Value>,
    reasoning_content: Option<Value>,
    refusal: Option<Value>,
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
    /// JSON in a string, or as it is.
    arguments: Option<Value>,
}

#[derive(Default)]
pub(super) struct AnswerBuilder {
    text: String,
    thoughts: ThoughtsInText,
    calls: Vec<PartialCall>,
    usage: Usage,
    bytes: usize,
    finish_reason: Option<String>,
    closed: bool,
}

#[derive(Default)]
struct PartialCall {
    index: Option<usize>,
    id: String,
    name: String,
    arguments: String,
}

impl AnswerBuilder {
    /// Takes the data of one event.
    pub(super) fn apply(&mut self, event: &str) -> Result<Vec<Piece>, AnswerError> {
        let event = event.trim();
        if self.closed || !(event.starts_with('{') || event == "[DONE]") {
            // After the end, or something that keeps the connection open.
            return Ok(Vec::new());
        }
        if event == "[DONE]" {
            self.closed = true;
            return self.end_text();
        }
        let chunk: Chunk = serde_json::from_str(event).map_err(|error| {
            AnswerError::NotJson(format!("{error}: {:?}", text::head(event, 80)))
        })?;
        if let Some(error) = chunk.error.filter(|error| !matches!(error.as_str(), Some(""))) {
            return Err(AnswerError::Told(error_body(error)));
        }
        match chunk.cloister.as_deref() {
            Some("restart") => {
                *self = Self::default();
                return Ok(vec![Piece::Restart]);
            }
            Some("waiting") => {
                let (attempt, doing) = (chunk.attempt.unwrap_or(1), chunk.doing);
                return Ok(vec![Piece::Waiting {
                    attempt,
                    doing: doing.unwrap_or(ModelDoing::Reads),
                }]);
            }
            Some(_) | None => {}
        }
        if let Some(usage) = chunk.usage.filter(Value::is_object) {
            self.usage = usage_of(&usage);
        }
        // Only one answer is ever asked for.
        let Some(choice) = chunk.choices.and_then(|choices| choices.into_iter().next()) else {
            return Ok(Vec::new());
        };
        let mut pieces = choice.delta.map_or_else(|| Ok(Vec::new()), |delta| self.add(delta))?;
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            pieces.extend(self.end_text()?);
            self.finish_reason.get_or_insert(reason);
        }
        Ok(pieces)
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
        let cut = self.finish_reason.as_deref() == Some("length");
        let calls = self.calls.into_iter().enumerate();
        let calls = calls.map(|(place, call)| call.finish(place)).collect();
        Ok(ModelAnswer { text: self.text, calls, usage: self.usage, cut })
    }

    fn add(&mut self, delta: Delta) -> Result<Vec<Piece>, AnswerError> {
        let mut pieces = Vec::new();
        let calls = delta.tool_calls.unwrap_or_default();
        if !calls.is_empty() {
            pieces.push(Piece::Calls);
        }
        for call in calls {
            self.add_call(call)?;
        }
        // Some servers say the same thought in both fields.
        let thought = [delta.reasoning_content, delta.reasoning].into_iter().flatten();
        let thought =
            thought.map(|thought| texts_of(&thought, "text")).find(|text| !text.is_empty());
        if let Some(thought) = thought {
            pieces.push(Piece::Thought(thought));
        }
        for content in [delta.content, delta.refusal].into_iter().flatten() {
            let thought = texts_of(&content, "thinking");
            if !thought.is_empty() {
                pieces.push(Piece::Thought(thought));
            }
            let read = self.thoughts.push(&texts_of(&content, "text"), &self.text);
            pieces.extend(self.keep(read)?);
        }
        Ok(pieces)
    }

    /// The text has come to its end: what was held back of it is words after all.
    fn end_text(&mut self) -> Result<Vec<Piece>, AnswerError> {
        let read = self.thoughts.finish();
        self.keep(read)
    }

    fn keep(&mut self, read: Vec<InText>) -> Result<Vec<Piece>, AnswerError> {
        let mut pieces = Vec::new();
        for part in read {
            match part {
                InText::Words(text) => {
                    self.grow(text.len())?;
                    self.text.push_str(&text);
                    pieces.push(Piece::Text(text));
                }
                InText::Thought(text) => pieces.push(Piece::Thought(text)),
                InText::AllThought => {
                    let thought = std::mem::take(&mut self.text);
                    pieces.extend([Piece::Restart, Piece::Thought(thought)]);
                }
            }
        }
        Ok(pieces)
    }

    fn add_call(&mut self, delta: CallDelta) -> Result<(), AnswerError> {
        let FunctionDelta { name, arguments } =
            delta.function.unwrap_or(FunctionDelta { name: None, arguments: None });
        let (name, id) = (name.unwrap_or_default(), delta.id.unwrap_or_default());
        let (arguments, whole) = match arguments {
            None | Some(Value::Null) => (String::new(), false),
            Some(Value::String(piece)) => (piece, false),
            Some(value) => (value.to_string(), true),
        };
        self.grow(name.len() + arguments.len() + id.len())?;
        let place = match self.place_of(delta.index, &id, &name) {
            Some(place) => place,
            None if self.calls.len() >= MAX_CALLS => return Err(AnswerError::TooManyCalls),
            None => {
                self.calls.push(PartialCall { index: delta.index, ..PartialCall::default() });
                self.calls.len() - 1
            }
        };
        if let Some(call) = self.calls.get_mut(place) {
            if !id.is_empty() {
                call.id = id;
            }
            if call.name != name {
                call.name.push_str(&name);
            }
            if whole {
                call.arguments = arguments;
            } else {
                call.arguments.push_str(&arguments);
            }
        }
        Ok(())
    }

    /// The call that a piece belongs to; none if it begins one. Some servers count no calls, or all as the same one:
    /// another id, or where there is none another name, begins the next.
    fn place_of(&self, index: Option<usize>, id: &str, name: &str) -> Option<usize> {
        let place = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index)?,
            None => self.calls.len().checked_sub(1)?,
        };
        let call = self.calls.get(place)?;
        let other_id = !id.is_empty() && !call.id.is_empty() && id != call.id;
        let named_anew = index.is_none() && id.is_empty() && !name.is_empty();
        (!other_id && !named_anew).then_some(place)
    }

    fn grow(&mut self, bytes: usize) -> Result<(), AnswerError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_ANSWER_BYTES { Err(AnswerError::TooLong) } else { Ok(()) }
    }
}

impl PartialCall {
    fn finish(self, place: usize) -> Call {
        let id = if self.id.is_empty() { format!("call_{place}") } else { self.id };
        let arguments = if self.arguments.is_empty() { "{}".to_owned() } else { self.arguments };
        Call { id, name: self.name, arguments }
    }
}

/// The text of a string, or of the parts of this kind in a list.
fn texts_of(content: &Value, kind: &str) -> String {
    match content {
        Value::String(text) if kind == "text" => text.clone(),
        Value::Array(parts) => {
            let of_kind = parts.iter().filter_map(|part| part.get(kind));
            of_kind.map(|inner| texts_of(inner, "text")).collect()
        }
        _ => String::new(),
    }
}

/// What was used; some servers write numbers with a point.
fn usage_of(usage: &Value) -> Usage {
    let count = |field: &str| {
        let number = usage.get(field);
        number.and_then(|n| n.as_u64().or_else(|| n.as_f64().map(|n| n as u64))).unwrap_or_default()
    };
    Usage { prompt_tokens: count("prompt_tokens"), completion_tokens: count("completion_tokens") }
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
