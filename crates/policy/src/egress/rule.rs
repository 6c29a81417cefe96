//! One rule of an allowlist.
//!
//! `example.com` allows https on port 443 of that host, all paths. `*.example.com` allows the names
//! below it and not itself. `example.com/a/b` allows that path and what is below. `example.com:8443`
//! allows that port in place of the usual one. `http://` in front allows plain http as well.

use std::fmt;
use std::str::FromStr;

use super::destination::{Authority, AuthorityError, Destination, Scheme};
use super::host::{Host, HostError};
use super::path::segments;

const MAX_BYTES: usize = 512;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rule {
    plain_http: bool,
    subdomains: bool,
    host: Host,
    port: Option<u16>,
    path: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error("a rule names a host, such as example.com or *.example.com")]
    Empty,
    #[error("a rule has at most {MAX_BYTES} bytes")]
    TooLong,
    #[error("{0}")]
    Authority(#[from] AuthorityError),
    #[error("only http:// and https:// can be in front of a rule")]
    Scheme,
    #[error("a * stands only at the front, followed by a dot: *.example.com")]
    Star,
    #[error("*.{0} would allow hosts of people who have nothing to do with each other")]
    PublicSuffix(Host),
    #[error("{0} is a name inside of a network, and only hosts outside can be allowed")]
    LocalName(Host),
    #[error("a rule has no query and no fragment")]
    Query,
    #[error("the path can be read in more than one way (.., //, encoded slashes and the like)")]
    Path,
}

impl From<HostError> for RuleError {
    fn from(error: HostError) -> Self {
        Self::Authority(AuthorityError::Host(error))
    }
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(RuleError::Empty);
        }
        if text.len() > MAX_BYTES {
            return Err(RuleError::TooLong);
        }
        let (plain_http, rest) = match text.split_once("://") {
            None => (false, text),
            Some(("https", rest)) => (false, rest),
            Some(("http", rest)) => (true, rest),
            Some(_) => return Err(RuleError::Scheme),
        };
        if rest.contains(['?', '#']) {
            return Err(RuleError::Query);
        }
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let (subdomains, authority) = match authority.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, authority),
        };
        if authority.contains('*') {
            return Err(RuleError::Star);
        }
        let Authority { host, port } = authority.parse()?;
        if subdomains && host.is_public_suffix() {
            return Err(RuleError::PublicSuffix(host));
        }
        if host.is_local() {
            return Err(RuleError::LocalName(host));
        }
        let path = segments(path).ok_or(RuleError::Path)?;
        // Said or not said, it is the same rule.
        let port = port.filter(|port| plain_http || *port != Scheme::Https.default_port());
        Ok(Self { plain_http, subdomains, host, port, path })
    }
}

impl Rule {
    /// The narrowest rule that allows the whole host of a destination; none if no rule can.
    pub fn for_host(destination: &Destination) -> Option<Self> {
        let Destination { scheme, host, port, path: _ } = destination;
        if host.is_local() {
            return None;
        }
        Some(Self {
            plain_http: *scheme == Scheme::Http,
            subdomains: false,
            host: host.clone(),
            port: (*port != scheme.default_port()).then_some(*port),
            path: Vec::new(),
        })
    }

    /// This rule for another path of the same depth, for a destination that only the path keeps out.
    pub(super) fn for_path_like(&self, destination: &Destination) -> Option<Self> {
        let mut path = segments(&destination.path)?;
        if path.len() < self.path.len() {
            return None;
        }
        path.truncate(self.path.len());
        Some(Self { path, ..Self::for_host(destination)? })
    }

    /// The host it names, or the one above all that it names.
    pub const fn host(&self) -> &Host {
        &self.host
    }

    pub fn allows(&self, destination: &Destination) -> bool {
        self.allows_origin(destination.scheme, &destination.host, destination.port)
            && self.allows_path(&destination.path)
    }

    /// Whether some path of this origin is allowed.
    pub(super) fn allows_origin(&self, scheme: Scheme, host: &Host, port: u16) -> bool {
        self.names(host)
            && (scheme == Scheme::Https || self.plain_http)
            && port == self.port.unwrap_or(scheme.default_port())
    }

    pub(super) fn names(&self, host: &Host) -> bool {
        if self.subdomains { host.is_below(&self.host) } else { *host == self.host }
    }

    fn allows_path(&self, path: &str) -> bool {
        self.path.is_empty() || segments(path).is_some_and(|path| path.starts_with(&self.path))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.plain_http { "http://" } else { "" };
        let star = if self.subdomains { "*." } else { "" };
        write!(f, "{scheme}{star}{}", self.host)?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        self.path.iter().try_for_each(|segment| write!(f, "/{segment}"))
    }
}

#[cfg(test)]
#[path = "rule_tests.rs"]
mod tests;
