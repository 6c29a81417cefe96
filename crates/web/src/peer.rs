//! Where a connection comes from.

use std::net::IpAddr;

use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use tokio::net::{TcpListener, UnixListener};

/// The other side of a request's connection; no address for who is on this machine's own socket.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub(crate) Option<IpAddr>);

impl Connected<IncomingStream<'_, TcpListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, TcpListener>) -> Self {
        Self(Some(stream.remote_addr().ip().to_canonical()))
    }
}

impl Connected<IncomingStream<'_, UnixListener>> for Peer {
    fn connect_info(_stream: IncomingStream<'_, UnixListener>) -> Self {
        Self(None)
    }
}
