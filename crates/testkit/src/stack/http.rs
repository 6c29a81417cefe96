//! A small HTTP client for tests: one request, one connection.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::StackError;

const REQUEST_TIME: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
pub struct Response {
    pub status: u16,
    pub body: Bytes,
}

impl Response {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.body)
    }
}

pub(super) async fn request(
    address: &str,
    what: (&str, &str),
    token: Option<&str>,
    body: Vec<u8>,
) -> Result<Response, StackError> {
    request_within(REQUEST_TIME, address, what, token, body).await
}

pub(crate) async fn request_within(
    time: Duration,
    address: &str,
    (method, path): (&str, &str),
    token: Option<&str>,
    body: Vec<u8>,
) -> Result<Response, StackError> {
    let failed = |reason: String| StackError::Http {
        method: method.to_owned(),
        path: path.to_owned(),
        reason,
    };
    match timeout(time, exchange(address, (method, path), token, body)).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(elapsed) => Err(failed(elapsed.to_string())),
    }
}

type AnyError = Box<dyn std::error::Error + Send + Sync>;

async fn exchange(
    address: &str,
    (method, path): (&str, &str),
    token: Option<&str>,
    body: Vec<u8>,
) -> Result<Response, AnyError> {
    let mut request = hyper::Request::builder()
        .method(method)
        .uri(path)
        .header("host", address)
        .header("content-type", "application/json");
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let request = request.body(Full::new(Bytes::from(body)))?;
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let exchange = async {
        let response = sender.send_request(request).await?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await?.to_bytes();
        Ok::<_, AnyError>(Response { status, body })
    };
    tokio::pin!(connection, exchange);
    tokio::select! {
        done = &mut exchange => done,
        _ = &mut connection => exchange.await,
    }
}
