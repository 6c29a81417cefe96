//! A chat request of a cell: read, said again with what a provider may see, and measured.
//!
//! What could make a provider act outside (its own tools, files, pictures or schemas it would fetch by
//! address) is refused: that way out is not the cell's to take.

use bytes::{BufMut, Bytes, BytesMut};
use cloister_control::books::Fingerprint;
use cloister_protocol::{Level, WorkKind};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::shape::{self, Messages};
use crate::refusal::Refusal;

/// A request that may be sent, but for the model and the limit of the answer.
#[derive(Clone, Debug)]
pub(crate) struct ChatRequest {
    /// The JSON object to send, without its end.
    open_object: Bytes,
    /// Whether the caller wants the answer as it comes.
    pub(crate) stream: bool,
    pub(crate) max_tokens: Option<u64>,
    pub(super) temperature: Option<f64>,
    pub(super) has_tools: bool,
    /// What the cell says it is asked for. It chooses among the operator's chains with it, and nothing else.
    said_kind: Option<WorkKind>,
    images: u64,
    image_bytes: u64,
    print: Fingerprint,
}

/// The fields of a request that are looked at or passed on; every other one is dropped.
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    messages: &'a RawValue,
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_choice: Option<&'a RawValue>,
    #[serde(borrow)]
    response_format: Option<&'a RawValue>,
    #[serde(borrow)]
    stop: Option<&'a RawValue>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    seed: Option<i64>,
    parallel_tool_calls: Option<bool>,
    stream: Option<bool>,
    max_tokens: Option<u64>,
    max_completion_tokens: Option<u64>,
    kind: Option<String>,
}

impl ChatRequest {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, Refusal> {
        let fields: Fields<'_> = shape::read(body, "the request")?;
        let Messages { json, images, image_bytes } = shape::messages(fields.messages)?;
        let open_object = open_object(&json, &fields)?;
        Ok(Self {
            print: Fingerprint::of(&open_object),
            open_object,
            stream: fields.stream.unwrap_or(false),
            max_tokens: fields.max_completion_tokens.or(fields.max_tokens),
            temperature: fields.temperature,
            has_tools: fields.tools.is_some(),
            said_kind: fields.kind.as_deref().and_then(|word| word.parse().ok()),
            images,
            image_bytes,
        })
    }

    /// What the model is shown: all that is sent but what differs from model to model.
    pub(crate) const fn print(&self) -> &Fingerprint {
        &self.print
    }

    /// Whether the model has to see something.
    pub(super) const fn has_images(&self) -> bool {
        self.images > 0
    }

    /// The kind of work that this is, of this level. Pictures speak for themselves; whose own work it is says the door.
    pub(super) fn kind(&self, level: Level) -> WorkKind {
        if self.has_images() {
            return WorkKind::Vision;
        }
        match self.said_kind {
            Some(kind @ (WorkKind::Summarise | WorkKind::Research)) => kind,
            Some(WorkKind::Talk | WorkKind::Work | WorkKind::Vision) | None => WorkKind::of(level),
        }
    }

    /// The most tokens the prompt can have: no token is shorter than a byte, and an image counts
    /// by its own rule.
    pub(crate) fn prompt_tokens_at_most(&self, image_tokens: u64) -> u64 {
        let text = (self.open_object.len() as u64).saturating_sub(self.image_bytes);
        text.saturating_add(self.images.saturating_mul(image_tokens))
    }

    /// About how many tokens the prompt has, rather too many than too few, for a provider that
    /// does not say.
    pub(crate) fn prompt_tokens_estimate(&self, image_tokens: u64) -> u64 {
        let text = (self.open_object.len() as u64).saturating_sub(self.image_bytes);
        text.div_ceil(3).saturating_add(self.images.saturating_mul(image_tokens))
    }

    /// The same with other words and no pictures.
    pub(super) fn with_object(&self, open_object: Bytes) -> Self {
        let print = Fingerprint::of(&open_object);
        Self { print, open_object, images: 0, image_bytes: 0, ..self.clone() }
    }

    /// The whole object, with this end.
    pub(super) fn closed_with(&self, end: &str) -> Bytes {
        let mut body = BytesMut::with_capacity(self.open_object.len() + end.len());
        body.extend_from_slice(&self.open_object);
        body.extend_from_slice(end.as_bytes());
        body.freeze()
    }
}

/// The fields that go on, each said again, in an object that is still open at its end.
fn open_object(messages: &str, fields: &Fields<'_>) -> Result<Bytes, Refusal> {
    let mut object = BytesMut::with_capacity(messages.len() + 256);
    object.put_slice(br#"{"stream":true,"messages":"#);
    object.put_slice(messages.as_bytes());
    let said = [
        ("tools", fields.tools.map(shape::tools).transpose()?),
        ("tool_choice", fields.tool_choice.map(shape::tool_choice).transpose()?),
        ("response_format", fields.response_format.map(shape::response_format).transpose()?),
        ("stop", fields.stop.map(shape::stop).transpose()?),
        ("top_p", fields.top_p.map(|number| number.to_string())),
        ("seed", fields.seed.map(|number| number.to_string())),
        ("parallel_tool_calls", fields.parallel_tool_calls.map(|flag| flag.to_string())),
    ];
    for (name, json) in said {
        if let Some(json) = json {
            object.put_slice(format!(r#","{name}":{json}"#).as_bytes());
        }
    }
    Ok(object.freeze())
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
