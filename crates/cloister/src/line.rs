//! The way to a running control plane: the socket of this machine, or another machine's admin listener.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;

use crate::remote::Machine;

/// A connection, whatever carries it.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}
pub(crate) type Stream = Box<dyn Duplex>;

#[derive(Clone)]
pub enum Line {
    /// The control socket of this machine.
    Socket(PathBuf),
    /// A machine where this one is enrolled.
    Machine(Arc<Machine>),
}

/// What came back.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: bytes::Bytes,
}

type AnyError = Box<dyn std::error::Error + Send + Sync>;

impl Line {
    pub(crate) async fn dial(&self) -> std::io::Result<Stream> {
        match self {
            Self::Socket(path) => Ok(Box::new(connect(path).await?)),
            Self::Machine(machine) => Ok(Box::new(machine.dial().await?)),
        }
    }

    /// One request on a connection of its own.
    pub(crate) async fn exchange(&self, request: Request<Body>) -> Result<Reply, AnyError> {
        exchange(self.dial().await?, request).await
    }
}

/// One request on this connection, which ends with it.
pub(crate) async fn exchange<S>(stream: S, request: Request<Body>) -> Result<Reply, AnyError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let exchange = async {
        let response = sender.send_request(request).await?;
        let (head, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok::<_, AnyError>(Reply { status: head.status, headers: head.headers, body })
    };
    tokio::pin!(connection, exchange);
    tokio::select! {
        done = &mut exchange => done,
        ended = &mut connection => match ended {
            Ok(()) => exchange.await,
            Err(error) => Err(error.into()),
        },
    }
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
