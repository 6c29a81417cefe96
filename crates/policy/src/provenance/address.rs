//! Addresses in text, each in its one spelling: two that mean the same are the same bytes.

use std::fmt;

use crate::egress::{Authority, Host, Scheme, one_path, one_query};

const MAX_BYTES: usize = 4096;

/// A web address, without its fragment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    pub host: Host,
    port: u16,
    plain_http: bool,
    /// As it would be sent; starts with a slash.
    pub path: String,
    /// Without the question mark; none where there is none.
    pub query: Option<String>,
}

impl Address {
    /// Reads `http://…` or `https://…`.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_BYTES || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return None;
        }
        let (scheme, rest) = text.split_once("://")?;
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "https" => Scheme::Https,
            "http" => Scheme::Http,
            _ => return None,
        };
        let rest = rest.split('#').next().unwrap_or(rest);
        let end = rest.find(['/', '?', '\\']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        let Authority { host, port } = authority.parse().ok()?;
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, one_query(query)),
            None => (rest, None),
        };
        if path.contains('\\') {
            return None;
        }
        let path = one_path(path);
        let port = port.unwrap_or(scheme.default_port());
        Some(Self { host, port, plain_http: scheme == Scheme::Http, path, query })
    }

    /// The same place with another path and query: a link on this page.
    pub fn link(&self, link: &str) -> Option<Self> {
        let link = link.split('#').next().unwrap_or(link);
        if link.contains("://") {
            return Self::parse(link);
        }
        let reads = !link.is_empty()
            && link.len() <= MAX_BYTES
            && !link
                .contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\' || c == ':');
        if !reads {
            return None;
        }
        if let Some(rest) = link.strip_prefix("//") {
            let scheme = if self.plain_http { "http" } else { "https" };
            return Self::parse(&format!("{scheme}://{rest}"));
        }
        let (path, query) = match link.split_once('?') {
            Some((path, query)) => (path, one_query(query)),
            None => (link, None),
        };
        let path = if path.starts_with('/') {
            one_path(path)
        } else if path.is_empty() {
            self.path.clone()
        } else {
            let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            one_path(&format!("{folder}/{path}"))
        };
        Some(Self { path, query, ..self.clone() })
    }

    pub(super) const fn is_usual_https(&self) -> bool {
        !self.plain_http && self.port == Scheme::Https.default_port()
    }

    /// The host, its scheme and its port alone.
    pub(super) fn same_origin(&self, other: &Self) -> bool {
        self.host == other.host && self.port == other.port && self.plain_http == other.plain_http
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.plain_http { Scheme::Http } else { Scheme::Https };
        write!(f, "{scheme}://{}", self.host)?;
        if self.port != scheme.default_port() {
            write!(f, ":{}", self.port)?;
        }
        f.write_str(&self.path)?;
        self.query.as_ref().map_or(Ok(()), |query| write!(f, "?{query}"))
    }
}

/// A mail address in its one spelling: the name as written, the host in ASCII.
pub(super) fn mail_address(text: &str) -> Option<String> {
    let (name, host) = text.rsplit_once('@')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "._%+-".contains(c);
    let fits = (1..=64).contains(&name.len()) && name.chars().all(plain);
    let host: Host = fits.then(|| host.parse().ok()).flatten()?;
    host.as_str().contains('.').then(|| format!("{}@{host}", name.to_ascii_lowercase()))
}
