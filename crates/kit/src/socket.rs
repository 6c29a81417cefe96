//! The line to the control plane over a socket.

use cloister_protocol::surface::{AnyCall, ConnectorFrame, FrameAnswer};
use cloister_protocol::{ErrorBody, ErrorCode};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::plane::Line;
use crate::under_way::UnderWay;

pub(crate) struct Socket {
    frames: mpsc::Sender<ConnectorFrame>,
    calls: UnderWay,
}

impl Socket {
    pub(crate) fn new(frames: mpsc::Sender<ConnectorFrame>) -> Self {
        Self { frames, calls: UnderWay::default() }
    }

    pub(crate) fn answered(&self, answer: FrameAnswer) {
        self.calls.answered(answer);
    }

    async fn ask(&self, call: AnyCall) -> Result<Value, ErrorBody> {
        let call = Box::new(call);
        let send =
            |id| async move { self.frames.send(ConnectorFrame::Call { id, call }).await.is_ok() };
        self.calls.ask(send).await.unwrap_or_else(|_closed| {
            let message = "the line to the control plane is closed".to_owned();
            let code = ErrorCode::ShuttingDown;
            Err(ErrorBody { code, message, fix: None, retry_after_s: None })
        })
    }
}

impl Line for Socket {
    fn call(&self, call: AnyCall) -> BoxFuture<'_, Result<Value, ErrorBody>> {
        self.ask(call).boxed()
    }
}
