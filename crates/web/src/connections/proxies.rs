//! Who a request comes from when a proxy brings it. Only proxies that the operator named are believed.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use axum::http::HeaderMap;
use serde::{Deserialize, Deserializer, de};

const FORWARDED_FOR: &str = "x-forwarded-for";
/// What is looked at of a chain of proxies.
const MOST_HOPS: usize = 32;

/// An address, or all that begin alike: `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// A proxy beside us.
    pub(crate) fn this_machine() -> Vec<Self> {
        let v4 = Self { address: IpAddr::V4(Ipv4Addr::new(127, 0, 0, 0)), prefix: 8 };
        vec![v4, Self { address: IpAddr::V6(Ipv6Addr::LOCALHOST), prefix: 128 }]
    }

    fn has(&self, address: IpAddr) -> bool {
        let shift = |bits: u8| u32::from(bits.saturating_sub(self.prefix));
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differ = own.to_bits() ^ other.to_bits();
                differ.checked_shr(shift(32)).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differ = own.to_bits() ^ other.to_bits();
                differ.checked_shr(shift(128)).unwrap_or(0) == 0
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0:?} is no address and no network such as 10.0.0.0/8")]
pub struct NoNetwork(String);

impl FromStr for Network {
    type Err = NoNetwork;

    fn from_str(text: &str) -> Result<Self, NoNetwork> {
        let wrong = || NoNetwork(text.to_owned());
        let (address, prefix) = text.split_once('/').map_or((text, None), |(a, p)| (a, Some(p)));
        let address: IpAddr = address.parse().map_err(|_no_address| wrong())?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            Some(prefix) => {
                prefix.parse().ok().filter(|prefix| *prefix <= bits).ok_or_else(wrong)?
            }
            None => bits,
        };
        Ok(Self { address, prefix })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// Who a request comes from: the other side of the connection, or whom the trusted proxies there say they
/// brought it for. Each proxy adds whom it heard it from at the end.
pub(crate) fn comes_from(
    peer: Option<IpAddr>,
    headers: &HeaderMap,
    trusted: &[Network],
) -> Option<IpAddr> {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.has(address));
    let mut from = peer?;
    let lines = headers.get_all(FORWARDED_FOR).iter();
    let said: Vec<&str> =
        lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(',')).collect();
    for hop in said.into_iter().rev().take(MOST_HOPS) {
        if !is_trusted(from) {
            break;
        }
        let Ok(hop) = hop.trim().parse::<IpAddr>() else { break };
        from = hop.to_canonical();
    }
    Some(from)
}

#[cfg(test)]
#[path = "proxies_tests.rs"]
mod tests;
