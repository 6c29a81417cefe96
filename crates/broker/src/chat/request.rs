//! A chat request of a cell: validated, stripped to what a provider may see, and measured.
//!
//! What could make a provider act outside (its own tools, files or pictures it would fetch by
//! address) is refused: that way out is not the cell's to take.

use bytes::{BufMut, Bytes, BytesMut};
use cloister_control::books::Fingerprint;
use cloister_protocol::{Level, WorkKind};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::refusal::{Refusal, shorten};

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

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum MessageRole {
    System,
    Developer,
    User,
    Assistant,
    Tool,
}

#[derive(Deserialize)]
struct RequestMessage<'a> {
    role: MessageRole,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_call_id: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Part<'a> {
    r#type: String,
    #[serde(borrow)]
    image_url: Option<ImageUrl<'a>>,
}

#[derive(Deserialize)]
struct ImageUrl<'a> {
    #[serde(borrow)]
    url: &'a RawValue,
}

#[derive(Deserialize)]
struct Tool {
    r#type: String,
    function: Named,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

impl ChatRequest {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, Refusal> {
        let fields: Fields<'_> = read(body, "the request")?;
        let (images, image_bytes) = check_messages(fields.messages)?;
        if let Some(tools) = fields.tools {
            check_tools(tools)?;
        }
        let open_object = open_object(&fields);
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

fn read<'a, T: Deserialize<'a>>(json: &'a [u8], what: &str) -> Result<T, Refusal> {
    serde_json::from_slice(json).map_err(|error| {
        Refusal::bad_request(shorten(&format!("{what} can't be read: {error}"), 300))
            .fix("Send a chat request as the OpenAI wire format describes it.")
    })
}

/// Checks every message; returns how many images there are and their bytes.
fn check_messages(json: &RawValue) -> Result<(u64, u64), Refusal> {
    let messages: Vec<RequestMessage<'_>> = read(json.get().as_bytes(), "`messages`")?;
    if messages.is_empty() {
        return Err(Refusal::bad_request("`messages` is empty"));
    }
    let (mut images, mut image_bytes) = (0, 0);
    for (place, message) in messages.iter().enumerate() {
        if message.role == MessageRole::Tool && message.tool_call_id.is_none() {
            let text = format!("message {place} is a tool's result without a `tool_call_id`");
            return Err(Refusal::bad_request(text));
        }
        match message.content {
            None if message.role == MessageRole::Assistant && message.tool_calls.is_some() => {}
            None => return Err(Refusal::bad_request(format!("message {place} has no `content`"))),
            Some(content) if content.get().starts_with('[') => {
                let (count, bytes) = check_parts(content, place)?;
                images += count;
                image_bytes += bytes;
            }
            Some(content) if content.get().starts_with('"') => {}
            Some(_) => {
                let text = format!("the `content` of message {place} is neither text nor parts");
                return Err(Refusal::bad_request(text));
            }
        }
    }
    Ok((images, image_bytes))
}

fn check_parts(content: &RawValue, place: usize) -> Result<(u64, u64), Refusal> {
    let what = format!("the `content` of message {place}");
    let parts: Vec<Part<'_>> = read(content.get().as_bytes(), &what)?;
    let (mut images, mut image_bytes) = (0, 0);
    for part in parts {
        match (part.r#type.as_str(), part.image_url) {
            ("text", _) => {}
            ("image_url", Some(image)) if image.url.get().starts_with("\"data:image/") => {
                images += 1;
                image_bytes += image.url.get().len() as u64;
            }
            ("image_url", _) => {
                let text = format!("an image of message {place} is not a `data:image/…` URL");
                return Err(Refusal::bad_request(text).fix("Send the image itself, in base64."));
            }
            (other, _) => {
                let kind = shorten(other, 40);
                let text = format!("message {place} has a part of type {kind:?}");
                return Err(Refusal::bad_request(text).fix("Send `text` and `image_url` parts."));
            }
        }
    }
    Ok((images, image_bytes))
}

fn check_tools(json: &RawValue) -> Result<(), Refusal> {
    let tools: Vec<Tool> = read(json.get().as_bytes(), "`tools`")?;
    for tool in tools {
        if tool.r#type != "function" || tool.function.name.is_empty() {
            let kind = shorten(&tool.r#type, 40);
            let text = format!("a tool of type {kind:?} can't be offered to a model");
            return Err(Refusal::bad_request(text).fix("Offer tools of type `function` only."));
        }
    }
    Ok(())
}

/// The fields that go on, in an object that is still open at its end.
fn open_object(fields: &Fields<'_>) -> Bytes {
    let mut object = BytesMut::with_capacity(fields.messages.get().len() + 256);
    object.put_slice(br#"{"stream":true,"messages":"#);
    object.put_slice(fields.messages.get().as_bytes());
    let raw = [
        ("tools", fields.tools.map(|json| json.get().to_owned())),
        ("tool_choice", fields.tool_choice.map(|json| json.get().to_owned())),
        ("response_format", fields.response_format.map(|json| json.get().to_owned())),
        ("stop", fields.stop.map(|json| json.get().to_owned())),
        ("top_p", fields.top_p.map(|number| number.to_string())),
        ("seed", fields.seed.map(|number| number.to_string())),
        ("parallel_tool_calls", fields.parallel_tool_calls.map(|flag| flag.to_string())),
    ];
    for (name, json) in raw {
        if let Some(json) = json {
            object.put_slice(format!(r#","{name}":{json}"#).as_bytes());
        }
    }
    object.freeze()
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
