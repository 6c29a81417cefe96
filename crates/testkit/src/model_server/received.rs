//! A request as the server received it.

use std::time::Instant;

use axum::http::HeaderMap;
use serde_json::Value;

#[derive(Clone, Debug)]
pub struct Received {
    /// Counted from 0.
    pub number: usize,
    pub at: Instant,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Received {
    pub fn messages(&self) -> &[Value] {
        self.body.get("messages").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    pub fn model(&self) -> &str {
        self.body.get("model").and_then(Value::as_str).unwrap_or_default()
    }

    pub fn wants_stream(&self) -> bool {
        self.body.get("stream").and_then(Value::as_bool).unwrap_or(false)
    }

    /// The limit of the answer, in whichever field it came.
    pub fn max_tokens(&self) -> Option<u64> {
        let fields = ["max_tokens", "max_completion_tokens"];
        fields.iter().find_map(|field| self.body.get(field)?.as_u64())
    }

    pub fn authorization(&self) -> Option<&str> {
        self.headers.get("authorization")?.to_str().ok()
    }

    pub fn system_prompt(&self) -> String {
        self.messages().iter().find(|m| role(m) == "system").map(text_of).unwrap_or_default()
    }

    /// What the person wrote last, without what the agent notes around it.
    pub fn last_user_text(&self) -> String {
        let last = self.messages().iter().rev().find(|message| role(message) == "user");
        without_notes(&last.map(text_of).unwrap_or_default()).to_owned()
    }

    /// What tools answered since the last word of the assistant or the user, in order.
    pub fn tool_results(&self) -> Vec<String> {
        let fresh = self.messages().iter().rev().take_while(|message| role(message) == "tool");
        let mut results: Vec<String> = fresh.map(text_of).collect();
        results.reverse();
        results
    }

    pub fn tool_names(&self) -> Vec<&str> {
        let tools = self.body.get("tools").and_then(Value::as_array);
        let names =
            tools.into_iter().flatten().filter_map(|t| t.pointer("/function/name")?.as_str());
        names.collect()
    }

    /// The data URLs of all images.
    pub fn images(&self) -> Vec<&str> {
        let parts = self.messages().iter().filter_map(|message| message.get("content")?.as_array());
        parts.flatten().filter_map(|part| part.pointer("/image_url/url")?.as_str()).collect()
    }
}

pub(super) fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn text_of(message: &Value) -> String {
    match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// The agent puts what became of earlier messages before a message, and what is so now behind it.
fn without_notes(text: &str) -> &str {
    let text = text.split_once("\n\n[Now: ").map_or(text, |(said, _now)| said);
    match text.rsplit_once("[Note: ") {
        Some((_earlier, rest)) => rest.split_once("]\n\n").map_or(text, |(_note, said)| said),
        None => text,
    }
}
