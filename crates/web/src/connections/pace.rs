//! How long the other side may keep us waiting: bodies that come in drops, answers that nobody reads.
//!
//! Only the time in which we wait counts, so that who sends a large file over a slow line, to a disk that is slow,
//! gets through as long as something moves.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use super::places::ConnectionPlace;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// The longest wait for the next byte.
    pub(crate) stall: Duration,
    /// The wait in all before the rate counts.
    pub(crate) grace: Duration,
    pub(crate) least_per_s: u64,
    /// The wait in all, at whatever rate.
    pub(crate) most: Duration,
}

/// What was waited for so far.
struct Waiting {
    pace: Pace,
    bytes: u64,
    waited: Duration,
    since: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl Waiting {
    const fn new(pace: Pace) -> Self {
        Self { pace, bytes: 0, waited: Duration::ZERO, since: None }
    }

    /// Something moved.
    fn moved(&mut self, bytes: usize) {
        if let Some((since, _)) = self.since.take() {
            self.waited = self.waited.saturating_add(since.elapsed());
        }
        self.bytes = self.bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
    }

    /// Nothing moves: ready once that is too long.
    fn stands(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let left = self.left();
        let (_, timer) = self.since.get_or_insert_with(|| {
            let now = Instant::now();
            (now, Box::pin(sleep_until(now + left)))
        });
        timer.as_mut().poll(cx)
    }

    /// The longest wait from here.
    fn left(&self) -> Duration {
        let earned = Duration::from_secs(self.bytes / self.pace.least_per_s);
        let by_rate = self.pace.grace.saturating_add(earned);
        by_rate.min(self.pace.most).saturating_sub(self.waited).min(self.pace.stall)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the body came too slowly")]
struct TooSlow;

/// A request's body that must move.
pub(crate) struct Paced<B = Incoming> {
    body: B,
    waiting: Waiting,
    given_up: bool,
}

impl<B> Paced<B> {
    pub(crate) const fn new(body: B, pace: Pace) -> Self {
        Self { body, waiting: Waiting::new(pace), given_up: false }
    }
}

impl<B> Body for Paced<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<axum::BoxError>,
{
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.given_up {
            return Poll::Ready(None);
        }
        let own = &mut *self;
        if let Poll::Ready(next) = Pin::new(&mut own.body).poll_frame(cx) {
            let bytes = match &next {
                Some(Ok(frame)) => frame.data_ref().map_or(0, Bytes::len),
                Some(Err(_)) | None => 0,
            };
            own.waiting.moved(bytes);
            return Poll::Ready(next.map(|frame| frame.map_err(Into::into)));
        }
        ready!(own.waiting.stands(cx));
        own.given_up = true;
        Poll::Ready(Some(Err(TooSlow.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.given_up || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A connection whose other side must read what it is sent; with its place, which it keeps also as a socket.
pub(crate) struct Held<IO> {
    io: IO,
    writing: Waiting,
    _place: Option<ConnectionPlace>,
}

impl<IO> Held<IO> {
    pub(crate) const fn new(io: IO, pace: Pace, place: Option<ConnectionPlace>) -> Self {
        Self { io, writing: Waiting::new(pace), _place: place }
    }

    fn moved_or_late<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
        bytes: impl Fn(&T) -> usize,
    ) -> Poll<io::Result<T>> {
        match polled {
            Poll::Ready(done) => {
                self.writing.moved(done.as_ref().map_or(0, bytes));
                Poll::Ready(done)
            }
            Poll::Pending => {
                ready!(self.writing.stands(cx));
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Held<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Held<IO> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write(cx, buf);
        self.moved_or_late(cx, polled, |written| *written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        self.moved_or_late(cx, polled, |written| *written)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.io).poll_flush(cx);
        self.moved_or_late(cx, polled, |()| 0)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.io).poll_shutdown(cx);
        self.moved_or_late(cx, polled, |()| 0)
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
