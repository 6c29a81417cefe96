//! Where a connection comes from.

use std::net::{IpAddr, SocketAddr};

/// The other side of a request's connection; no address for who is on this machine's own socket.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub(crate) Option<IpAddr>);

impl From<SocketAddr> for Peer {
    fn from(address: SocketAddr) -> Self {
        Self(Some(address.ip().to_canonical()))
    }
}

impl From<tokio::net::unix::SocketAddr> for Peer {
    fn from(_address: tokio::net::unix::SocketAddr) -> Self {
        Self(None)
    }
}
