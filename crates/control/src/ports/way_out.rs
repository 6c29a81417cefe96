//! The port of the way out: how a connector reaches its platform. Whether it may is decided before.

use std::io;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

/// A connection to somewhere outside.
pub trait OutsideStream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> OutsideStream for T {}

/// Where a host may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// An operator named it: it may be beside us.
    Anywhere,
    /// On the public internet and nowhere else.
    Public,
}

pub trait WayOut: Send + Sync + 'static {
    /// Connects to a host, within a bounded time.
    fn dial<'a>(
        &'a self,
        host: &'a str,
        port: u16,
        where_it_may_be: Whereabouts,
    ) -> BoxFuture<'a, io::Result<Box<dyn OutsideStream>>>;
}
