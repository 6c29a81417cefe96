//! The name of a machine outside, in its one spelling.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use idna::AsciiDenyList;

const MAX_BYTES: usize = 253;
const MAX_LABEL_BYTES: usize = 63;

/// Endings of names that mean something inside of somebody's network, never outside.
const LOCAL_ENDINGS: &[&str] = &[
    "arpa",
    "corp",
    "home",
    "internal",
    "intranet",
    "invalid",
    "lan",
    "local",
    "localdomain",
    "localhost",
    "onion",
    "private",
];

/// A host name: lower-case ASCII (international names in punycode), whole labels, no address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    #[error("no host is named")]
    Empty,
    #[error("a host name has at most {MAX_BYTES} bytes")]
    TooLong,
    #[error("a part of a host name has at most {MAX_LABEL_BYTES} bytes")]
    LabelTooLong,
    #[error("a host name has no empty parts")]
    EmptyLabel,
    #[error("a host name does not end with a dot here")]
    TrailingDot,
    #[error("a part of a host name neither starts nor ends with a hyphen")]
    Hyphen,
    #[error("a host name has no {0:?}")]
    Forbidden(char),
    #[error("the international name can't be written in ASCII")]
    NotAName,
    #[error("it is an address, and only names can be allowed")]
    AddressLiteral,
}

impl Host {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Without `www.`: a person means both, and one and the same server hears what is asked of either.
    pub fn bare(&self) -> &str {
        self.0.strip_prefix("www.").unwrap_or(&self.0)
    }

    /// The name without `www.`, as one that choices are counted under.
    #[must_use]
    pub fn to_bare(&self) -> Self {
        Self(self.bare().to_owned())
    }

    /// Whether this is a name below `parent`, and not `parent` itself.
    pub fn is_below(&self, parent: &Self) -> bool {
        self.0.strip_suffix(&parent.0).is_some_and(|below| below.ends_with('.'))
    }

    /// Whether the name has a meaning inside of a network only (`localhost`, `db`, `x.internal`).
    pub fn is_local(&self) -> bool {
        self.0.rsplit_once('.').is_none_or(|(_, ending)| LOCAL_ENDINGS.contains(&ending))
    }

    /// Whether unrelated people get names below this one (`com`, `co.uk`, `github.io`).
    pub fn is_public_suffix(&self) -> bool {
        psl::domain(self.0.as_bytes()).is_none()
    }
}

impl FromStr for Host {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        if text.is_empty() {
            return Err(HostError::Empty);
        }
        if text.starts_with('[') || text.parse::<Ipv6Addr>().is_ok() {
            return Err(HostError::AddressLiteral);
        }
        // Before the mapping to ASCII, which leaves some characters out and replaces others.
        if let Some(bad) = text.chars().find(|c| !may_be_in_a_name(*c)) {
            return Err(HostError::Forbidden(bad));
        }
        let ascii = idna::domain_to_ascii_cow(text.as_bytes(), AsciiDenyList::URL)
            .or(Err(HostError::NotAName))?;
        check(&ascii)?;
        Ok(Self(ascii.into_owned()))
    }
}

fn may_be_in_a_name(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
    } else {
        !c.is_control() && !c.is_whitespace()
    }
}

fn check(name: &str) -> Result<(), HostError> {
    if name.is_empty() {
        return Err(HostError::Empty);
    }
    if name.len() > MAX_BYTES {
        return Err(HostError::TooLong);
    }
    if name.ends_with('.') {
        return Err(HostError::TrailingDot);
    }
    for label in name.split('.') {
        if label.is_empty() {
            return Err(HostError::EmptyLabel);
        }
        if label.len() > MAX_LABEL_BYTES {
            return Err(HostError::LabelTooLong);
        }
        if label.starts_with('-') || label.ends_with('-') {
            return Err(HostError::Hyphen);
        }
        let allowed =
            |c: &char| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-' || *c == '_';
        if let Some(bad) = label.chars().find(|c| !allowed(c)) {
            return Err(HostError::Forbidden(bad));
        }
    }
    if name.rsplit('.').next().is_some_and(is_number) {
        return Err(HostError::AddressLiteral);
    }
    Ok(())
}

/// A name that ends in a number is an IPv4 address in one of its many spellings (`127.1`, `0x7f.1`,
/// `2130706433`), or nothing.
fn is_number(label: &str) -> bool {
    let hex = label.strip_prefix("0x");
    label.bytes().all(|b| b.is_ascii_digit())
        || hex.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
