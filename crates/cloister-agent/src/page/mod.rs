//! What came from the web, as text that a model can read.
//!
//! Owns: character sets, HTML to Markdown, what is text and what is not. Promises: hostile input costs
//! time and memory in proportion to its size and to nothing else; the result has a bound, and what was
//! cut is said. It runs in the sandbox, where a mistake in it harms only the task that fetched the page.

mod address;
mod charset;
mod hidden;
mod html;
mod tables;
mod writer;

use crate::text;

/// A document, as it was fetched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Document<'a> {
    /// Where it came from: what its links are relative to.
    pub(crate) url: &'a str,
    /// Its `Content-Type`, empty if there was none.
    pub(crate) kind: &'a str,
    pub(crate) body: &'a [u8],
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Readable {
    pub(crate) title: String,
    pub(crate) text: String,
    /// There was more than the bound allows.
    pub(crate) cut: bool,
}

/// Why there is nothing to read.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("it is {0}, not text")]
    NotText(String),
    #[error("it is written in the character set {0}, which is not read here")]
    Charset(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DocumentKind {
    Html,
    Text,
}

/// Makes at most `most` bytes of text of a document.
pub(crate) fn readable(document: Document<'_>, most: usize) -> Result<Readable, Unreadable> {
    let mime = document.kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let kind = kind_of(&mime, document.body).ok_or_else(|| Unreadable::NotText(named(&mime)))?;
    let body = charset::decode(document.body, document.kind, kind == DocumentKind::Html)
        .map_err(Unreadable::Charset)?;
    if body.contains('\0') && kind == DocumentKind::Text {
        return Err(Unreadable::NotText(named(&mime)));
    }
    match kind {
        DocumentKind::Html => Ok(html::to_markdown(&body, document.url, most)),
        DocumentKind::Text => {
            let kept = text::head(&body, most);
            let cut = kept.len() < body.len();
            Ok(Readable { title: String::new(), text: kept.to_owned(), cut })
        }
    }
}

fn named(mime: &str) -> String {
    if mime.is_empty() { "of an unknown kind".to_owned() } else { text::head(mime, 100).to_owned() }
}

fn kind_of(mime: &str, body: &[u8]) -> Option<DocumentKind> {
    match mime {
        "text/html" | "application/xhtml+xml" => Some(DocumentKind::Html),
        "" | "application/octet-stream" => guessed(body),
        _ if mime.starts_with("text/") => Some(DocumentKind::Text),
        _ => is_textual(mime).then_some(DocumentKind::Text),
    }
}

fn is_textual(mime: &str) -> bool {
    let Some(subtype) = mime.strip_prefix("application/") else {
        return mime == "image/svg+xml";
    };
    let known = ["ecmascript", "graphql", "javascript", "json", "sql", "toml", "xml", "yaml"];
    let bare = subtype.strip_prefix("x-").unwrap_or(subtype);
    known.contains(&bare)
        || ["ndjson", "jsonlines", "sh", "python", "tex"].contains(&bare)
        || subtype.ends_with("+json")
        || subtype.ends_with("+xml")
        || subtype.ends_with("+yaml")
}

/// Without a kind, what begins like HTML is HTML and what is UTF-8 is text.
fn guessed(body: &[u8]) -> Option<DocumentKind> {
    let start = body.trim_ascii_start();
    let begins =
        |word: &[u8]| start.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    if begins(b"<!doctype html") || begins(b"<html") {
        return Some(DocumentKind::Html);
    }
    (charset::is_utf8(body) && !body.contains(&0)).then_some(DocumentKind::Text)
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
