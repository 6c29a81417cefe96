//! Forms with files, as a browser without script posts them (`multipart/form-data`), read piece by piece: no file is
//! ever held in memory.

use axum::body::BodyDataStream;
use axum::http::{HeaderMap, header};
use cloister_protocol::ErrorCode;
use futures_util::StreamExt as _;

use crate::reply::Failure;

/// How long a form may stand still.
const IDLE: std::time::Duration = std::time::Duration::from_secs(30);
/// The head of a part says its name and that of its file.
const MOST_HEAD: usize = 8 << 10;
const MOST_BOUNDARY: usize = 70;

/// A field of the form.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// Of the file, if it is one.
    pub(crate) file: Option<String>,
}

pub(crate) struct Multipart {
    pieces: BodyDataStream,
    buffer: Vec<u8>,
    /// What stands before each part, and after the last.
    delimiter: Vec<u8>,
    /// The field that was begun is not read to its end.
    inside: bool,
}

impl Multipart {
    pub(crate) fn new(pieces: BodyDataStream, boundary: &str) -> Self {
        let delimiter = format!("\r\n--{boundary}").into_bytes();
        // The first part has no line before it.
        Self { pieces, buffer: b"\r\n".to_vec(), delimiter, inside: true }
    }

    /// The next field; what is left of the one before is passed over.
    pub(crate) async fn next(&mut self) -> Result<Option<Field>, Failure> {
        while self.bytes().await?.is_some() {}
        self.buffer.drain(..self.delimiter.len());
        while self.buffer.len() < 2 {
            self.fill().await?;
        }
        if self.buffer.starts_with(b"--") {
            return Ok(None);
        }
        let end = loop {
            if let Some(end) = position(&self.buffer, b"\r\n\r\n") {
                break end;
            }
            if self.buffer.len() > MOST_HEAD {
                return Err(unreadable("the head of a field has no end"));
            }
            self.fill().await?;
        };
        let head: Vec<u8> = self.buffer.drain(..end + 4).collect();
        self.inside = true;
        field(&String::from_utf8_lossy(&head)).map(Some)
    }

    /// More of the field; none at its end.
    pub(crate) async fn bytes(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        if !self.inside {
            return Ok(None);
        }
        loop {
            if let Some(at) = position(&self.buffer, &self.delimiter) {
                self.inside = at > 0;
                return Ok((at > 0).then(|| self.buffer.drain(..at).collect()));
            }
            let sure = (self.buffer.len() + 1).saturating_sub(self.delimiter.len());
            if sure > 0 {
                return Ok(Some(self.buffer.drain(..sure).collect()));
            }
            self.fill().await?;
        }
    }

    /// A short field, whole.
    pub(crate) async fn text(&mut self, most: usize) -> Result<String, Failure> {
        let mut text = Vec::new();
        while let Some(bytes) = self.bytes().await? {
            text.extend_from_slice(&bytes);
            if text.len() > most {
                return Err(Failure::new(ErrorCode::TooLarge, "the message is too long")
                    .fix("send it as a file"));
            }
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    async fn fill(&mut self) -> Result<(), Failure> {
        let piece = tokio::time::timeout(IDLE, self.pieces.next())
            .await
            .map_err(|late| unreadable(&format!("it stood still: {late}")))?;
        match piece {
            Some(Ok(piece)) => self.buffer.extend_from_slice(&piece),
            Some(Err(error)) => return Err(unreadable(&format!("it broke off: {error}"))),
            None => return Err(unreadable("it has no end")),
        }
        Ok(())
    }
}

/// The boundary of a form with files, if the request is one.
pub(crate) fn boundary(headers: &HeaderMap) -> Option<String> {
    let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let (kind, rest) = kind.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let said = rest.split(';').find_map(|part| part.trim().strip_prefix("boundary="))?;
    let boundary = said.trim().trim_matches('"');
    (!boundary.is_empty() && boundary.len() <= MOST_BOUNDARY).then(|| boundary.to_owned())
}

fn field(head: &str) -> Result<Field, Failure> {
    let line = head
        .lines()
        .find(|line| line.to_ascii_lowercase().starts_with("content-disposition:"))
        .ok_or_else(|| unreadable("a field has no name"))?;
    let said = |what: &str| {
        let (_, rest) = line.split_once(&format!("; {what}=\""))?;
        let (value, _) = rest.split_once('"')?;
        // So browsers write what would end the name.
        Some(value.replace("%22", "\"").replace("%0D", "").replace("%0A", ""))
    };
    let name = said("name").ok_or_else(|| unreadable("a field has no name"))?;
    Ok(Field { name, file: said("filename") })
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn unreadable(why: &str) -> Failure {
    Failure::new(ErrorCode::BadRequest, format!("the form could not be read: {why}"))
}

#[cfg(test)]
#[path = "multipart_tests.rs"]
mod tests;
