//! Where a link that somebody not trusted wrote leads, in the one spelling that people can compare.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::egress::Host;
use crate::gate::{Reading, visible};
use crate::legible::is_hidden;

const MAX_BYTES: usize = 4096;

/// Where a link leads: to a host on the web, in its one spelling, or to a mail address. None for
/// anything else, and for what a program might read in another way than a person.
pub fn link_place(target: &str) -> Option<String> {
    if target.len() > MAX_BYTES || target.chars().any(is_hidden) {
        return None;
    }
    let (scheme, rest) = target.split_once(':')?;
    if scheme.eq_ignore_ascii_case("mailto") {
        let address = rest.split('?').next().filter(|address| !address.is_empty())?;
        return Some(visible(address, Reading::Machine));
    }
    if !["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web)) {
        return None;
    }
    let rest = rest.strip_prefix("//")?;
    let authority = rest.split(['/', '\\', '?', '#']).next()?;
    // A name in front of the host serves only to be taken for it.
    if authority.contains('@') {
        return None;
    }
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            (host, format!(":{}", port.parse::<u16>().ok()?))
        }
        Some(_) | None => (authority, String::new()),
    };
    let host = match host.parse::<Host>() {
        Ok(name) => name.to_string(),
        Err(_not_a_name) => literal(host)?,
    };
    Some(format!("{host}{port}"))
}

/// An address as a host, in its usual spelling.
fn literal(host: &str) -> Option<String> {
    match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(inner) => inner.parse::<Ipv6Addr>().ok().map(|address| format!("[{address}]")),
        None => host.parse::<Ipv4Addr>().ok().map(|address| address.to_string()),
    }
}

#[cfg(test)]
#[path = "links_tests.rs"]
mod tests;
