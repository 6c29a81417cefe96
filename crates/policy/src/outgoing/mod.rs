//! A request as it leaves: built from what a program asked for, and never the program's own bytes.
//!
//! Owns: the one form of a request that is judged, shown, digested and sent. Promises: whatever is in
//! it is either a constant, or one of a few choices that are counted, or content that is shown to the
//! person who is asked; there is nothing else on the wire. Two requests that are the same value are
//! the same bytes.
//!
//! A program of a task that has seen nobody else's content may say what it likes in its headers. One
//! of a task with foreign content may not: of its head only the method, the address and the headers
//! that mean something are left, and each of those last is asked about.

mod form;
pub mod git;
mod head;

use bytes::Bytes;

use crate::class::Class;
use crate::egress::Destination;

pub use head::{ACCEPT, ACCEPT_ENCODING, USER_AGENT};

/// What a program asked for. Its address is in its one spelling already.
#[derive(Clone, Copy, Debug)]
pub struct Draft<'a> {
    pub method: &'a str,
    pub to: &'a Destination,
    pub query: Option<&'a str>,
    /// Without those that frame it or end at the broker, and without those that bear a secret.
    pub headers: &'a [(String, String)],
    pub body: &'a Bytes,
    /// The secrets that will be put on it, by name.
    pub secrets: &'a [String],
}

/// Whose content is in the task that asks.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// The person's own alone.
    Own,
    /// Somebody else's as well; with what repositories have told this task.
    Foreign(&'a git::Repositories),
}

/// The methods that are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method(&'static str);

impl Method {
    const ALL: &'static [&'static str] = &[
        "GET",
        "HEAD",
        "POST",
        "PUT",
        "PATCH",
        "DELETE",
        "OPTIONS",
        "PROPFIND",
        "PROPPATCH",
        "MKCOL",
        "COPY",
        "MOVE",
        "LOCK",
        "UNLOCK",
        "REPORT",
    ];

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|known| **known == text).map(|known| Self(known))
    }

    pub const fn as_str(self) -> &'static str {
        self.0
    }

    /// Whether it asks and changes nothing, by its own meaning.
    fn reads(self) -> bool {
        matches!(self.0, "GET" | "HEAD")
    }
}

/// A request that can't be put into its one form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the method {0:?} is not served")]
pub struct NotServed(pub String);

/// A request in its one form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    method: Method,
    to: Destination,
    query: Option<String>,
    /// All but the host and the length, by name, each once.
    headers: Vec<(String, String)>,
    /// Those of them that the program chose and that are sent as it chose them.
    chosen: Vec<String>,
    body: Bytes,
    secrets: Vec<String>,
    git: Option<git::Read>,
}

impl Outgoing {
    /// Builds the request that is sent in place of what was asked for.
    pub fn rebuild(draft: &Draft<'_>, content: Content<'_>) -> Result<Self, NotServed> {
        let method = Method::parse(draft.method)
            .ok_or_else(|| NotServed(draft.method.chars().take(20).collect()))?;
        let git = git::Read::of(draft, content);
        let mut head = head::Head::of(draft, content, git.as_ref());
        let mut body = draft.body.clone();
        if let Some(rebuilt) = git.as_ref().and_then(git::Read::body) {
            body = rebuilt;
        } else if let Some(form) =
            head.get("content-type").and_then(|kind| form::rebuild(kind, &body))
        {
            head.set("content-type", &form.content_type);
            body = form.body;
        }
        let (headers, chosen) = head.into_parts();
        Ok(Self {
            method,
            to: draft.to.clone(),
            query: draft.query.map(str::to_owned),
            headers,
            chosen,
            body,
            secrets: draft.secrets.to_vec(),
            git,
        })
    }

    pub const fn method(&self) -> Method {
        self.method
    }

    pub const fn to(&self) -> &Destination {
        &self.to
    }

    pub fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }

    /// What is sent besides the host, the length and the secrets, in the order in which it is sent.
    pub fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    /// The headers that could say anything, by name.
    pub fn chosen(&self) -> &[String] {
        &self.chosen
    }

    pub const fn body(&self) -> &Bytes {
        &self.body
    }

    pub fn secrets(&self) -> &[String] {
        &self.secrets
    }

    /// What of a repository it reads, where it is git that reads one.
    pub const fn git(&self) -> Option<&git::Read> {
        self.git.as_ref()
    }

    /// The address, whole.
    pub fn url(&self) -> String {
        let query = self.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        let Destination { scheme, path, .. } = &self.to;
        format!("{scheme}://{}{path}{query}", self.to.authority())
    }

    /// Whether it only asks: by its method with no body, or because all of it is git reading, and nothing
    /// makes another method of it. A path alone makes nothing safe.
    pub fn class(&self) -> Class {
        let plain = self.method.reads() && self.body.is_empty();
        let reads = plain || self.git.is_some();
        if reads && !self.overrides_method() { Class::Safe } else { Class::Outward }
    }

    /// Some servers take the method from elsewhere.
    fn overrides_method(&self) -> bool {
        const HEADERS: &[&str] =
            &["x-http-method", "x-http-method-override", "x-method-override", "x-rest-method"];
        let in_query = |query: &String| {
            query.split('&').any(|pair| pair.to_ascii_lowercase().starts_with("_method="))
        };
        self.chosen.iter().any(|name| HEADERS.contains(&name.as_str()))
            || self.query.as_ref().is_some_and(in_query)
    }

    /// The headers that a person is shown: all but those that are the same on every request.
    pub(crate) fn shown_headers(&self) -> impl Iterator<Item = &(String, String)> {
        self.headers.iter().filter(|(name, value)| !head::is_constant(name, value))
    }
}

#[cfg(test)]
#[path = "outgoing_tests.rs"]
mod tests;
