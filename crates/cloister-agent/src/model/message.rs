//! The messages of a model request, in the OpenAI wire format.

use cloister_protocol::link::Call;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(crate) enum ChatMessage {
    System {
        content: String,
    },
    User {
        content: Content,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall>,
    },
    Tool {
        tool_call_id: String,
        content: String,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Part {
    Text { text: String },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ImageUrl {
    url: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct WireCall {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    function: WireFunction,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct WireFunction {
    name: String,
    arguments: String,
}

impl ChatMessage {
    pub(crate) fn system(text: impl Into<String>) -> Self {
        Self::System { content: text.into() }
    }

    pub(crate) fn user(text: impl Into<String>) -> Self {
        Self::User { content: Content::Text(text.into()) }
    }

    pub(crate) fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant { content: Some(text.into()), tool_calls: Vec::new() }
    }

    pub(crate) fn answer(text: &str, calls: &[Call]) -> Self {
        // Providers refuse a message that has neither, and some an empty text beside calls.
        let content = (!text.is_empty() || calls.is_empty()).then(|| text.to_owned());
        Self::Assistant { content, tool_calls: calls.iter().map(WireCall::from).collect() }
    }

    /// How long its words are.
    pub(crate) fn text_bytes(&self) -> usize {
        match self {
            Self::System { content } | Self::Tool { content, .. } => content.len(),
            Self::User { content: Content::Text(text) } => text.len(),
            Self::User { content: Content::Parts(parts) } => {
                let texts = parts.iter().map(|part| match part {
                    Part::Text { text } => text.len(),
                    Part::ImageUrl { .. } => 0,
                });
                texts.sum()
            }
            Self::Assistant { content, .. } => content.as_ref().map_or(0, String::len),
        }
    }

    pub(crate) fn tool(call: &str, output: impl Into<String>) -> Self {
        Self::Tool { tool_call_id: call.to_owned(), content: output.into() }
    }
}

impl Part {
    pub(crate) fn image(data_url: String) -> Self {
        Self::ImageUrl { image_url: ImageUrl { url: data_url } }
    }
}

impl From<&Call> for WireCall {
    fn from(call: &Call) -> Self {
        // Providers refuse a history with arguments that are no object; the tool's result tells the
        // model what was wrong with them.
        let object = serde_json::from_str::<serde_json::Map<_, _>>(&call.arguments).is_ok();
        let arguments = if object { call.arguments.clone() } else { "{}".to_owned() };
        let function = WireFunction { name: call.name.clone(), arguments };
        Self { id: call.id.clone(), kind: "function", function }
    }
}
