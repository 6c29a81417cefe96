//! The connection that a call goes over: kept for the next one, which in a conversation comes soon.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

/// How long one is kept: less than the door waits for a request.
const KEEP: Duration = Duration::from_secs(10);
/// How long the end of the answer before may still take.
const END: Duration = Duration::from_millis(5);

pub(super) struct DoorConnection {
    pub(super) sender: SendRequest<Full<Bytes>>,
    /// It ends with this.
    pub(super) _driver: JoinSet<()>,
}

/// A connection whose last answer may not have been read to the end of its body.
struct IdleConnection {
    connection: DoorConnection,
    rest: Incoming,
    since: Instant,
}

/// The connection of the call before, if it can be used again.
#[derive(Clone, Default)]
pub(super) struct KeptConnection(Arc<Mutex<Option<IdleConnection>>>);

impl KeptConnection {
    pub(super) fn put(&self, connection: DoorConnection, rest: Incoming) {
        let idle = IdleConnection { connection, rest, since: Instant::now() };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(idle);
    }

    pub(super) async fn take(&self) -> Option<DoorConnection> {
        let idle = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let IdleConnection { mut connection, mut rest, since } = idle?;
        if since.elapsed() > KEEP {
            return None;
        }
        let ready = async {
            while let Some(Ok(_)) = rest.frame().await {}
            connection.sender.ready().await.is_ok()
        };
        timeout(END, ready).await.unwrap_or(false).then_some(connection)
    }
}
