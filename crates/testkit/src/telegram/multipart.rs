//! `multipart/form-data`, as much of it as clients send.

use bytes::Bytes;

#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) file_name: Option<String>,
    pub(super) mime: Option<String>,
    pub(super) body: Bytes,
}

/// None where it is not what the content type says.
pub(super) fn parse(content_type: &str, body: &Bytes) -> Option<Vec<Part>> {
    let boundary = parameter(content_type, "boundary")?;
    let mark = format!("--{boundary}");
    let mut parts = Vec::new();
    let mut at = find(body, mark.as_bytes(), 0)? + mark.len();
    loop {
        let rest = body.get(at..)?;
        if rest.starts_with(b"--") {
            return Some(parts);
        }
        if !rest.starts_with(b"\r\n") {
            return None;
        }
        let head_start = at + 2;
        let head_end = find(body, b"\r\n\r\n", at)?;
        let head = String::from_utf8_lossy(body.get(head_start..head_end)?).into_owned();
        let start = head_end + 4;
        let end_mark = format!("\r\n{mark}");
        let end = find(body, end_mark.as_bytes(), start)?;
        parts.push(part(&head, body.slice(start..end))?);
        at = end + end_mark.len();
    }
}

fn part(head: &str, body: Bytes) -> Option<Part> {
    let header = |name: &str| {
        head.lines().find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.trim().eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let disposition = header("content-disposition")?;
    let name = parameter(&disposition, "name")?;
    let file_name = parameter(&disposition, "filename").or_else(|| {
        let starred = parameter(&disposition, "filename*")?;
        Some(super::params::unescaped(starred.rsplit('\'').next()?))
    });
    Some(Part { name, file_name, mime: header("content-type"), body })
}

/// `…; name="value"` → `value`.
fn parameter(header: &str, name: &str) -> Option<String> {
    header.split(';').skip(1).find_map(|parameter| {
        let (known, value) = parameter.split_once('=')?;
        (known.trim().eq_ignore_ascii_case(name)).then(|| value.trim().trim_matches('"').to_owned())
    })
}

fn find(body: &[u8], what: &[u8], from: usize) -> Option<usize> {
    let first = *what.first()?;
    let mut at = from;
    loop {
        let rest = body.get(at..)?;
        let next = rest.iter().position(|byte| *byte == first)?;
        at += next;
        if body.get(at..)?.starts_with(what) {
            return Some(at);
        }
        at += 1;
    }
}
