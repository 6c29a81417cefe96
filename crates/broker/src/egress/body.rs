//! Bodies on their way: counted, bounded, and passed on piece by piece.

use std::io;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::SendRequest;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use super::accounts::{OverBudget, Tally};
use super::outlet::Outlet;
use super::pool::Origin;
use super::stopped::Denied;

/// Why the body of a request was cut, for whoever waits for the answer.
pub(super) type Cut = Arc<Mutex<Option<Denied>>>;

/// The body of a request, on its way out.
pub(super) struct Upload {
    body: Body,
    left: u64,
    limit: u64,
    tally: Arc<Tally>,
    cut: Cut,
}

impl Upload {
    pub(super) fn new(body: Body, limit: u64, tally: Arc<Tally>, cut: Cut) -> Self {
        Self { body, left: limit, limit, tally, cut }
    }

    fn count(&mut self, bytes: u64) -> Result<(), Denied> {
        let host = self.tally.host.as_str();
        self.left = self.left.checked_sub(bytes).ok_or_else(|| too_large(host, self.limit))?;
        self.tally.send(bytes).map_err(|over| over_budget(host, over))
    }
}

impl HttpBody for Upload {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(context));
        let Some(Ok(frame)) = frame else { return Poll::Ready(frame) };
        // Trailers end here, like all that is between us and the client.
        let Ok(data) = frame.into_data() else { return Poll::Ready(None) };
        let counted = self.count(u64::try_from(data.len()).unwrap_or(u64::MAX));
        Poll::Ready(Some(match counted {
            Ok(()) => Ok(Frame::data(data)),
            Err(denied) => {
                let error = io::Error::other(denied.message());
                *self.cut.lock().unwrap_or_else(PoisonError::into_inner) = Some(denied);
                Err(axum::Error::new(error))
            }
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

pub(super) fn too_large(host: &str, limit: u64) -> Denied {
    let reason = format!("a request has at most {limit} bytes");
    Denied::new("too_large", host, reason).status(axum::http::StatusCode::PAYLOAD_TOO_LARGE)
}

pub(super) fn over_budget(host: &str, over: OverBudget) -> Denied {
    let (kind, reason) = match over {
        OverBudget::Door(limit) => {
            ("door_bytes", format!("this task has sent all of its {limit} bytes"))
        }
        OverBudget::User(limit) => {
            ("user_bytes", format!("the {limit} bytes that may be sent in a day are used up"))
        }
    };
    let setting = if kind == "door_bytes" { "door_bytes" } else { "user_day_bytes" };
    Denied::new(kind, host, reason)
        .fix(format!("The operator can raise {setting} in [egress] of cloister.toml."))
}

/// The body of an answer, on its way in, with all that is given back when it is over.
pub(super) struct Download {
    pub(super) outlet: Arc<Outlet>,
    pub(super) body: Incoming,
    pub(super) left: u64,
    pub(super) deadline: Instant,
    pub(super) tally: Arc<Tally>,
    pub(super) lease: Lease,
    pub(super) permit: OwnedSemaphorePermit,
}

/// The connection that an answer comes from.
pub(super) struct Lease {
    pub(super) origin: Origin,
    pub(super) sender: SendRequest<Body>,
}

impl Download {
    pub(super) fn into_body(self) -> Body {
        if self.body.is_end_stream() {
            self.finish();
            return Body::empty();
        }
        Body::from_stream(stream::try_unfold(Some(self), Self::next))
    }

    async fn next(this: Option<Self>) -> io::Result<Option<(Bytes, Option<Self>)>> {
        let Some(mut this) = this else { return Ok(None) };
        loop {
            let until = this.deadline.min(Instant::now() + this.outlet.options().idle());
            let frame = match timeout_at(until, this.body.frame()).await {
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(error))) => return Err(io::Error::other(error)),
                Ok(None) => {
                    this.finish();
                    return Ok(None);
                }
                Err(elapsed) => return Err(io::Error::other(elapsed)),
            };
            let Ok(data) = frame.into_data() else { continue };
            this.count(&data)?;
            // At the end before the client sees it: its next request finds the connection free.
            if this.body.is_end_stream() {
                this.finish();
                return Ok(Some((data, None)));
            }
            return Ok(Some((data, Some(this))));
        }
    }

    fn count(&mut self, data: &Bytes) -> io::Result<()> {
        let length = u64::try_from(data.len()).unwrap_or(u64::MAX);
        self.tally.received.fetch_add(length, Ordering::Relaxed);
        let Some(left) = self.left.checked_sub(length) else {
            let limit = self.outlet.options().response_bytes;
            let denied = answer_too_large(self.tally.host.as_str(), limit);
            self.outlet.gate().note(&denied);
            return Err(io::Error::other(denied.message()));
        };
        self.left = left;
        Ok(())
    }

    /// The answer was read to its end: the connection can carry the next request.
    fn finish(self) {
        drop(self.permit);
        self.outlet.give_back(self.lease);
    }
}

pub(super) fn answer_too_large(host: &str, limit: u64) -> Denied {
    let reason = format!("its answer has more than {limit} bytes");
    Denied::new("answer_too_large", host, reason)
        .fix("The operator can raise response_bytes in [egress] of cloister.toml.")
}
