//! A connection to the agent socket, through the control plane's own socket; taken up again when it
//! breaks.

use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use cloister_protocol::admin::{NewSession, Session};
use cloister_protocol::{
    AgentFrame, Attachment, ChatId, ClientFrame, ErrorCode, ErrorEnvelope, Message, SendFile,
    UserName,
};
use futures_util::{SinkExt, StreamExt};
use http_body_util::BodyExt;
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{self, client::IntoClientRequest};

use crate::client::{Client, connect, socket_path};
use crate::output::{CliError, UNAVAILABLE};

const RETRY: Duration = Duration::from_millis(300);

pub(crate) struct Connection {
    socket_path: PathBuf,
    session: Session,
    chat: ChatId,
    socket: Option<WebSocketStream<UnixStream>>,
    /// Said and not answered yet: said again after a break.
    unanswered: Option<Message>,
}

impl Connection {
    pub(crate) async fn open(
        data: &Path,
        client: &Client,
        user: UserName,
        chat: ChatId,
    ) -> Result<Self, CliError> {
        let asked = NewSession { user: Some(user), ..NewSession::default() };
        let session: Session = client.post("/admin/v1/sessions", &asked).await?;
        let socket_path = socket_path(data);
        let mut connection = Self { socket_path, session, chat, socket: None, unanswered: None };
        connection.socket = Some(connection.dial().await?);
        Ok(connection)
    }

    async fn dial(&self) -> Result<WebSocketStream<UnixStream>, CliError> {
        let broken = |error: &dyn std::fmt::Display| {
            CliError::new(
                ErrorCode::Internal,
                format!("the agent socket could not be opened: {error}"),
            )
            .exit(UNAVAILABLE)
        };
        let path = self.session.agent_ws.replace("{chat}", &self.chat.to_string());
        let mut request =
            format!("ws://cloister{path}").into_client_request().map_err(|e| broken(&e))?;
        let bearer = format!("Bearer {}", self.session.token)
            .parse()
            .map_err(|e: axum::http::header::InvalidHeaderValue| broken(&e))?;
        request.headers_mut().insert("authorization", bearer);
        let stream = connect(&self.socket_path).await.map_err(|e| broken(&e))?;
        match tokio_tungstenite::client_async(request, stream).await {
            Ok((socket, _)) => Ok(socket),
            Err(tungstenite::Error::Http(response)) => {
                let body = response.into_body().unwrap_or_default();
                match serde_json::from_slice::<ErrorEnvelope>(&body) {
                    Ok(envelope) => Err(envelope.error.into()),
                    Err(error) => Err(broken(&error)),
                }
            }
            Err(error) => Err(broken(&error)),
        }
    }

    pub(crate) async fn send(
        &mut self,
        message: Message,
        deadline: Instant,
    ) -> Result<(), CliError> {
        self.unanswered = Some(message);
        self.repeat(deadline).await
    }

    pub(crate) fn answered(&mut self) {
        self.unanswered = None;
    }

    /// Says what is unanswered, on a new connection if need be.
    async fn repeat(&mut self, deadline: Instant) -> Result<(), CliError> {
        let Some(message) = self.unanswered.clone() else { return Ok(()) };
        let json = serde_json::to_string(&ClientFrame::Message(message))
            .map_err(|error| CliError::new(ErrorCode::Internal, error.to_string()))?;
        loop {
            if let Some(socket) = &mut self.socket
                && socket.send(tungstenite::Message::text(json.clone())).await.is_ok()
            {
                return Ok(());
            }
            self.socket = None;
            self.redial(deadline).await?;
        }
    }

    async fn redial(&mut self, deadline: Instant) -> Result<(), CliError> {
        loop {
            match self.dial().await {
                Ok(socket) => {
                    self.socket = Some(socket);
                    return Ok(());
                }
                Err(error) if error.exit != UNAVAILABLE || Instant::now() + RETRY >= deadline => {
                    return Err(error);
                }
                Err(_) => tokio::time::sleep(RETRY).await,
            }
        }
    }

    /// The next frame; a break is mended on the way.
    pub(crate) async fn next(&mut self, deadline: Instant) -> Result<AgentFrame, CliError> {
        loop {
            let Some(socket) = &mut self.socket else {
                self.redial(deadline).await?;
                self.repeat(deadline).await?;
                continue;
            };
            let next = tokio::time::timeout_at(deadline, socket.next()).await.map_err(|late| {
                CliError::new(ErrorCode::Busy, format!("there was no answer in time: {late}"))
                    .fix("the message is stored and will be answered; `cloister chats show` shows it, --timeout waits longer")
            })?;
            match next {
                Some(Ok(tungstenite::Message::Text(text))) => {
                    if let Ok(frame) = serde_json::from_str(&text) {
                        return Ok(frame);
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => self.socket = None,
            }
        }
    }

    pub(crate) async fn upload(&self, file: &Path) -> Result<Attachment, CliError> {
        let name =
            file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let failed = format!("{} could not be read", file.display());
        let source = tokio::fs::File::open(file).await.map_err(CliError::io(failed))?;
        let path = format!(
            "/cells/{}/v1/chats/{}/files?name={}",
            self.session.workspace,
            self.chat,
            percent_encode(&name)
        );
        let body = Body::from_stream(tokio_util::io::ReaderStream::new(source));
        let bytes = self.exchange("POST", &path, body).await?;
        serde_json::from_slice(&bytes)
            .map_err(|error| CliError::new(ErrorCode::Internal, error.to_string()))
    }

    pub(crate) async fn download(&self, file: &SendFile, dir: &Path) -> Result<PathBuf, CliError> {
        let url = file.url.as_deref().unwrap_or_default();
        let bytes = self.exchange("GET", url, Body::empty()).await?;
        let path = dir.join(cloister_control::files::safe_name(&file.name));
        let failed = format!("{} could not be written", path.display());
        std::fs::create_dir_all(dir)
            .and_then(|()| std::fs::write(&path, &bytes))
            .map_err(CliError::io(failed))?;
        Ok(path)
    }

    async fn exchange(
        &self,
        method: &str,
        path: &str,
        body: Body,
    ) -> Result<bytes::Bytes, CliError> {
        let failed =
            |error: &dyn std::fmt::Display| CliError::new(ErrorCode::Internal, error.to_string());
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "cloister")
            .header("authorization", format!("Bearer {}", self.session.token))
            .body(body)
            .map_err(|e| failed(&e))?;
        let stream = connect(&self.socket_path).await.map_err(|e| failed(&e))?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|e| failed(&e))?;
        let exchange = async {
            let response = sender.send_request(request).await.map_err(|e| failed(&e))?;
            let status = response.status();
            let bytes = response.into_body().collect().await.map_err(|e| failed(&e))?.to_bytes();
            if status.is_success() {
                return Ok(bytes);
            }
            match serde_json::from_slice::<ErrorEnvelope>(&bytes) {
                Ok(envelope) => Err(envelope.error.into()),
                Err(_) => Err(failed(&format!("the control plane answered {status}"))),
            }
        };
        tokio::pin!(connection, exchange);
        tokio::select! {
            done = &mut exchange => done,
            _ = &mut connection => exchange.await,
        }
    }
}

fn percent_encode(text: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(byte);
    text.bytes()
        .map(
            |byte| if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") },
        )
        .collect()
}
