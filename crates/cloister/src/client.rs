//! The admin API's client: over the line to a running control plane, here or on another machine, or
//! in-process when none runs.

use std::io::ErrorKind as Kind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use cloister_control::ports::Check;
use cloister_protocol::{ErrorCode, ErrorEnvelope, UserName, with_causes};
use http_body_util::BodyExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tower::ServiceExt;

pub(crate) use crate::line::{connect, listen, socket_path};

use crate::commands::doctor_kept;
use crate::line::Line;
use crate::output::{CliError, UNAVAILABLE};
use crate::remote::Machine;
use crate::wiring::{self, Built};

/// The longest a command waits for an answer.
const PATIENCE: Duration = Duration::from_secs(120);

pub enum Client {
    /// The control plane runs, at the end of this line.
    Running(Line),
    /// It does not; this process holds the data directory meanwhile.
    Local { router: Router, _built: Box<Built> },
}

/// That no control plane runs, and why it would not start either where that can be seen.
async fn does_not_run(data: &Path) -> CliError {
    let message = format!("no control plane runs on {}", data.display());
    let (message, fix) = match doctor_kept::trouble(data).await {
        Some(Check { found, fix: Some(fix), .. }) => (format!("{message}, and {found}"), fix),
        _ => (message, "start it with `cloister up` (and the same --data)".to_owned()),
    };
    CliError::new(ErrorCode::NotFound, message).fix(fix).exit(UNAVAILABLE)
}

impl Client {
    pub(crate) async fn new(data: &Path) -> Result<Self, CliError> {
        let socket = socket_path(data);
        if connect(&socket).await.is_ok() {
            return Ok(Self::Running(Line::Socket(socket)));
        }
        let built = wiring::build(data).await?;
        let router = cloister_web::admin_router(
            built.control.clone(),
            built.upstream.clone(),
            built.remote.clone(),
            built.surfaces.clone(),
        );
        Ok(Self::Local { router, _built: Box::new(built) })
    }

    /// Only a running control plane will do.
    pub async fn running(data: &Path) -> Result<Self, CliError> {
        let socket = socket_path(data);
        match connect(&socket).await {
            Ok(_) => Ok(Self::Running(Line::Socket(socket))),
            // It is there, and too busy or not ours to talk to.
            Err(error) if matches!(error.kind(), Kind::WouldBlock | Kind::PermissionDenied) => {
                let failed = format!("the control plane on {} was not reached", data.display());
                Err(CliError::io(failed)(error).exit(UNAVAILABLE))
            }
            Err(_nobody_there) => Err(does_not_run(data).await),
        }
    }

    /// The control plane of another machine.
    pub fn remote(machine: Arc<Machine>) -> Self {
        Self::Running(Line::Machine(machine))
    }

    /// The line to the control plane that runs.
    pub(crate) fn line(&self) -> Option<&Line> {
        match self {
            Self::Running(line) => Some(line),
            Self::Local { .. } => None,
        }
    }

    /// Whether it takes messages: it has started and is not stopping.
    pub(crate) async fn is_ready(&self) -> bool {
        let request = Request::builder().uri("/readyz").header("host", "cloister");
        let Ok(request) = request.body(Body::empty()) else { return false };
        let answer = tokio::time::timeout(PATIENCE, self.exchange(request)).await;
        answer.is_ok_and(|answer| answer.is_ok_and(|(status, _)| status.is_success()))
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        self.call(Method::GET, path, None::<&()>).await
    }

    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, CliError> {
        self.call(Method::POST, path, Some(body)).await
    }

    /// The same, for what may take longer than anything else.
    pub(crate) async fn post_within<T: DeserializeOwned>(
        &self,
        patience: Duration,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, CliError> {
        self.call_within(patience, Method::POST, path, Some(body)).await
    }

    pub async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<T, CliError> {
        self.call_within(PATIENCE, method, path, body).await
    }

    pub(crate) async fn call_within<T: DeserializeOwned>(
        &self,
        patience: Duration,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<T, CliError> {
        let request = request(method, path, body)?;
        let answer = tokio::time::timeout(patience, self.exchange(request)).await;
        let (status, bytes) = answer.map_err(|late| internal(&late))??;
        read(status, &bytes)
    }

    async fn exchange(
        &self,
        request: Request<Body>,
    ) -> Result<(StatusCode, bytes::Bytes), CliError> {
        let failed = |error: &dyn std::error::Error| {
            let message = format!("the control plane did not answer: {}", with_causes(error));
            CliError::new(ErrorCode::Internal, message)
        };
        match self {
            Self::Local { router, .. } => {
                let response = router.clone().oneshot(request).await.map_err(|e| failed(&e))?;
                let status = response.status();
                let body = response.into_body().collect().await.map_err(|e| failed(&e))?;
                Ok((status, body.to_bytes()))
            }
            Self::Running(line @ Line::Socket(_)) => {
                let reply = line.exchange(request).await.map_err(|e| failed(e.as_ref()))?;
                Ok((reply.status, reply.body))
            }
            Self::Running(line @ Line::Machine(machine)) => {
                let reply = line.exchange(request).await;
                let reply = reply.map_err(|error| machine.unreachable(error.as_ref()))?;
                machine.heed(&reply.headers).await;
                Ok((reply.status, reply.body))
            }
        }
    }

    /// The user that is meant: the one named, or whoever this machine is enrolled for, or the first.
    pub async fn user(&self, given: Option<&UserName>) -> Result<UserName, CliError> {
        if let Some(name) = given {
            return Ok(name.clone());
        }
        if let Some(Line::Machine(machine)) = self.line() {
            return Ok(machine.user());
        }
        let users: Vec<cloister_protocol::admin::UserView> = self.get("/admin/v1/users").await?;
        users.into_iter().next().map(|user| user.name).ok_or_else(|| {
            CliError::new(ErrorCode::NotFound, "there are no users yet")
                .fix("`cloister user add NAME`")
        })
    }
}

fn internal(error: &dyn std::fmt::Display) -> CliError {
    CliError::new(ErrorCode::Internal, error.to_string())
}

/// A request with a JSON body, or none.
pub(crate) fn request(
    method: Method,
    path: &str,
    body: Option<&impl Serialize>,
) -> Result<Request<Body>, CliError> {
    let json = body.map(serde_json::to_vec).transpose().map_err(|e| internal(&e))?;
    Request::builder()
        .method(method)
        .uri(path)
        .header("host", "cloister")
        .header("content-type", "application/json")
        .body(json.map_or_else(Body::empty, Body::from))
        .map_err(|e| internal(&e))
}

/// The answer to it, or the error in it.
pub(crate) fn read<T: DeserializeOwned>(status: StatusCode, bytes: &[u8]) -> Result<T, CliError> {
    if status.is_success() {
        return serde_json::from_slice(bytes).map_err(|e| internal(&e));
    }
    match serde_json::from_slice::<ErrorEnvelope>(bytes) {
        Ok(envelope) => Err(envelope.error.into()),
        Err(_) => Err(internal(&format!("the control plane answered {status}"))),
    }
}
