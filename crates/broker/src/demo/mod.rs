//! The built-in `demo` model: a script, not an AI, and it says so.
//!
//! It lets the product be tried and tested with no key. The same request always gets the same
//! answer. `conversation` reads the request, `coordinator` and `executor` decide what to say, this
//! file puts it on the wire as a provider would.

mod conversation;
mod coordinator;
mod executor;

use bytes::Bytes;
use cloister_protocol::Level;
use serde_json::{Value, json};

use conversation::Conversation;

/// What the script wants to say and have done.
#[derive(Debug, Default, PartialEq)]
struct Answer {
    text: String,
    calls: Vec<DemoCall>,
}

#[derive(Debug, PartialEq)]
struct DemoCall {
    name: String,
    arguments: Value,
}

impl Answer {
    fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), calls: Vec::new() }
    }
}

/// The events of the answer to a chat request.
pub(crate) fn answer(level: Level, request: &[u8]) -> Vec<Bytes> {
    let conversation = Conversation::read(request);
    let answer = match level {
        Level::Coordinator => coordinator::answer(&conversation),
        Level::Executor => executor::answer(&conversation),
    };
    events(&answer, &conversation, request.len())
}

fn events(answer: &Answer, conversation: &Conversation, prompt_bytes: usize) -> Vec<Bytes> {
    let mut events = vec![event(&json!({"role": "assistant", "content": ""}), None)];
    events.extend(pieces(&answer.text).map(|piece| event(&json!({"content": piece}), None)));
    for (index, call) in answer.calls.iter().enumerate() {
        // Unique within the conversation, and the same each time.
        let id = format!("demo_{}_{index}", conversation.len());
        let arguments = call.arguments.to_string();
        let head = json!({"index": index, "id": id, "type": "function",
                          "function": {"name": call.name, "arguments": ""}});
        let tail = json!({"index": index, "function": {"arguments": arguments}});
        events.push(event(&json!({"tool_calls": [head]}), None));
        events.push(event(&json!({"tool_calls": [tail]}), None));
    }
    let reason = if answer.calls.is_empty() { "stop" } else { "tool_calls" };
    events.push(event(&json!({}), Some(reason)));
    let prompt_tokens = prompt_bytes / 3;
    let completion_tokens = answer.text.len() / 3 + answer.calls.len() * 20;
    let usage = json!({"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens,
                       "total_tokens": prompt_tokens + completion_tokens});
    events.push(data(&chunk(&json!([]), &usage)));
    events.push(Bytes::from_static(b"data: [DONE]\n\n"));
    events
}

/// A few words at a time, as a model would send them.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    let words: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
    words.chunks(4).map(<[&str]>::concat).collect::<Vec<_>>().into_iter()
}

fn event(delta: &Value, finish_reason: Option<&str>) -> Bytes {
    let choices = json!([{"index": 0, "delta": delta, "finish_reason": finish_reason}]);
    data(&chunk(&choices, &Value::Null))
}

fn chunk(choices: &Value, usage: &Value) -> Value {
    json!({"id": "demo", "object": "chat.completion.chunk", "created": 0, "model": "demo",
           "choices": choices, "usage": usage})
}

fn data(json: &Value) -> Bytes {
    Bytes::from(format!("data: {json}\n\n"))
}

#[cfg(test)]
#[path = "demo_tests.rs"]
mod tests;
