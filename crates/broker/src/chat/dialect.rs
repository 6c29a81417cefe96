//! A request in the words of one model: the fields that its provider takes, what the operator set for it, and tools in
//! the form in which it calls them.
//!
//! A model that knows no tools is told of them in its prompt, and reads its calls and their results as text.

use bytes::Bytes;
use cloister_control::books::Model;
use cloister_protocol::{ToolForm, UsageForm};
use serde_json::{Map, Value, json};

use super::patience::is_local;
use super::request::ChatRequest;
use super::text_calls::CallsFromText;
use crate::prices::output_limit_field;

const HOW_TO_CALL: &str = "You can call tools. To call one, answer with nothing but\n\
<tool_call>\n{\"name\": \"NAME\", \"arguments\": {…}}\n</tool_call>\n\
and stop there: the result comes in the next message. Call one tool at a time. When no tool is needed, answer in plain \
words. The tools, each with the JSON schema of its arguments:";

/// What is sent, and how its answer is to be read.
pub(super) struct Worded {
    pub(super) body: Bytes,
    /// The model writes calls into its text.
    pub(super) calls: Option<CallsFromText>,
}

/// The request for one model.
pub(super) fn worded(request: &ChatRequest, model: &Model, max_tokens: u64) -> Worded {
    let end = end_of(request, model, max_tokens);
    let form = model.profile.tools;
    let in_text = match form {
        Some(ToolForm::Text | ToolForm::Described | ToolForm::None) => true,
        // What people run themselves calls a tool properly one time and in its text the next.
        Some(ToolForm::Native) | None => is_local(&model.base_url),
    };
    if !in_text || !request.has_tools {
        return Worded { body: request.closed_with(&end), calls: None };
    }
    let Ok(mut whole) = serde_json::from_slice::<Value>(&request.closed_with(&end)) else {
        return Worded { body: request.closed_with(&end), calls: None };
    };
    let offered = names(&whole);
    if matches!(form, Some(ToolForm::Described | ToolForm::None)) {
        describe_tools(&mut whole);
    }
    let print = request.print().to_string();
    let hash = print.rsplit(':').next().unwrap_or_default();
    let id = format!("call_{}", hash.get(..16).unwrap_or(hash));
    Worded { body: whole.to_string().into(), calls: Some(CallsFromText::new(offered, id)) }
}

/// The fields that differ from model to model, behind those that do not.
fn end_of(request: &ChatRequest, model: &Model, max_tokens: u64) -> String {
    let field = model.profile.limit_field.unwrap_or_else(|| output_limit_field(&model.model));
    let id = Value::from(model.model.as_str());
    let mut end = format!(r#","model":{id},"{}":{max_tokens}"#, field.as_str());
    if model.profile.usage != Some(UsageForm::Refused) {
        end.push_str(r#","stream_options":{"include_usage":true}"#);
    }
    if let Some(degrees) = model.settings.temperature.or(request.temperature) {
        end.push_str(&format!(r#","temperature":{degrees}"#));
    }
    if let Some(effort) = model.settings.effort {
        end.push_str(&format!(r#","reasoning_effort":"{}""#, effort.as_str()));
    }
    end.push('}');
    end
}

fn names(request: &Value) -> Vec<String> {
    let tools = request.get("tools").and_then(Value::as_array).into_iter().flatten();
    let names = tools.filter_map(|tool| tool.pointer("/function/name")?.as_str());
    names.map(str::to_owned).collect()
}

/// Moves the tools, their calls and their results into the text.
fn describe_tools(request: &mut Value) {
    let Some(fields) = request.as_object_mut() else { return };
    let tools = fields.remove("tools").unwrap_or_default();
    fields.remove("tool_choice");
    fields.remove("parallel_tool_calls");
    let Some(Value::Array(messages)) = fields.remove("messages") else { return };
    let described = description(&tools);
    let mut told: Vec<Value> = Vec::with_capacity(messages.len() + 1);
    let mut messages = messages.into_iter().map(without_calls).peekable();
    match messages.next_if(|first| is(first, "system") || is(first, "developer")) {
        Some(system) => told.push(joined(system, &described)),
        None => told.push(json!({"role": "system", "content": described})),
    }
    for message in messages {
        // Many templates want the two sides to take turns.
        match (told.last_mut(), message.get("content").and_then(Value::as_str)) {
            (Some(last), Some(text)) if is(last, "user") && is(&message, "user") => {
                *last = joined(last.take(), text);
            }
            _ => told.push(message),
        }
    }
    fields.insert("messages".to_owned(), Value::Array(told));
}

fn is(message: &Value, role: &str) -> bool {
    message.get("role").and_then(Value::as_str) == Some(role)
}

/// A message with more text behind what it says.
fn joined(mut message: Value, more: &str) -> Value {
    match message.get_mut("content") {
        Some(Value::String(text)) => {
            text.push_str("\n\n");
            text.push_str(more);
        }
        Some(Value::Array(parts)) => parts.push(json!({"type": "text", "text": more})),
        Some(_) | None => message["content"] = Value::from(more),
    }
    message
}

fn description(tools: &Value) -> String {
    let mut text = HOW_TO_CALL.to_owned();
    for tool in tools.as_array().into_iter().flatten() {
        let field = |name: &str| tool.pointer(&format!("/function/{name}"));
        let name = field("name").and_then(Value::as_str).unwrap_or_default();
        let about = field("description").and_then(Value::as_str).unwrap_or_default();
        let arguments = field("parameters").cloned().unwrap_or_else(|| Value::Object(Map::new()));
        text.push_str(&format!("\n\n{name}: {about}\n{arguments}"));
    }
    text
}

/// A call is what the model would have written, a result is what it is told.
fn without_calls(mut message: Value) -> Value {
    if is(&message, "tool") {
        let content = message.get("content").map(text_in).unwrap_or_default();
        let told = format!("<tool_response>\n{content}\n</tool_response>");
        return json!({"role": "user", "content": told});
    }
    let Some(Value::Array(calls)) = message.as_object_mut().and_then(|m| m.remove("tool_calls"))
    else {
        return message;
    };
    let mut text = message.get("content").map(text_in).unwrap_or_default();
    for call in &calls {
        let name = call.pointer("/function/name").cloned().unwrap_or_default();
        let arguments = call.pointer("/function/arguments").and_then(Value::as_str);
        let arguments: Value = serde_json::from_str(arguments.unwrap_or("{}")).unwrap_or_default();
        let call = json!({"name": name, "arguments": arguments});
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("<tool_call>\n{call}\n</tool_call>"));
    }
    message["content"] = Value::from(text);
    message
}

fn text_in(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

#[cfg(test)]
#[path = "dialect_tests.rs"]
mod tests;
