//! Answers on their way in: counted, bounded, masked, made known, and passed on piece by piece.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Incoming};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use super::accounts::{OverBudget, Tally};
use super::known::AnswerContent;
use super::outlet::Outlet;
use super::pool::{Origin, OriginConnection};
use super::stopped::Denied;
use crate::secrets::Masker;

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
    pub(super) masker: Masker,
    pub(super) known: AnswerContent,
}

/// The connection that an answer comes from.
pub(super) struct Lease {
    pub(super) origin: Origin,
    pub(super) open: OriginConnection,
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
                Ok(None) => return this.end(Bytes::new()).await,
                Err(elapsed) => return Err(io::Error::other(elapsed)),
            };
            let Ok(data) = frame.into_data() else { continue };
            this.count(&data)?;
            let shown = this.masker.push(data);
            // At the end before the client sees it: its next request finds the connection free.
            if this.body.is_end_stream() {
                return this.end(shown).await;
            }
            if !shown.is_empty() {
                this.make_known(&shown).await?;
                return Ok(Some((shown, Some(this))));
            }
        }
    }

    /// The last piece, with what was held back; all of it is known before it is handed over.
    async fn end(mut self, shown: Bytes) -> io::Result<Option<(Bytes, Option<Self>)>> {
        let rest = self.masker.finish();
        let last = if rest.is_empty() { shown } else { Bytes::from([shown, rest].concat()) };
        self.make_known(&last).await?;
        let recorded = self.known.end(self.outlet.gate()).await;
        recorded.map_err(|failure| io::Error::other(failure.message))?;
        self.finish();
        Ok((!last.is_empty()).then_some((last, None)))
    }

    async fn make_known(&mut self, shown: &Bytes) -> io::Result<()> {
        let hits = self.masker.new_hits();
        if !hits.is_empty() {
            let place = format!("an answer of {}", self.tally.host);
            self.outlet.shelf().note(hits, &place).await;
        }
        let taken = self.known.take(self.outlet.gate(), shown).await;
        taken.map_err(|failure| io::Error::other(failure.message))
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
