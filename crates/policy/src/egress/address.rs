//! Which addresses are outside.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address that is not outside is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressClass {
    Metadata,
    Loopback,
    Private,
    SharedNat,
    LinkLocal,
    Multicast,
    Broadcast,
    Unspecified,
    Documentation,
    Reserved,
    UniqueLocal,
    /// IPv6 that carries an IPv4 address to somewhere else.
    Tunnel,
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Metadata => "the metadata service of a cloud",
            Self::Loopback => "a loopback address",
            Self::Private => "an address of a private network",
            Self::SharedNat => "an address behind a provider's NAT",
            Self::LinkLocal => "a link-local address",
            Self::Multicast => "a multicast address",
            Self::Broadcast => "a broadcast address",
            Self::Unspecified => "no address at all",
            Self::Documentation => "an address for documentation and tests",
            Self::Reserved => "a reserved address",
            Self::UniqueLocal => "a local IPv6 address",
            Self::Tunnel => "an IPv6 form of an IPv4 address",
        })
    }
}

/// Whether an address belongs to the public internet; if not, what it is.
pub fn address_is_public(address: IpAddr) -> Result<(), AddressClass> {
    let class = match address {
        IpAddr::V4(address) => class_v4(address),
        IpAddr::V6(address) => class_v6(address),
    };
    class.map_or(Ok(()), Err)
}

/// Reachable from inside of a cloud only, and not all of them in a range that is refused anyway.
const METADATA_V4: [Ipv4Addr; 3] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
];
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

fn class_v4(address: Ipv4Addr) -> Option<AddressClass> {
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        _ if METADATA_V4.contains(&address) => Some(AddressClass::Metadata),
        _ if address.is_unspecified() => Some(AddressClass::Unspecified),
        _ if address.is_broadcast() => Some(AddressClass::Broadcast),
        (0, ..) => Some(AddressClass::Reserved),
        (10, ..) | (172, 16..=31, _) | (192, 168, _) => Some(AddressClass::Private),
        (100, 64..=127, _) => Some(AddressClass::SharedNat),
        (127, ..) => Some(AddressClass::Loopback),
        (169, 254, _) => Some(AddressClass::LinkLocal),
        (192, 0, 2) | (198, 51, 100) | (203, 0, 113) | (198, 18..=19, _) => {
            Some(AddressClass::Documentation)
        }
        // Protocol assignments; the relays of 6to4.
        (192, 0, 0) | (192, 88, 99) => Some(AddressClass::Reserved),
        (224..=239, ..) => Some(AddressClass::Multicast),
        (240..=255, ..) => Some(AddressClass::Reserved),
        _ => None,
    }
}

fn class_v6(address: Ipv6Addr) -> Option<AddressClass> {
    let s = address.segments();
    match s {
        _ if address == METADATA_V6 => Some(AddressClass::Metadata),
        _ if address.is_unspecified() => Some(AddressClass::Unspecified),
        _ if address.is_loopback() => Some(AddressClass::Loopback),
        // IPv4-mapped, IPv4-compatible, IPv4-translated, NAT64, 6to4, Teredo: whatever they carry,
        // the name has an A record for it.
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => Some(AddressClass::Tunnel),
        [0x64, 0xff9b, ..] | [0x2002, ..] | [0x2001, 0, ..] => Some(AddressClass::Tunnel),
        [0xff00..=0xffff, ..] => Some(AddressClass::Multicast),
        [0xfe80..=0xfebf, ..] => Some(AddressClass::LinkLocal),
        // Site-local, which some machines still route.
        [0xfec0..=0xfeff, ..] | [0xfc00..=0xfdff, ..] => Some(AddressClass::UniqueLocal),
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] | [0x2001, 2, 0, ..] => {
            Some(AddressClass::Documentation)
        }
        // Protocol assignments (ORCHID, AS112, drones …).
        [0x2001, 0..=0x1ff, ..] => Some(AddressClass::Reserved),
        [0x2000..=0x3fff, ..] => None,
        _ => Some(AddressClass::Reserved),
    }
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
