//! One request to another server.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::client::conn::http1 as client;
use hyper::http::request::Builder;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

pub(super) type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// Posts a body; the status and the body of the answer.
pub(super) async fn post(
    address: &str,
    path: &str,
    content_type: &str,
    body: Bytes,
) -> Result<(u16, Bytes), AnyError> {
    let request = Request::builder().method("POST").uri(path).header("content-type", content_type);
    send(address, request, body).await
}

pub(super) async fn send(
    address: &str,
    request: Builder,
    body: Bytes,
) -> Result<(u16, Bytes), AnyError> {
    let request = request.header("host", address).body(Full::new(body))?;
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) = client::handshake(TokioIo::new(stream)).await?;
    let exchange = async {
        let answer = sender.send_request(request).await?;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await?.to_bytes();
        Ok::<_, AnyError>((status, body))
    };
    tokio::pin!(connection, exchange);
    tokio::select! {
        done = &mut exchange => done,
        _ = &mut connection => exchange.await,
    }
}
