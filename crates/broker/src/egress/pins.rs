//! The hosts that the operator placed: `[egress.hosts]`. An entry is for one port of one host, or for its usual two,
//! and may be for some workspaces only; nothing else of the machine behind it is opened.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use cloister_policy::egress::{AddressClass, Destination, Host, Scheme, address_is_public};
use cloister_protocol::WorkspaceId;
use serde::Deserialize;

/// What an entry says: where the host is, and for whom.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Placed {
    At(IpAddr),
    For(PlacedFor),
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlacedFor {
    pub address: IpAddr,
    /// `["w1", "w3"]`: for the tasks of these alone.
    pub workspaces: BTreeSet<WorkspaceId>,
}

/// A host of the configuration that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum PinnedHostError {
    #[error(
        "[egress.hosts]: {name:?} is not HOST, HOST:PORT, http://HOST:PORT or https://HOST:PORT: {reason}"
    )]
    Name { name: String, reason: String },
    #[error("[egress.hosts]: {name} must not be at {address}, which is {class}")]
    Address { name: String, address: IpAddr, class: AddressClass },
    #[error("[egress.hosts]: {name} says a second time where {host} is")]
    Twice { name: String, host: String },
}

#[derive(Debug)]
struct Pin {
    address: IpAddr,
    /// None: for all.
    workspaces: Option<BTreeSet<WorkspaceId>>,
}

/// All entries, by what exactly they open.
#[derive(Debug, Default)]
pub(super) struct Pins(HashMap<(Host, Scheme, u16), Pin>);

impl Pins {
    pub(super) fn new(hosts: &BTreeMap<String, Placed>) -> Result<Self, PinnedHostError> {
        let mut pins = Self::default();
        for (name, placed) in hosts {
            pins.add(name, placed)?;
        }
        Ok(pins)
    }

    fn add(&mut self, name: &str, placed: &Placed) -> Result<(), PinnedHostError> {
        let (address, workspaces) = match placed {
            Placed::At(address) => (*address, None),
            Placed::For(PlacedFor { address, workspaces }) => (*address, Some(workspaces.clone())),
        };
        check(name, address)?;
        for opened in opened(name)? {
            let host = opened.0.to_string();
            let pin = Pin { address, workspaces: workspaces.clone() };
            if self.0.insert(opened, pin).is_some() {
                return Err(PinnedHostError::Twice { name: name.to_owned(), host });
            }
        }
        Ok(())
    }

    /// Where the operator says that this is, for tasks of this workspace.
    pub(super) fn address(&self, to: &Destination, workspace: WorkspaceId) -> Option<IpAddr> {
        let pin = self.0.get(&(to.host.clone(), to.scheme, to.port))?;
        let for_them = pin.workspaces.as_ref().is_none_or(|some| some.contains(&workspace));
        for_them.then_some(pin.address)
    }
}

/// What an entry's name opens: without a port the usual ones, without a scheme both.
fn opened(name: &str) -> Result<Vec<(Host, Scheme, u16)>, PinnedHostError> {
    let wrong = |reason: String| PinnedHostError::Name { name: name.to_owned(), reason };
    let (schemes, rest) = match name.split_once("://") {
        None => (vec![Scheme::Http, Scheme::Https], name),
        Some(("http", rest)) => (vec![Scheme::Http], rest),
        Some(("https", rest)) => (vec![Scheme::Https], rest),
        Some((other, _)) => return Err(wrong(format!("{other} is not spoken"))),
    };
    let (host, port) = match rest.rsplit_once(':') {
        None => (rest, None),
        Some((host, port)) => {
            let port = port.parse::<u16>().ok().filter(|port| *port != 0);
            (host, Some(port.ok_or_else(|| wrong("its port is none".to_owned()))?))
        }
    };
    let host: Host = host
        .parse()
        .map_err(|error: cloister_policy::egress::HostError| wrong(error.to_string()))?;
    let ports = |scheme: Scheme| (host.clone(), scheme, port.unwrap_or(scheme.default_port()));
    Ok(schemes.into_iter().map(ports).collect())
}

/// What the operator says is believed, within reason: no address that is never a server's.
fn check(name: &str, address: IpAddr) -> Result<(), PinnedHostError> {
    match address_is_public(address) {
        Ok(())
        | Err(
            AddressClass::Loopback
            | AddressClass::Private
            | AddressClass::SharedNat
            | AddressClass::UniqueLocal,
        ) => Ok(()),
        Err(class) => Err(PinnedHostError::Address { name: name.to_owned(), address, class }),
    }
}

#[cfg(test)]
#[path = "pins_tests.rs"]
mod tests;
