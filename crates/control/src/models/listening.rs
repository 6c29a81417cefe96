//! What listens on this machine, as the system lists it: who runs a server with models need not know its port.

use std::collections::BTreeSet;

const LISTS: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];
/// The state of a socket that waits for connections.
const LISTENING: &str = "0A";

/// Where servers can be reached from this machine itself, as `host:port`. Nothing where the system has no such list.
pub(super) async fn addresses() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for list in LISTS {
        let text = tokio::fs::read_to_string(list).await.unwrap_or_default();
        found.extend(listed(&text));
    }
    found
}

fn listed(list: &str) -> impl Iterator<Item = String> {
    list.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (address, port) = fields.next()?.split_once(':')?;
        let port = u16::from_str_radix(port, 16).ok()?;
        let host = host(address)?;
        (fields.nth(1)? == LISTENING).then(|| format!("{host}:{port}"))
    })
}

/// The loopback, or all addresses, of which it is one. Words of 32 bits as this machine has them in its memory.
fn host(address: &str) -> Option<&'static str> {
    let words = address.as_bytes().chunks(8);
    let word = |word: &[u8]| u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok();
    let words: Vec<u32> = words.map(word).collect::<Option<_>>()?;
    match words.as_slice() {
        [only] if *only == 0 || only.to_ne_bytes() == [127, 0, 0, 1] => Some("127.0.0.1"),
        [0, 0, 0, 0] => Some("127.0.0.1"),
        [0, 0, 0, last] if last.to_ne_bytes() == [0, 0, 0, 1] => Some("[::1]"),
        _ => None,
    }
}

#[cfg(test)]
#[path = "listening_tests.rs"]
mod tests;
