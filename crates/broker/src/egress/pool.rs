//! Connections of one door that wait for their next request.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use cloister_policy::egress::{Destination, Host, Scheme};
use hyper::client::conn::http1::SendRequest;
use tokio::time::{Instant, timeout};

const PER_ORIGIN: usize = 8;
const ALL: usize = 64;
const MAX_IDLE: Duration = Duration::from_secs(20);
const READY: Duration = Duration::from_millis(100);

/// Whom a connection speaks to. One of another origin is never used, whatever its certificate says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Origin {
    scheme: Scheme,
    host: Host,
    port: u16,
}

impl From<&Destination> for Origin {
    fn from(to: &Destination) -> Self {
        Self { scheme: to.scheme, host: to.host.clone(), port: to.port }
    }
}

/// A connection, and where its other end is.
pub(super) struct OriginConnection {
    pub(super) sender: SendRequest<Body>,
    pub(super) at: IpAddr,
}

#[derive(Default)]
pub(super) struct Pool {
    idle: Mutex<HashMap<Origin, Vec<Idle>>>,
}

struct Idle {
    sender: SendRequest<Body>,
    /// Where the other end is.
    at: IpAddr,
    since: Instant,
}

impl Pool {
    /// A connection that can carry a request at once; to one of these addresses, where a person has
    /// decided on them.
    pub(super) async fn take(
        &self,
        origin: &Origin,
        only: Option<&[IpAddr]>,
    ) -> Option<OriginConnection> {
        while let Some(mut open) = self.pop(origin, only) {
            // The end of its last answer was read; that it is ready follows within a moment, or never.
            if let Ok(Ok(())) = timeout(READY, open.sender.ready()).await {
                return Some(open);
            }
        }
        None
    }

    fn pop(&self, origin: &Origin, only: Option<&[IpAddr]>) -> Option<OriginConnection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = idle.get_mut(origin)?;
        let mut found = None;
        waiting.retain(|idle| idle.since.elapsed() < MAX_IDLE && !idle.sender.is_closed());
        let fits = |idle: &Idle| only.is_none_or(|only| only.contains(&idle.at));
        if let Some(place) = waiting.iter().rposition(fits) {
            let Idle { sender, at, .. } = waiting.remove(place);
            found = Some(OriginConnection { sender, at });
        }
        if waiting.is_empty() {
            idle.remove(origin);
        }
        found
    }

    pub(super) fn put(&self, origin: Origin, open: OriginConnection) {
        let OriginConnection { sender, at } = open;
        if sender.is_closed() {
            return;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.values().map(Vec::len).sum::<usize>() >= ALL {
            idle.clear();
        }
        let waiting = idle.entry(origin).or_default();
        if waiting.len() < PER_ORIGIN {
            waiting.push(Idle { sender, at, since: Instant::now() });
        }
    }
}
