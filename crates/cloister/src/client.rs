//! The admin API's client: over the socket of a running control plane, or in-process when none runs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use cloister_protocol::{ErrorCode, ErrorEnvelope, UserName};
use http_body_util::BodyExt;
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;
use tower::ServiceExt;

use crate::output::{CliError, UNAVAILABLE};
use crate::wiring::{self, Built};

/// The longest a command waits for an answer.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) enum Client {
    /// The control plane runs; this is its socket.
    Remote(PathBuf),
    /// It does not; this process holds the data directory meanwhile.
    Local { router: Router, _built: Box<Built> },
}

pub(crate) fn socket_path(data: &Path) -> PathBuf {
    data.join("control.sock")
}

/// A socket address holds 107 bytes; a directory descriptor makes any path short.
fn short(path: &Path) -> std::io::Result<(std::os::fd::OwnedFd, PathBuf)> {
    let no_name = || std::io::Error::from(std::io::ErrorKind::InvalidInput);
    let dir = path.parent().ok_or_else(no_name)?;
    let name = path.file_name().ok_or_else(no_name)?;
    let flags =
        rustix::fs::OFlags::PATH | rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC;
    let dir = rustix::fs::open(dir, flags, rustix::fs::Mode::empty())?;
    let place = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&dir));
    Ok((dir, Path::new(&place).join(name)))
}

/// Connects to a socket, however long its path is.
pub(crate) async fn connect(path: &Path) -> std::io::Result<UnixStream> {
    let (_dir, path) = short(path)?;
    UnixStream::connect(path).await
}

/// Listens on a socket that only this account can open, however long its path is.
pub(crate) fn listen(path: &Path) -> std::io::Result<tokio::net::UnixListener> {
    let (_dir, path) = short(path)?;
    let listener = tokio::net::UnixListener::bind(&path)?;
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    Ok(listener)
}

impl Client {
    pub(crate) async fn new(data: &Path) -> Result<Self, CliError> {
        let socket = socket_path(data);
        if connect(&socket).await.is_ok() {
            return Ok(Self::Remote(socket));
        }
        let built = wiring::build(data).await?;
        let router = cloister_web::admin_router(built.control.clone(), built.upstream.clone());
        Ok(Self::Local { router, _built: Box::new(built) })
    }

    /// Only a running control plane will do.
    pub(crate) async fn running(data: &Path) -> Result<Self, CliError> {
        let socket = socket_path(data);
        match connect(&socket).await {
            Ok(_) => Ok(Self::Remote(socket)),
            Err(_) => Err(CliError::new(
                ErrorCode::NotFound,
                format!("no control plane runs on {}", data.display()),
            )
            .fix("start it with `cloister up` (and the same --data)")
            .exit(UNAVAILABLE)),
        }
    }

    /// Whether it takes messages: it has started and is not stopping.
    pub(crate) async fn is_ready(&self) -> bool {
        let request = Request::builder().uri("/readyz").header("host", "cloister");
        let Ok(request) = request.body(Body::empty()) else { return false };
        let answer = tokio::time::timeout(PATIENCE, self.exchange(request)).await;
        answer.is_ok_and(|answer| answer.is_ok_and(|(status, _)| status.is_success()))
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        self.call(Method::GET, path, None::<&()>).await
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, CliError> {
        self.call(Method::POST, path, Some(body)).await
    }

    pub(crate) async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<T, CliError> {
        let internal =
            |error: &dyn std::fmt::Display| CliError::new(ErrorCode::Internal, error.to_string());
        let json = body.map(serde_json::to_vec).transpose().map_err(|e| internal(&e))?;
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "cloister")
            .header("content-type", "application/json")
            .body(json.map_or_else(Body::empty, Body::from))
            .map_err(|e| internal(&e))?;
        let answer = tokio::time::timeout(PATIENCE, self.exchange(request)).await;
        let (status, bytes) = answer.map_err(|late| internal(&late))??;
        if status.is_success() {
            return serde_json::from_slice(&bytes).map_err(|e| internal(&e));
        }
        match serde_json::from_slice::<ErrorEnvelope>(&bytes) {
            Ok(envelope) => Err(envelope.error.into()),
            Err(_) => Err(internal(&format!("the control plane answered {status}"))),
        }
    }

    async fn exchange(
        &self,
        request: Request<Body>,
    ) -> Result<(StatusCode, bytes::Bytes), CliError> {
        let failed = |error: &dyn std::fmt::Display| {
            CliError::new(ErrorCode::Internal, format!("the control plane did not answer: {error}"))
        };
        match self {
            Self::Local { router, .. } => {
                let response = router.clone().oneshot(request).await.map_err(|e| failed(&e))?;
                let status = response.status();
                let body = response.into_body().collect().await.map_err(|e| failed(&e))?;
                Ok((status, body.to_bytes()))
            }
            Self::Remote(socket) => {
                let stream = connect(socket).await.map_err(|e| failed(&e))?;
                let (mut sender, connection) =
                    hyper::client::conn::http1::handshake(TokioIo::new(stream))
                        .await
                        .map_err(|e| failed(&e))?;
                let exchange = async {
                    let response = sender.send_request(request).await.map_err(|e| failed(&e))?;
                    let status = response.status();
                    let body = response.into_body().collect().await.map_err(|e| failed(&e))?;
                    Ok((status, body.to_bytes()))
                };
                tokio::pin!(connection, exchange);
                tokio::select! {
                    done = &mut exchange => done,
                    ended = &mut connection => match ended {
                        Ok(()) => exchange.await,
                        Err(error) => Err(failed(&error)),
                    },
                }
            }
        }
    }

    /// The user that is meant: the one named, or the first.
    pub(crate) async fn user(&self, given: Option<&UserName>) -> Result<UserName, CliError> {
        if let Some(name) = given {
            return Ok(name.clone());
        }
        let users: Vec<cloister_protocol::admin::UserView> = self.get("/admin/v1/users").await?;
        users.into_iter().next().map(|user| user.name).ok_or_else(|| {
            CliError::new(ErrorCode::NotFound, "there are no users yet")
                .fix("`cloister user add NAME`")
        })
    }
}
