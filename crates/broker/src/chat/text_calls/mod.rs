//! Calls of tools that a model writes into its text become real ones, as its answer passes.
//!
//! `reader` cuts the text into words for people and what is a call, `parse` reads a call in the forms that models
//! write. Promises: only tools that the request offers are called; words are passed on as soon as they can't be the
//! beginning of a call; text that turns out to be no call is passed on unchanged. What follows a call is left out: a
//! model that does not stop there makes up the result.

mod parse;
mod reader;

use bytes::Bytes;
use serde_json::{Value, json};

use super::events::data_lines;
use reader::Reader;

pub(super) use parse::{TextCall, calls_in};

/// Rewrites the events of one answer.
pub(crate) struct CallsFromText {
    reader: Reader,
    /// The model called tools in the field for it after all: nothing more is looked for.
    native: bool,
    ended: bool,
    /// What the ids of its calls begin with: no two answers have the same.
    id: String,
}

impl CallsFromText {
    pub(super) fn new(offered: Vec<String>, id: String) -> Self {
        Self { reader: Reader::new(offered), native: false, ended: false, id }
    }

    /// A run of whole events, rewritten. May be empty.
    pub(crate) fn rewrite(&mut self, events: &[u8]) -> Bytes {
        let mut out = Vec::with_capacity(events.len());
        for data in data_lines(events) {
            match serde_json::from_slice::<Value>(data) {
                Ok(chunk) => self.chunk(chunk, &mut out),
                Err(_end_mark) => {
                    out.extend_from_slice(&self.end());
                    put(&mut out, data);
                }
            }
        }
        out.into()
    }

    /// What is still held back when the answer ends without saying why.
    pub(crate) fn end(&mut self) -> Bytes {
        let mut out = Vec::new();
        if !self.ended {
            let mut chunk = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": null}]});
            self.finish(&mut chunk, &mut out);
            if has_content(&chunk) {
                put(&mut out, chunk.to_string().as_bytes());
            }
        }
        out.into()
    }

    fn chunk(&mut self, mut chunk: Value, out: &mut Vec<u8>) {
        let native = chunk.pointer("/choices/0/delta/tool_calls").and_then(Value::as_array);
        self.native |= native.is_some_and(|calls| !calls.is_empty());
        let text = chunk.pointer("/choices/0/delta/content").and_then(Value::as_str);
        let said = text.filter(|text| !text.is_empty()).map(str::to_owned);
        let ends = chunk.pointer("/choices/0/finish_reason").is_some_and(|why| !why.is_null());
        if let Some(text) = &said {
            let words = if self.native { text.clone() } else { self.reader.push(text) };
            let is_empty = words.is_empty();
            set_content(&mut chunk, words);
            if is_empty && !ends && only_content(&chunk) {
                return;
            }
        }
        if ends && !self.ended {
            self.finish(&mut chunk, out);
        }
        put(out, chunk.to_string().as_bytes());
    }

    /// Puts what was held back into the last chunk, and the calls before it.
    fn finish(&mut self, chunk: &mut Value, out: &mut Vec<u8>) {
        self.ended = true;
        let (words, calls) = self.reader.finish();
        let before = chunk.pointer("/choices/0/delta/content").and_then(Value::as_str);
        let words = format!("{}{words}", before.unwrap_or_default());
        if !words.is_empty() {
            set_content(chunk, words);
        }
        if calls.is_empty() || self.native {
            return;
        }
        for (index, call) in calls.into_iter().enumerate() {
            let function = json!({"name": call.name, "arguments": call.arguments});
            let delta = json!({"tool_calls": [{"index": index, "id": format!("{}_{index}", self.id),
                               "type": "function", "function": function}]});
            let choice = json!({"index": 0, "delta": delta, "finish_reason": null});
            put(out, json!({"choices": [choice]}).to_string().as_bytes());
        }
        if let Some(reason) = chunk.pointer_mut("/choices/0/finish_reason") {
            *reason = Value::from("tool_calls");
        }
    }
}

fn put(out: &mut Vec<u8>, data: &[u8]) {
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(data);
    out.extend_from_slice(b"\n\n");
}

fn set_content(chunk: &mut Value, text: String) {
    if let Some(Value::Object(delta)) = chunk.pointer_mut("/choices/0/delta") {
        delta.insert("content".to_owned(), Value::from(text));
    }
}

fn has_content(chunk: &Value) -> bool {
    let reason = chunk.pointer("/choices/0/finish_reason");
    reason.is_some_and(|why| !why.is_null()) || chunk.pointer("/choices/0/delta/content").is_some()
}

/// Nothing would be lost with this chunk but its text.
fn only_content(chunk: &Value) -> bool {
    let usage = chunk.get("usage").is_some_and(|usage| !usage.is_null());
    let delta = chunk.pointer("/choices/0/delta").and_then(Value::as_object);
    let empty = |value: &Value| value.is_null() || value.as_str() == Some("");
    let plain = |(name, value): (&String, &Value)| {
        matches!(name.as_str(), "role" | "content") || empty(value)
    };
    !usage && delta.is_some_and(|delta| delta.iter().all(plain))
}

#[cfg(test)]
#[path = "text_calls_tests.rs"]
mod tests;
