//! The parameters of a request, however they were sent: in the address, as a form, as JSON or in parts.
//!
//! What is read is taken out; what is left at the end is not known to the method, and complained about.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::multipart;
use super::refusal::Refusal;

/// A file as it was sent.
#[derive(Clone, Debug)]
pub(super) struct Upload {
    pub(super) name: String,
    pub(super) mime: Option<String>,
    pub(super) bytes: Bytes,
}

#[derive(Debug, Default)]
pub(super) struct Params {
    fields: BTreeMap<String, Value>,
    files: BTreeMap<String, Upload>,
}

impl Params {
    pub(super) fn parse(query: &str, content_type: &str, body: &Bytes) -> Result<Self, Refusal> {
        let mut params = Self::default();
        params.add_form(query);
        let kind = content_type.split(';').next().unwrap_or_default().trim();
        match kind {
            _ if body.is_empty() => {}
            "application/json" => {
                let parsed = serde_json::from_slice::<Map<String, Value>>(body);
                let parsed = parsed
                    .map_err(|error| Refusal::bad(&format!("can't parse JSON object: {error}")))?;
                params.fields.extend(parsed);
            }
            "application/x-www-form-urlencoded" => {
                params.add_form(&String::from_utf8_lossy(body));
            }
            "multipart/form-data" => {
                let parts = multipart::parse(content_type, body)
                    .ok_or_else(|| Refusal::bad("can't parse multipart form data"))?;
                for part in parts {
                    params.add_part(part);
                }
            }
            other => {
                return Err(Refusal::bad(&format!("unsupported content type \"{other}\"")));
            }
        }
        Ok(params)
    }

    fn add_part(&mut self, part: multipart::Part) {
        match part.file_name {
            Some(name) => {
                let upload = Upload { name, mime: part.mime, bytes: part.body };
                self.files.insert(part.name, upload);
            }
            None => {
                let text = String::from_utf8_lossy(&part.body).into_owned();
                self.fields.insert(part.name, Value::String(text));
            }
        }
    }

    fn add_form(&mut self, form: &str) {
        for pair in form.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            self.fields.insert(unescaped(name), Value::String(unescaped(value)));
        }
    }

    /// All of it, for who looks at calls later.
    pub(super) fn shown(&self) -> Value {
        let mut shown: Map<String, Value> =
            self.fields.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        for (name, file) in &self.files {
            shown.insert(name.clone(), json!({"file": file.name, "bytes": file.bytes.len()}));
        }
        Value::Object(shown)
    }

    /// What nobody has read.
    pub(super) fn unread(&self) -> Vec<String> {
        self.fields.keys().chain(self.files.keys()).cloned().collect()
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.fields.remove(name).filter(|value| !value.is_null())
    }

    /// Puts back what was only looked at.
    pub(super) fn restore(&mut self, name: &str, value: Option<Value>) {
        self.fields.extend(value.map(|value| (name.to_owned(), value)));
    }

    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            other => Some(other.to_string()),
        }
    }

    pub(super) fn int(&mut self, name: &str) -> Result<Option<i64>, Refusal> {
        let bad = || Refusal::bad(&format!("field \"{name}\" must be of the type Number"));
        match self.take(name) {
            None => Ok(None),
            Some(Value::Number(number)) => number.as_i64().map(Some).ok_or_else(bad),
            Some(Value::String(text)) => text.trim().parse().map(Some).ok().ok_or_else(bad),
            Some(_) => Err(bad()),
        }
    }

    pub(super) fn required_int(&mut self, name: &str) -> Result<i64, Refusal> {
        let missing = || Refusal::bad(&format!("parameter \"{name}\" is required"));
        self.int(name)?.ok_or_else(missing)
    }

    pub(super) fn flag(&mut self, name: &str) -> bool {
        match self.take(name) {
            Some(Value::Bool(flag)) => flag,
            Some(Value::String(text)) => {
                matches!(text.to_lowercase().as_str(), "true" | "1" | "yes")
            }
            _ => false,
        }
    }

    /// An object or a list: as it is, or written as text.
    pub(super) fn json(&mut self, name: &str) -> Result<Option<Value>, Refusal> {
        match self.take(name) {
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) => serde_json::from_str(&text)
                .map(Some)
                .map_err(|error| Refusal::bad(&format!("can't parse {name} JSON object: {error}"))),
            other => Ok(other),
        }
    }

    pub(super) fn file(&mut self, name: &str) -> Option<Upload> {
        self.files.remove(name)
    }
}

/// `%41+b` → `A b`.
pub(super) fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits: String = rest.by_ref().take(2).map(char::from).collect();
                u8::from_str_radix(&digits, 16).unwrap_or(b'?')
            }
            other => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
