//! Connections of one door that wait for their next request.

use std::collections::HashMap;
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

#[derive(Default)]
pub(super) struct Pool {
    idle: Mutex<HashMap<Origin, Vec<Idle>>>,
}

struct Idle {
    sender: SendRequest<Body>,
    since: Instant,
}

impl Pool {
    /// A connection that can carry a request at once.
    pub(super) async fn take(&self, origin: &Origin) -> Option<SendRequest<Body>> {
        while let Some(mut sender) = self.pop(origin) {
            // The end of its last answer was read; that it is ready follows within a moment, or never.
            if let Ok(Ok(())) = timeout(READY, sender.ready()).await {
                return Some(sender);
            }
        }
        None
    }

    fn pop(&self, origin: &Origin) -> Option<SendRequest<Body>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = idle.get_mut(origin)?;
        let mut found = None;
        while let Some(candidate) = waiting.pop() {
            if candidate.since.elapsed() < MAX_IDLE && !candidate.sender.is_closed() {
                found = Some(candidate.sender);
                break;
            }
        }
        if waiting.is_empty() {
            idle.remove(origin);
        }
        found
    }

    pub(super) fn put(&self, origin: Origin, sender: SendRequest<Body>) {
        if sender.is_closed() {
            return;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.values().map(Vec::len).sum::<usize>() >= ALL {
            idle.clear();
        }
        let waiting = idle.entry(origin).or_default();
        if waiting.len() < PER_ORIGIN {
            waiting.push(Idle { sender, since: Instant::now() });
        }
    }
}
