//! The line to the control plane over a socket: every call has a number, and its answer carries it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cloister_protocol::surface::{AnyCall, ConnectorFrame, FrameAnswer};
use cloister_protocol::{ErrorBody, ErrorCode};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::plane::Line;

type CallsUnderWay = HashMap<u64, oneshot::Sender<Result<Value, ErrorBody>>>;

/// Calls that are on their way, and where their answers go.
pub(crate) struct Socket {
    frames: mpsc::Sender<ConnectorFrame>,
    waiting: Mutex<CallsUnderWay>,
    last: AtomicU64,
}

/// A call that nobody waits for any more has no place.
struct Asked<'a> {
    socket: &'a Socket,
    id: u64,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.socket.waiting().remove(&self.id);
    }
}

impl Socket {
    pub(crate) fn new(frames: mpsc::Sender<ConnectorFrame>) -> Self {
        Self { frames, waiting: Mutex::default(), last: AtomicU64::new(0) }
    }

    fn waiting(&self) -> MutexGuard<'_, CallsUnderWay> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands an answer to who asked; one that comes too late is nobody's.
    pub(crate) fn answered(&self, answer: FrameAnswer) {
        let asked = self.waiting().remove(&answer.id);
        if let Some(asked) = asked {
            // Who asked may have given up in this moment.
            drop(asked.send(answer.into_result()));
        }
    }

    async fn ask(&self, call: AnyCall) -> Result<Value, ErrorBody> {
        let id = self.last.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let (give, take) = oneshot::channel();
        self.waiting().insert(id, give);
        let _asked = Asked { socket: self, id };
        self.frames.send(ConnectorFrame::Call { id, call: Box::new(call) }).await.map_err(gone)?;
        take.await.map_err(gone)?
    }
}

fn gone(_closed: impl std::error::Error) -> ErrorBody {
    let message = "the line to the control plane is closed".to_owned();
    ErrorBody { code: ErrorCode::ShuttingDown, message, fix: None, retry_after_s: None }
}

impl Line for Socket {
    fn call(&self, call: AnyCall) -> BoxFuture<'_, Result<Value, ErrorBody>> {
        self.ask(call).boxed()
    }
}
