//! How every connection is taken, from whichever socket.

use axum::serve::Listener;
use cloister_protocol::with_causes;
use tokio::net::{TcpStream, UnixStream};

/// A connection that carries turns: what is written leaves at once.
pub trait Prompt {
    /// Asks the kernel not to hold small writes back.
    fn make_prompt(&self);
}

impl Prompt for TcpStream {
    /// An answer is written in pieces. Held back until the one before is acknowledged, every turn of a client that
    /// acknowledges late, as all do, lasts 40 ms longer.
    fn make_prompt(&self) {
        if let Err(error) = self.set_nodelay(true) {
            tracing::debug!(error = with_causes(&error), "a connection ended before it was served");
        }
    }
}

impl Prompt for UnixStream {
    /// Nothing is held back there.
    fn make_prompt(&self) {}
}

/// The next connection.
pub(crate) async fn accept<L>(listener: &mut L) -> (L::Io, L::Addr)
where
    L: Listener,
    L::Io: Prompt,
{
    let (stream, address) = listener.accept().await;
    stream.make_prompt();
    (stream, address)
}
