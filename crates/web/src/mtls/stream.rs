//! A connection that can be taken away from whoever holds it, also after it became a socket.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::roster::Entered;
use crate::connections::ConnectionPlace;

pub(super) struct Revocable<IO> {
    io: IO,
    taken: Pin<Box<WaitForCancellationFutureOwned>>,
    _entered: Entered,
    _place: ConnectionPlace,
}

impl<IO> Revocable<IO> {
    pub(super) fn new(io: IO, entered: Entered, place: ConnectionPlace) -> Self {
        let taken = Box::pin(entered.close().clone().cancelled_owned());
        Self { io, taken, _entered: entered, _place: place }
    }

    /// Whether it is taken away; if not, whoever polls is woken when it is.
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        match self.taken.as_mut().poll(cx) {
            Poll::Ready(()) => Err(io::ErrorKind::ConnectionAborted.into()),
            Poll::Pending => Ok(()),
        }
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Revocable<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Revocable<IO> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
