//! What a request asks for: scheme, host, port and path.

use std::fmt;
use std::str::FromStr;

use super::host::{Host, HostError};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// `host` or `host:port`, as in a `Host` header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    pub host: Host,
    pub port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthorityError {
    #[error(transparent)]
    Host(#[from] HostError),
    #[error("the port is not a number from 1 to 65535")]
    Port,
    #[error("a name and a password before the host (user@host) are not taken")]
    UserInfo,
}

impl FromStr for Authority {
    type Err = AuthorityError;

    fn from_str(text: &str) -> Result<Self, AuthorityError> {
        if text.contains('@') {
            return Err(AuthorityError::UserInfo);
        }
        if text.starts_with('[') {
            return Err(HostError::AddressLiteral.into());
        }
        let (host, port) = match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        };
        // More colons are no port; as a host they are an IPv6 address, or nothing.
        let host = if port.is_some_and(|port| port.contains(':')) { text } else { host };
        let host: Host = host.parse()?;
        let port = port.map(parse_port).transpose()?;
        Ok(Self { host, port })
    }
}

pub(super) fn parse_port(text: &str) -> Result<u16, AuthorityError> {
    // `parse` alone would take a sign.
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let port = if digits { text.parse().unwrap_or(0) } else { 0 };
    if port == 0 { Err(AuthorityError::Port) } else { Ok(port) }
}

/// Where one request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    pub scheme: Scheme,
    pub host: Host,
    pub port: u16,
    /// As it will be sent, without the query.
    pub path: String,
}

impl Destination {
    /// The host, and the port where it is not the usual one.
    pub fn authority(&self) -> String {
        if self.port == self.scheme.default_port() {
            self.host.to_string()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}
