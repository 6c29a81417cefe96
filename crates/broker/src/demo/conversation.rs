//! A chat request, as far as the script understands it.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::DemoCall;

#[derive(Default, Deserialize)]
pub(super) struct Conversation {
    messages: Vec<DemoMessage>,
    #[serde(default)]
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
struct DemoMessage {
    role: String,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    tool_calls: Vec<PastCall>,
    #[serde(default)]
    tool_call_id: String,
}

/// A call that the script made before.
#[derive(Deserialize)]
struct PastCall {
    id: String,
    function: Named,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

/// What a tool answered.
#[derive(Debug, PartialEq)]
pub(super) struct ToolTold {
    pub(super) tool: String,
    pub(super) call: String,
    pub(super) text: String,
}

impl ToolTold {
    pub(super) fn is_good(&self, bad_starts: &[&str]) -> bool {
        !bad_starts.iter().any(|start| self.text.starts_with(start))
    }
}

#[derive(Deserialize)]
struct Tool {
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    parameters: Value,
}

impl Conversation {
    pub(super) fn read(request: &[u8]) -> Self {
        // The request was validated before it came here; a surprise is answered like silence.
        serde_json::from_slice(request).unwrap_or_default()
    }

    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    /// What the last user message says.
    pub(super) fn asked(&self) -> String {
        let last = self.messages.iter().rev().find(|message| message.role == "user");
        without_notes(&last.map(DemoMessage::text).unwrap_or_default()).to_owned()
    }

    /// What the tools answered since the script last spoke.
    pub(super) fn told(&self) -> Vec<ToolTold> {
        let fresh = self.messages.iter().rev().take_while(|message| message.role == "tool");
        let mut told: Vec<ToolTold> = fresh
            .map(|message| ToolTold {
                tool: self.tool_of(&message.tool_call_id),
                call: message.tool_call_id.clone(),
                text: message.text(),
            })
            .collect();
        told.reverse();
        told
    }

    fn tool_of(&self, call: &str) -> String {
        let calls = self.messages.iter().rev().flat_map(|message| &message.tool_calls);
        let made = calls.into_iter().find(|made| made.id == call);
        made.map(|made| made.function.name.clone()).unwrap_or_default()
    }

    pub(super) fn system_says(&self, text: &str) -> bool {
        let system = self.messages.iter().find(|message| message.role == "system");
        system.is_some_and(|message| message.text().contains(text))
    }

    /// A call of an offered tool. Of the names given for an argument, the one that the tool knows
    /// is used.
    pub(super) fn call(&self, tool: &str, arguments: &[(&[&str], Value)]) -> Option<DemoCall> {
        let offered = self.tools.iter().find(|offered| offered.function.name == tool)?;
        let known = offered.function.parameters.get("properties");
        let mut object = Map::new();
        for (names, value) in arguments {
            let fitting = names.iter().find(|name| known.is_some_and(|k| k.get(**name).is_some()));
            let name = fitting.or(names.first())?;
            object.insert((*name).to_owned(), value.clone());
        }
        Some(DemoCall { name: tool.to_owned(), arguments: Value::Object(object) })
    }
}

impl DemoMessage {
    fn text(&self) -> String {
        match &self.content {
            Value::String(text) => text.clone(),
            Value::Array(parts) => {
                let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
                texts.collect::<Vec<_>>().join("\n")
            }
            _ => String::new(),
        }
    }
}

/// What follows `word:` at the start of a line.
pub(super) fn after<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let (start, rest) = line.trim().split_once(':')?;
    let rest = rest.trim();
    (start.trim().eq_ignore_ascii_case(word) && !rest.is_empty()).then_some(rest)
}

/// The agent puts what became of earlier messages before a message, and what is so now behind it.
fn without_notes(text: &str) -> &str {
    let text = text.split_once("\n\n[Now: ").map_or(text, |(said, _now)| said);
    match text.rsplit_once("[Note: ") {
        Some((_earlier, rest)) => rest.split_once("]\n\n").map_or(text, |(_note, said)| said),
        None => text,
    }
}
