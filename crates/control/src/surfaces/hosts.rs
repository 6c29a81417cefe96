//! Which hosts a connector may reach: the servers of its accounts, its platform's own, and, while an operator adds
//! an account and where its program declares that, what that account's server refers to.

use cloister_protocol::admin::AddConnector;
use cloister_store::connectors::Connector;

use crate::ports::Whereabouts;

const HTTPS: u16 = 443;
/// Where a server answers that another one refers to.
const REFERRED_PORTS: [u16; 2] = [HTTPS, 8448];
/// What a program declares on whose platform the server of an account says where it is: with nothing but a name, that
/// may be anywhere.
const REFERRED: &str = "*";

/// Host and port that a text names: an address, or a server's name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Named {
    host: String,
    port: u16,
}

fn named(text: &str) -> Option<Named> {
    let (usual, rest) = match text.trim().split_once("://") {
        Some(("https" | "wss", rest)) => (HTTPS, rest),
        Some(("http" | "ws", rest)) => (80, rest),
        Some(_) => return None,
        None => (HTTPS, text.trim()),
    };
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let authority = authority.rsplit('@').next()?;
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
        _ => (authority, usual),
    };
    let host = host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
    (!host.is_empty()).then_some(Named { host, port })
}

/// Host and port of an account's server; none: its address names none.
pub(super) fn of_address(address: &str) -> Option<(String, u16)> {
    address.contains("://").then(|| named(address)).flatten().map(|at| (at.host, at.port))
}

/// What an operator wrote of the account that is being added.
fn typed(new: &AddConnector) -> impl Iterator<Item = Named> {
    let server = new.account.split_once(':').map(|(_, server)| server);
    let texts = [Some(new.address.as_str()), server, new.gateway.as_deref()];
    texts.into_iter().flatten().filter_map(named)
}

/// Whether a platform's host, as a connector's program declares it, is this one.
fn is_declared(declared: &str, host: &str, port: u16) -> bool {
    if let Some(domain) = declared.strip_prefix("*.") {
        let above = host.strip_suffix(domain).and_then(|rest| rest.strip_suffix('.'));
        return port == HTTPS && above.is_some_and(|name| !name.is_empty());
    }
    named(declared) == Some(Named { host: host.to_owned(), port })
}

/// Where a host may be that a connector asks for; none: it may not be reached.
pub(super) fn reachable(
    (host, port): (&str, u16),
    accounts: &[Connector],
    adding: Option<&AddConnector>,
    declared: &[String],
) -> Option<Whereabouts> {
    let host = host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
    let wanted = Named { host, port };
    let server = |account: &Connector| {
        let gateway = account.settings.get("gateway_url").and_then(|url| url.as_str());
        [Some(account.address.as_str()), gateway]
            .into_iter()
            .flatten()
            .any(|at| named(at).as_ref() == Some(&wanted))
    };
    if accounts.iter().any(server) || adding.is_some_and(|new| typed(new).any(|at| at == wanted)) {
        return Some(Whereabouts::Anywhere);
    }
    let is_own = declared.iter().any(|declared| is_declared(declared, &wanted.host, port));
    let refers = declared.iter().any(|declared| declared == REFERRED);
    let referred_to = refers && adding.is_some() && REFERRED_PORTS.contains(&port);
    (is_own || referred_to).then_some(Whereabouts::Public)
}

#[cfg(test)]
#[path = "hosts_tests.rs"]
mod tests;
