//! Requests to the homeserver, as JSON.

use std::time::Duration;

use serde_json::Value;

use super::SynapseError;
use crate::stack::http as plain;

/// A `/sync` that waits is answered within this.
const REQUEST_TIME: Duration = Duration::from_secs(60);

/// One request; anything but success is an error.
pub(super) async fn request(
    address: &str,
    (method, path): (&str, &str),
    token: Option<&str>,
    body: Option<&Value>,
) -> Result<Value, SynapseError> {
    let bytes = body.map(Value::to_string).unwrap_or_default().into_bytes();
    let failed = |reason: String| SynapseError::Http {
        method: method.to_owned(),
        path: path.to_owned(),
        reason,
    };
    let response = plain::request_within(REQUEST_TIME, address, (method, path), token, bytes);
    let response = response.await.map_err(|error| failed(error.to_string()))?;
    if !(200..300).contains(&response.status) {
        return Err(SynapseError::Refused {
            method: method.to_owned(),
            path: path.to_owned(),
            status: response.status,
            body: response.text(),
        });
    }
    response.json().map_err(|error| failed(format!("{error} ({})", response.text())))
}

/// Makes a text fit for one segment of a path or one value of a query.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}
