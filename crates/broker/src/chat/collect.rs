//! Puts a streamed answer together for a caller that wants it whole.

use axum::http::StatusCode;
use cloister_protocol::ErrorCode;
use serde_json::{Map, Value, json};

use super::call::Piece;
use super::events::data_lines;
use super::masked::MaskedPieces;
use crate::refusal::Refusal;

/// The answer as one `chat.completion` object.
pub(crate) async fn collect(first: Piece, mut rest: MaskedPieces) -> Result<Value, Refusal> {
    let mut whole = Whole::default();
    let mut next = Some(first);
    while let Some(piece) = next {
        match piece {
            Piece::Events(events) => whole.add(&events),
            Piece::Restart => whole = Whole::default(),
            Piece::Waiting { .. } => {}
            Piece::Failed(refusal) => return Err(refusal),
        }
        next = rest.recv().await;
    }
    if whole.finish_reason.is_null() && whole.content.is_empty() && whole.tool_calls.is_empty() {
        let message = "the answer ended before it began";
        let status = StatusCode::BAD_GATEWAY;
        return Err(Refusal::new(status, ErrorCode::ModelUnavailable, message));
    }
    Ok(whole.into_answer())
}

#[derive(Default)]
pub(super) struct Whole {
    id: Value,
    created: Value,
    model: Value,
    pub(super) content: String,
    pub(super) tool_calls: Vec<ToolCall>,
    finish_reason: Value,
    usage: Value,
}

#[derive(Default)]
pub(super) struct ToolCall {
    index: Option<u64>,
    id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

impl Whole {
    pub(super) fn add(&mut self, events: &[u8]) {
        for data in data_lines(events) {
            // Every event was read once on its way here; only the end mark is not JSON.
            if let Ok(Value::Object(mut chunk)) = serde_json::from_slice(data) {
                self.add_chunk(&mut chunk);
            }
        }
    }

    fn add_chunk(&mut self, chunk: &mut Map<String, Value>) {
        for (field, place) in [
            ("id", &mut self.id),
            ("created", &mut self.created),
            ("model", &mut self.model),
            ("usage", &mut self.usage),
        ] {
            if let Some(value) = chunk.remove(field).filter(|value| !value.is_null()) {
                *place = value;
            }
        }
        let Some(choice) = chunk.get("choices").and_then(|choices| choices.get(0)) else { return };
        if let Some(reason) = choice.get("finish_reason").filter(|reason| !reason.is_null()) {
            self.finish_reason = reason.clone();
        }
        if let Some(text) = choice.pointer("/delta/content").and_then(Value::as_str) {
            self.content.push_str(text);
        }
        let calls = choice.pointer("/delta/tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            self.add_call(call);
        }
    }

    fn add_call(&mut self, delta: &Value) {
        let text = |pointer: &str| delta.pointer(pointer).and_then(Value::as_str).unwrap_or("");
        let index = delta.get("index").and_then(Value::as_u64);
        let (id, name) = (text("/id"), text("/function/name"));
        let place = self.place_of(index, id, name).unwrap_or_else(|| {
            self.tool_calls.push(ToolCall { index, ..ToolCall::default() });
            self.tool_calls.len() - 1
        });
        let Some(call) = self.tool_calls.get_mut(place) else { return };
        if !id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.name != name {
            call.name.push_str(name);
        }
        match delta.pointer("/function/arguments") {
            Some(Value::String(piece)) => call.arguments.push_str(piece),
            Some(whole @ Value::Object(_)) => call.arguments = whole.to_string(),
            Some(_) | None => {}
        }
    }

    /// The call that a piece belongs to; none if it begins one. Some servers count no calls, or all as the same one:
    /// another id, or where there is none another name, begins the next.
    fn place_of(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let place = match index {
            Some(_) => self.tool_calls.iter().rposition(|call| call.index == index)?,
            None => self.tool_calls.len().checked_sub(1)?,
        };
        let call = self.tool_calls.get(place)?;
        let other_id = !id.is_empty() && !call.id.is_empty() && id != call.id;
        let named_anew = index.is_none() && id.is_empty() && !name.is_empty();
        (!other_id && !named_anew).then_some(place)
    }

    fn into_answer(self) -> Value {
        let content = if self.content.is_empty() && !self.tool_calls.is_empty() {
            Value::Null
        } else {
            Value::from(self.content)
        };
        let mut message = json!({"role": "assistant", "content": content});
        if !self.tool_calls.is_empty() {
            let calls = self.tool_calls.into_iter().map(|call| {
                json!({"id": call.id, "type": "function",
                       "function": {"name": call.name, "arguments": call.arguments}})
            });
            message["tool_calls"] = calls.collect();
        }
        json!({
            "id": self.id, "object": "chat.completion", "created": self.created,
            "model": self.model, "usage": self.usage,
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish_reason}],
        })
    }
}
