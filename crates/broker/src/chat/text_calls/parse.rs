//! Reads calls in the forms that models write: objects of JSON with a name and arguments, alone, in a list, in a fence
//! or in tags; a name before its arguments; `<function=name><parameter=key>`.

use serde_json::{Map, Value};

/// Calls of one answer.
const MOST_CALLS: usize = 16;
/// How many times its length a text is read where nothing comes of it.
pub(super) const MOST_IN_VAIN: usize = 4;

/// What models call the name of a tool and its arguments.
const NAMES: [&str; 4] = ["name", "tool", "tool_name", "function"];
const ARGUMENTS: [&str; 5] = ["arguments", "parameters", "args", "input", "action_input"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::chat) struct TextCall {
    pub(in crate::chat) name: String,
    /// An object, in JSON.
    pub(in crate::chat) arguments: String,
}

/// Every call of an offered tool in a text, in order.
pub(in crate::chat) fn calls_in(text: &str, offered: &[String]) -> Vec<TextCall> {
    let mut calls = tagged_functions(text, offered);
    let mut rest = text;
    let mut in_vain = 0;
    while let Some(start) = rest.find('{')
        && calls.len() < MOST_CALLS
        && in_vain <= text.len().saturating_mul(MOST_IN_VAIN)
    {
        let (before, from) = rest.split_at(start);
        let mut values = serde_json::Deserializer::from_str(from).into_iter::<Value>();
        let value = match values.next() {
            Some(Ok(value)) => value,
            wrong => {
                if let Some(Err(error)) = wrong {
                    in_vain = read_until(from, &error).saturating_add(in_vain);
                }
                rest = from.get(1..).unwrap_or_default();
                continue;
            }
        };
        let found = calls_of(&value, offered);
        if found.is_empty() {
            calls.extend(named_before(before, &value, offered));
        } else {
            calls.extend(found);
        }
        rest = from.get(values.byte_offset()..).unwrap_or_default();
    }
    calls.truncate(MOST_CALLS);
    calls
}

/// How many bytes of a text were read until it was wrong.
pub(super) fn read_until(text: &str, error: &serde_json::Error) -> usize {
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    lines.map(str::len).sum::<usize>().saturating_add(error.column())
}

/// The calls that a value is: one, or a list of them, also inside `tool_calls` or `function`.
pub(super) fn calls_of(value: &Value, offered: &[String]) -> Vec<TextCall> {
    match value {
        Value::Array(values) => values.iter().flat_map(|value| calls_of(value, offered)).collect(),
        Value::Object(object) => {
            if let Some(call) = call_of(object, offered) {
                return vec![call];
            }
            let inside = ["tool_calls", "tool_call", "function"].into_iter();
            inside
                .filter_map(|field| object.get(field))
                .flat_map(|inner| calls_of(inner, offered))
                .collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

fn call_of(object: &Map<String, Value>, offered: &[String]) -> Option<TextCall> {
    let name = NAMES.iter().find_map(|field| object.get(*field)?.as_str())?;
    let name = offered.iter().find(|tool| *tool == name)?;
    let arguments = ARGUMENTS.iter().find_map(|field| object.get(*field));
    Some(TextCall { name: name.clone(), arguments: arguments_of(arguments)? })
}

fn arguments_of(value: Option<&Value>) -> Option<String> {
    match value {
        None | Some(Value::Null) => Some("{}".to_owned()),
        Some(object @ Value::Object(_)) => Some(object.to_string()),
        Some(Value::String(text)) => {
            let inner: Value = serde_json::from_str(text).ok()?;
            inner.is_object().then(|| inner.to_string())
        }
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_)) => None,
    }
}

/// `[TOOL_CALLS]name{…}`, `name({…})` and `<function=name>{…}`: the object is the arguments of the tool whose name stands before it.
fn named_before(before: &str, value: &Value, offered: &[String]) -> Option<TextCall> {
    let before =
        before.trim_end().trim_end_matches(['(', '>']).trim_end_matches("[ARGS]").trim_end();
    let is_end = |c: char| !(c.is_alphanumeric() || c == '_' || c == '-');
    let word = before.rsplit(is_end).next()?;
    let name = offered.iter().find(|tool| *tool == word)?;
    Some(TextCall { name: name.clone(), arguments: arguments_of(Some(value))? })
}

/// `<function=name><parameter=key>value</parameter></function>`.
fn tagged_functions(text: &str, offered: &[String]) -> Vec<TextCall> {
    let mut calls = Vec::new();
    for part in text.split("<function=").skip(1).take(MOST_CALLS) {
        let Some((name, body)) = part.split_once('>') else { continue };
        let Some(name) = offered.iter().find(|tool| *tool == name.trim().trim_matches('"')) else {
            continue;
        };
        let body = body.split("</function>").next().unwrap_or_default();
        let mut arguments = Map::new();
        for parameter in body.split("<parameter=").skip(1) {
            let Some((key, value)) = parameter.split_once('>') else { continue };
            let value = value.split("</parameter>").next().unwrap_or_default();
            let value = value.strip_prefix('\n').unwrap_or(value);
            let value = value.strip_suffix('\n').unwrap_or(value);
            arguments.insert(key.trim().to_owned(), loosely(value));
        }
        if !arguments.is_empty() || !body.contains('{') {
            let arguments = Value::Object(arguments).to_string();
            calls.push(TextCall { name: name.clone(), arguments });
        }
    }
    calls
}

/// A number, a flag, a list or an object where it is one, else the text.
fn loosely(text: &str) -> Value {
    match serde_json::from_str(text.trim()) {
        Ok(value @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_))) => {
            value
        }
        Ok(Value::Null | Value::String(_)) | Err(_) => Value::from(text),
    }
}
