//! The door: the one socket that leads out of the sandbox, and plain requests through it.
//!
//! Promises: a request has a connection of its own, a time limit and an answer of bounded size.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use cloister_protocol::{ErrorBody, ErrorEnvelope};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode, http};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Why there is no connection to the broker.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DialError {
    #[error("the door can't be reached ({0})")]
    Connect(io::Error),
    #[error("the door does not speak HTTP ({0})")]
    Handshake(hyper::Error),
    #[error("the door did not open within {} s", CONNECT_TIMEOUT.as_secs())]
    TimedOut,
}

/// Opens a connection that lives in `connection`.
pub(crate) async fn dial(
    door: &Path,
    connection: &mut JoinSet<()>,
) -> Result<http1::SendRequest<Full<Bytes>>, DialError> {
    let stream = match timeout(CONNECT_TIMEOUT, UnixStream::connect(door)).await {
        Ok(stream) => stream.map_err(DialError::Connect)?,
        Err(_elapsed) => return Err(DialError::TimedOut),
    };
    let (sender, driver) =
        http1::handshake(TokioIo::new(stream)).await.map_err(DialError::Handshake)?;
    // Its failure also shows on the request or the body, which is where it is told.
    connection.spawn(async move { driver.await.unwrap_or_default() });
    Ok(sender)
}

/// Why a request has no answer, in words for the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DoorError {
    #[error(transparent)]
    Dial(#[from] DialError),
    #[error("the request can't be written ({0})")]
    Request(#[from] http::Error),
    #[error("the connection to the broker broke ({0})")]
    Broke(Box<dyn std::error::Error + Send + Sync>),
    #[error("no answer within {} s", .0.as_secs())]
    Late(Duration),
    #[error("the answer has more than {0} bytes")]
    TooLarge(usize),
    #[error("the broker answered {0} without a reason")]
    Unexplained(StatusCode),
    #[error("{}", told(.0))]
    Refused(ErrorBody),
}

fn told(body: &ErrorBody) -> String {
    let fix = body.fix.as_deref().unwrap_or_default();
    format!("{} {fix}", body.message).trim_end().to_owned()
}

/// What came back: always a success.
#[derive(Debug)]
pub(crate) struct DoorAnswer {
    pub(crate) head: http::response::Parts,
    pub(crate) body: Bytes,
}

impl DoorAnswer {
    /// A header as text; empty when it is not there.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// How long an answer may take and how large it may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) time: Duration,
    pub(crate) bytes: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Door {
    path: PathBuf,
}

impl Door {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) async fn get(&self, path: &str, bounds: Bounds) -> Result<DoorAnswer, DoorError> {
        self.call(Method::GET, path, Bytes::new(), bounds).await
    }

    pub(crate) async fn post(
        &self,
        path: &str,
        body: &Value,
        bounds: Bounds,
    ) -> Result<DoorAnswer, DoorError> {
        self.call(Method::POST, path, Bytes::from(body.to_string()), bounds).await
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        bounds: Bounds,
    ) -> Result<DoorAnswer, DoorError> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, "cloister")
            .header(CONTENT_TYPE, "application/json")
            .body(Full::from(body))?;
        match timeout(bounds.time, self.send(request, bounds.bytes)).await {
            Ok(answered) => answered,
            Err(_elapsed) => Err(DoorError::Late(bounds.time)),
        }
    }

    async fn send(
        &self,
        request: Request<Full<Bytes>>,
        most: usize,
    ) -> Result<DoorAnswer, DoorError> {
        let mut connection = JoinSet::new();
        let mut sender = dial(&self.path, &mut connection).await?;
        let response =
            sender.send_request(request).await.map_err(|error| DoorError::Broke(error.into()))?;
        let (head, body) = response.into_parts();
        let body = match Limited::new(body, most).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => return Err(DoorError::TooLarge(most)),
            Err(error) => return Err(DoorError::Broke(error)),
        };
        if head.status.is_success() {
            return Ok(DoorAnswer { head, body });
        }
        match serde_json::from_slice::<ErrorEnvelope>(&body) {
            Ok(envelope) => Err(DoorError::Refused(envelope.error)),
            Err(_not_ours) => Err(DoorError::Unexplained(head.status)),
        }
    }
}
