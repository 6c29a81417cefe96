//! The floor: the same request sent straight to the model server, over a connection that is kept.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{Request, header};
use cloister_protocol::ErrorCode;
use http_body_util::BodyExt;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::driver::{Parts, parts};
use super::model::{Log, Manner, Model, ROUND_HEADER};
use cloister::CliError;

const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct Floor {
    sender: SendRequest<Body>,
    log: Log,
    host: String,
    path: String,
    calls: u64,
    _connection: JoinSet<Result<(), hyper::Error>>,
}

fn failed(error: &dyn std::fmt::Display) -> CliError {
    CliError::new(ErrorCode::Internal, format!("a direct call to the model server failed: {error}"))
}

impl Floor {
    pub(super) async fn connect(model: &Model, manner: Manner) -> Result<Self, CliError> {
        let stream = TcpStream::connect(model.address()).await.map_err(|e| failed(&e))?;
        stream.set_nodelay(true).map_err(|e| failed(&e))?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|e| failed(&e))?;
        let mut tasks = JoinSet::new();
        tasks.spawn(connection);
        let host = model.address().to_string();
        let path = manner.path();
        Ok(Self { sender, log: model.log(), host, path, calls: 0, _connection: tasks })
    }

    /// Sends what an agent sent last, and reads the answer to its end.
    pub(super) async fn call(&mut self) -> Result<Parts, CliError> {
        // Rounds of turns count up from 1; direct calls are told apart by the highest bit.
        self.calls += 1;
        let round = self.calls | 1 << 63;
        let sent = Instant::now();
        self.send(round).await?;
        parts(sent, self.log.take(round), Instant::now())
    }

    async fn send(&mut self, round: u64) -> Result<(), CliError> {
        let request = Request::post(&self.path)
            .header(header::HOST, &self.host)
            .header(header::CONTENT_TYPE, "application/json")
            .header(ROUND_HEADER, round)
            .body(Body::from(self.log.last_body()))
            .map_err(|e| failed(&e))?;
        let exchange = async {
            let response = self.sender.send_request(request).await?;
            response.into_body().collect().await
        };
        let answered = tokio::time::timeout(PATIENCE, exchange).await;
        answered.map_err(|late| failed(&late))?.map_err(|e| failed(&e))?;
        Ok(())
    }
}
