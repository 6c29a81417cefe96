//! What a request carries: JSON, or a form with JSON and files.

use serde_json::Value;

/// A file that came with a request.
#[derive(Clone, Debug)]
pub(super) struct Upload {
    /// The number in `files[N]`.
    pub(super) number: String,
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

pub(super) struct Body {
    /// Null where there was none.
    pub(super) json: Value,
    pub(super) files: Vec<Upload>,
}

/// Reads a body by its content type; what is wrong with it otherwise.
pub(super) fn read(content_type: &str, bytes: &[u8]) -> Result<Body, String> {
    if let Some(boundary) = boundary(content_type) {
        return form(boundary, bytes);
    }
    if bytes.is_empty() {
        return Ok(Body { json: Value::Null, files: Vec::new() });
    }
    if !content_type.starts_with("application/json") {
        return Err(format!("a body of the type {content_type:?}"));
    }
    let json = serde_json::from_slice(bytes)
        .map_err(|error| format!("a body that is no JSON: {error}"))?;
    Ok(Body { json, files: Vec::new() })
}

fn boundary(content_type: &str) -> Option<&str> {
    let rest = content_type.strip_prefix("multipart/form-data")?;
    let (_, boundary) = rest.split_once("boundary=")?;
    Some(boundary.trim_matches('"'))
}

fn form(boundary: &str, bytes: &[u8]) -> Result<Body, String> {
    let mark = format!("--{boundary}").into_bytes();
    let mut body = Body { json: Value::Null, files: Vec::new() };
    let mut rest = after(bytes, &mark).ok_or("a form without its boundary")?;
    while !rest.starts_with(b"--") {
        let end = find(rest, &mark).ok_or("a form that does not end")?;
        let (part, next) = rest.split_at(end);
        part_of(part, &mut body)?;
        rest = next.get(mark.len()..).unwrap_or_default();
    }
    Ok(body)
}

fn part_of(part: &[u8], body: &mut Body) -> Result<(), String> {
    let at = find(part, b"\r\n\r\n").ok_or("a part of a form without a head")?;
    let (head, value) = part.split_at(at);
    let head = String::from_utf8_lossy(head);
    let value = value.get(4..).unwrap_or_default();
    let value = value.strip_suffix(b"\r\n").unwrap_or(value);
    let name = parameter(&head, "name").ok_or("a part of a form without a name")?;
    if name == "payload_json" {
        body.json = serde_json::from_slice(value)
            .map_err(|error| format!("a payload_json that is no JSON: {error}"))?;
        return Ok(());
    }
    let number = name.strip_prefix("files[").and_then(|name| name.strip_suffix(']'));
    let number = number.ok_or_else(|| format!("a part of a form named {name:?}"))?;
    let file = parameter(&head, "filename").ok_or("a file without a name")?;
    body.files.push(Upload { number: number.to_owned(), name: file, bytes: value.to_vec() });
    Ok(())
}

fn parameter(head: &str, name: &str) -> Option<String> {
    let (_, rest) = head.split_once(&format!(" {name}=\""))?;
    rest.split_once('"').map(|(value, _)| value.to_owned())
}

fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}

fn after<'a>(bytes: &'a [u8], mark: &[u8]) -> Option<&'a [u8]> {
    bytes.get(find(bytes, mark)? + mark.len()..)
}
