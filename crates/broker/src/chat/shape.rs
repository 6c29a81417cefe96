//! The parts of a chat request: read, and said again in the one form that is sent.
//!
//! Promises: a provider is sent what is understood here and nothing else. What one reader passes over and another takes
//! for what it looks like (a key in other letters, an address beside a text, a schema that is elsewhere) would be a way
//! out through the provider, which fetches what it is told to.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::refusal::{Refusal, shorten};

/// Pictures that are sent: of these kinds, whole. Nothing in them is fetched from elsewhere.
const PICTURES: [&str; 4] = ["png", "jpeg", "gif", "webp"];
/// Who defines the words of schemas, and is asked by nobody.
const SCHEMAS: [&str; 2] = ["http://json-schema.org/", "https://json-schema.org/"];

/// The messages as they are sent, and what of them is pictures.
pub(super) struct Messages {
    pub(super) json: String,
    pub(super) images: u64,
    pub(super) image_bytes: u64,
}

#[derive(Clone, Copy, Deserialize, Serialize, PartialEq)]
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
    tool_calls: Option<Vec<MadeCall<'a>>>,
    #[serde(borrow)]
    tool_call_id: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct MadeCall<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    function: MadeFunction<'a>,
}

#[derive(Deserialize)]
struct MadeFunction<'a> {
    #[serde(borrow)]
    name: &'a RawValue,
    #[serde(borrow)]
    arguments: &'a RawValue,
}

#[derive(Deserialize)]
struct Part<'a> {
    r#type: String,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    image_url: Option<ImageUrl<'a>>,
}

#[derive(Deserialize)]
struct ImageUrl<'a> {
    #[serde(borrow)]
    url: &'a RawValue,
}

#[derive(Deserialize)]
struct Tool<'a> {
    r#type: String,
    #[serde(borrow)]
    function: OfferedFunction<'a>,
}

#[derive(Deserialize, Serialize)]
struct OfferedFunction<'a> {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ToolChoice {
    Word(String),
    One { function: NamedFunction },
}

#[derive(Deserialize, Serialize)]
struct NamedFunction {
    name: String,
}

#[derive(Deserialize)]
struct ResponseFormat<'a> {
    r#type: String,
    #[serde(borrow)]
    json_schema: Option<AnswerSchema<'a>>,
}

#[derive(Deserialize, Serialize)]
struct AnswerSchema<'a> {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(borrow)]
    schema: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum Stop {
    One(String),
    Several(Vec<String>),
}

pub(super) fn read<'a, T: Deserialize<'a>>(json: &'a [u8], what: &str) -> Result<T, Refusal> {
    serde_json::from_slice(json).map_err(|error| unreadable(what, &error))
}

fn unreadable(what: &str, why: &dyn std::fmt::Display) -> Refusal {
    Refusal::bad_request(shorten(&format!("{what} can't be read: {why}"), 300))
        .fix("Send a chat request as the OpenAI wire format describes it.")
}

fn written(value: &impl Serialize, what: &str) -> Result<String, Refusal> {
    serde_json::to_string(value).map_err(|error| unreadable(what, &error))
}

/// A text, as the cell spelled it.
fn text<'a>(json: &'a RawValue, what: &str) -> Result<&'a str, Refusal> {
    let text = json.get();
    if text.starts_with('"') {
        return Ok(text);
    }
    Err(Refusal::bad_request(format!("{what} is no text")))
}

pub(super) fn messages(json: &RawValue) -> Result<Messages, Refusal> {
    let messages: Vec<RequestMessage<'_>> = read(json.get().as_bytes(), "`messages`")?;
    if messages.is_empty() {
        return Err(Refusal::bad_request("`messages` is empty"));
    }
    let mut said =
        Messages { json: String::with_capacity(json.get().len() + 16), images: 0, image_bytes: 0 };
    for (place, message) in messages.iter().enumerate() {
        said.json.push_str(if place == 0 { "[" } else { "," });
        said.message(message, place)?;
    }
    said.json.push(']');
    Ok(said)
}

impl Messages {
    fn message(&mut self, message: &RequestMessage<'_>, place: usize) -> Result<(), Refusal> {
        let RequestMessage { role, content, tool_calls, tool_call_id } = message;
        let is_tool = *role == MessageRole::Tool;
        if is_tool && tool_call_id.is_none() {
            let text = format!("message {place} is a tool's result without a `tool_call_id`");
            return Err(Refusal::bad_request(text));
        }
        self.json.push_str("{\"role\":");
        self.json.push_str(&written(role, "a role")?);
        self.json.push_str(",\"content\":");
        match content {
            None if *role == MessageRole::Assistant && tool_calls.is_some() => {
                self.json.push_str("null");
            }
            None => return Err(Refusal::bad_request(format!("message {place} has no `content`"))),
            Some(parts) if parts.get().starts_with('[') => self.parts(parts, place)?,
            Some(words) if words.get().starts_with('"') => self.json.push_str(words.get()),
            Some(_) => {
                let text = format!("the `content` of message {place} is neither text nor parts");
                return Err(Refusal::bad_request(text));
            }
        }
        if let Some(calls) = tool_calls {
            self.calls(calls)?;
        }
        if let Some(id) = tool_call_id {
            self.json.push_str(",\"tool_call_id\":");
            self.json.push_str(text(id, "a `tool_call_id`")?);
        }
        self.json.push('}');
        Ok(())
    }

    fn calls(&mut self, calls: &[MadeCall<'_>]) -> Result<(), Refusal> {
        self.json.push_str(",\"tool_calls\":[");
        for (place, call) in calls.iter().enumerate() {
            let before = if place == 0 { "" } else { "," };
            let id = text(call.id, "the `id` of a call")?;
            let name = text(call.function.name, "the `name` of a call")?;
            let arguments = text(call.function.arguments, "what a call is made with")?;
            self.json.push_str(before);
            self.json.push_str("{\"id\":");
            self.json.push_str(id);
            self.json.push_str(",\"type\":\"function\",\"function\":{\"name\":");
            self.json.push_str(name);
            self.json.push_str(",\"arguments\":");
            self.json.push_str(arguments);
            self.json.push_str("}}");
        }
        self.json.push(']');
        Ok(())
    }

    fn parts(&mut self, content: &RawValue, place: usize) -> Result<(), Refusal> {
        let what = format!("the `content` of message {place}");
        let parts: Vec<Part<'_>> = read(content.get().as_bytes(), &what)?;
        self.json.push('[');
        for (at, part) in parts.into_iter().enumerate() {
            self.json.push_str(if at == 0 { "" } else { "," });
            match (part.r#type.as_str(), part.text, part.image_url) {
                ("text", Some(words), _) => {
                    self.json.push_str("{\"type\":\"text\",\"text\":");
                    self.json.push_str(text(words, "the `text` of a part")?);
                    self.json.push('}');
                }
                ("image_url", _, Some(image)) if is_picture(image.url.get()) => {
                    self.images += 1;
                    self.image_bytes += image.url.get().len() as u64;
                    self.json.push_str("{\"type\":\"image_url\",\"image_url\":{\"url\":");
                    self.json.push_str(image.url.get());
                    self.json.push_str("}}");
                }
                ("image_url", ..) => {
                    let text = format!("an image of message {place} is not a `data:image/…` URL");
                    return Err(Refusal::bad_request(text)
                        .fix("Send the image itself, in base64, as PNG, JPEG, GIF or WebP."));
                }
                (other, ..) => {
                    let kind = shorten(other, 40);
                    let text = format!("message {place} has a part of type {kind:?}");
                    return Err(
                        Refusal::bad_request(text).fix("Send `text` and `image_url` parts.")
                    );
                }
            }
        }
        self.json.push(']');
        Ok(())
    }
}

/// `data:image/png;base64,…`, with nothing in it but that.
fn is_picture(quoted: &str) -> bool {
    let kinds = PICTURES.iter();
    let data = quoted.strip_prefix("\"data:image/").and_then(|rest| rest.strip_suffix('"'));
    let data = data.and_then(|data| {
        kinds.into_iter().find_map(|kind| data.strip_prefix(kind)?.strip_prefix(";base64,"))
    });
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    data.is_some_and(|data| data.bytes().all(is_base64))
}

pub(super) fn tools(json: &RawValue) -> Result<String, Refusal> {
    let tools: Vec<Tool<'_>> = read(json.get().as_bytes(), "`tools`")?;
    let mut offered = Vec::with_capacity(tools.len());
    for tool in tools {
        if tool.r#type != "function" || tool.function.name.is_empty() {
            let kind = shorten(&tool.r#type, 40);
            let text = format!("a tool of type {kind:?} can't be offered to a model");
            return Err(Refusal::bad_request(text).fix("Offer tools of type `function` only."));
        }
        if let Some(schema) = tool.function.parameters {
            stays_here(schema)?;
        }
        let function = written(&tool.function, "a tool")?;
        offered.push(format!("{{\"type\":\"function\",\"function\":{function}}}"));
    }
    Ok(format!("[{}]", offered.join(",")))
}

pub(super) fn tool_choice(json: &RawValue) -> Result<String, Refusal> {
    let what = "`tool_choice`";
    match read(json.get().as_bytes(), what)? {
        ToolChoice::Word(word) if ["auto", "none", "required"].contains(&word.as_str()) => {
            written(&word, what)
        }
        ToolChoice::Word(_) => Err(unreadable(what, &"it is none of auto, none and required")),
        ToolChoice::One { function } => {
            let function = written(&function, what)?;
            Ok(format!("{{\"type\":\"function\",\"function\":{function}}}"))
        }
    }
}

pub(super) fn response_format(json: &RawValue) -> Result<String, Refusal> {
    let what = "`response_format`";
    let format: ResponseFormat<'_> = read(json.get().as_bytes(), what)?;
    match (format.r#type.as_str(), format.json_schema) {
        ("text", _) => Ok("{\"type\":\"text\"}".to_owned()),
        ("json_object", _) => Ok("{\"type\":\"json_object\"}".to_owned()),
        ("json_schema", Some(schema)) => {
            stays_here(schema.schema)?;
            let schema = written(&schema, what)?;
            Ok(format!("{{\"type\":\"json_schema\",\"json_schema\":{schema}}}"))
        }
        _ => Err(unreadable(what, &"it is none of text, json_object and json_schema")),
    }
}

pub(super) fn stop(json: &RawValue) -> Result<String, Refusal> {
    let stop: Stop = read(json.get().as_bytes(), "`stop`")?;
    written(&stop, "`stop`")
}

/// Refuses a schema with parts that are elsewhere: who reads it may fetch them.
fn stays_here(schema: &RawValue) -> Result<(), Refusal> {
    let schema: Value = read(schema.get().as_bytes(), "a schema")?;
    let mut left = vec![&schema];
    while let Some(value) = left.pop() {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    if let Some(place) = value.as_str().filter(|_| name.starts_with('$'))
                        && is_elsewhere(name, place)
                    {
                        let text = format!("a schema has a part elsewhere: {}", shorten(place, 80));
                        return Err(Refusal::bad_request(text)
                            .fix("Write out what it refers to, or refer to it by `#/…`."));
                    }
                    left.push(value);
                }
            }
            Value::Array(values) => left.extend(values),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    Ok(())
}

fn is_elsewhere(name: &str, place: &str) -> bool {
    let defined = name == "$schema" && SCHEMAS.iter().any(|known| place.starts_with(known));
    let refers = name.ends_with("ef") && !place.starts_with('#');
    !defined && (refers || place.contains("//"))
}
