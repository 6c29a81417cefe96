//! Whether a request is what a strict provider would take.

use serde_json::Value;

use super::ExpectedKey;
use super::received::{Received, role};

const ROLES: [&str; 5] = ["system", "developer", "user", "assistant", "tool"];

/// Everything that is wrong with a request.
pub(super) fn violations(received: &Received, key: &ExpectedKey) -> Vec<String> {
    let mut found = Vec::new();
    let authorized = match key {
        ExpectedKey::None => received.authorization().is_none(),
        ExpectedKey::Exactly(key) => received.authorization() == Some(&format!("Bearer {key}")),
        ExpectedKey::Any => true,
    };
    if !authorized {
        found.push("the Authorization header is not the expected one".to_owned());
    }
    if received.model().is_empty() {
        found.push("no model is named".to_owned());
    }
    let includes_usage = received.body.pointer("/stream_options/include_usage");
    if received.wants_stream() && includes_usage != Some(&Value::Bool(true)) {
        found.push("a stream without stream_options.include_usage".to_owned());
    }
    check_tools(received, &mut found);
    check_messages(received.messages(), &mut found);
    let number = received.number;
    found.into_iter().map(|violation| format!("request {number}: {violation}")).collect()
}

fn check_tools(received: &Received, found: &mut Vec<String>) {
    let Some(tools) = received.body.get("tools") else { return };
    let Some(tools) = tools.as_array().filter(|tools| !tools.is_empty()) else {
        found.push("`tools` is not a list of tools".to_owned());
        return;
    };
    for tool in tools {
        let name = tool.pointer("/function/name").and_then(Value::as_str).unwrap_or_default();
        let named = !name.is_empty()
            && name.len() <= 64
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        let is_function = tool.get("type").and_then(Value::as_str) == Some("function");
        let parameters = tool.pointer("/function/parameters");
        if !named || !is_function || parameters.is_some_and(|p| !p.is_object()) {
            found.push(format!("the tool {name:?} is not a function with a name and parameters"));
        }
    }
}

fn check_messages(messages: &[Value], found: &mut Vec<String>) {
    if messages.is_empty() {
        found.push("there are no messages".to_owned());
    }
    // Calls that wait for their results.
    let mut open: Vec<String> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        let role = role(message);
        if !ROLES.contains(&role) {
            found.push(format!("message {place} has the role {role:?}"));
        }
        if role == "tool" {
            let id = message.get("tool_call_id").and_then(Value::as_str).unwrap_or_default();
            match open.iter().position(|call| call == id) {
                Some(index) => drop(open.swap_remove(index)),
                None => found.push(format!("message {place} answers {id:?}, which was not called")),
            }
        } else if !open.is_empty() {
            found.push(format!("message {place} comes before the results of {}", open.join(", ")));
            open.clear();
        }
        if role == "assistant" {
            open.extend(calls_of(message, place, found));
        }
        check_content(message, place, role, found);
    }
    if !open.is_empty() {
        found.push(format!("the results of {} are missing", open.join(", ")));
    }
}

fn calls_of(message: &Value, place: usize, found: &mut Vec<String>) -> Vec<String> {
    let calls = message.get("tool_calls").and_then(Value::as_array);
    let mut ids: Vec<String> = Vec::new();
    for call in calls.into_iter().flatten() {
        let text = |pointer| call.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let arguments = serde_json::from_str::<Value>(text("/function/arguments"));
        if !arguments.is_ok_and(|arguments| arguments.is_object()) {
            found.push(format!("a call of message {place} has arguments that are not an object"));
        }
        if text("/function/name").is_empty() || text("/type") != "function" {
            found.push(format!("a call of message {place} names no function"));
        }
        let id = text("/id").to_owned();
        if id.is_empty() || ids.contains(&id) {
            found.push(format!("a call of message {place} has no id of its own"));
        }
        ids.push(id);
    }
    ids
}

fn check_content(message: &Value, place: usize, role: &str, found: &mut Vec<String>) {
    let has_calls =
        message.get("tool_calls").and_then(Value::as_array).is_some_and(|c| !c.is_empty());
    let fits = match message.get("content") {
        Some(Value::String(_)) => true,
        Some(Value::Array(parts)) => {
            !parts.is_empty() && parts.iter().all(|p| p.get("type").is_some())
        }
        None | Some(Value::Null) => role == "assistant" && has_calls,
        Some(_) => false,
    };
    if !fits {
        found.push(format!("message {place} ({role}) has no content"));
    }
}
