//! The least of a client: says something over TCP and waits for the end of its turn. The same one talks to the product
//! and to the bare proxy, so that both are measured with what it costs itself.

use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cloister_protocol::admin::{NewSession, Session};
use cloister_protocol::{ChatId, UserName};
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::model::{Manner, Model};
use super::talker::{Turn, broken};
use crate::plane::Plane;
use cloister::CliError;

const PATIENCE: Duration = Duration::from_secs(60);

/// Tells the messages of one from another's.
static TALKERS: AtomicU64 = AtomicU64::new(1);

/// Where turns are to be had.
#[derive(Clone, Debug)]
pub(super) struct TurnsAt {
    host: String,
    port: u16,
    path: String,
}

impl TurnsAt {
    fn at(address: &str, path: String) -> Result<Self, CliError> {
        let (host, port) = address.rsplit_once(':').unwrap_or((address, ""));
        let port = port.parse().map_err(|_no_port| broken(format!("{address} has no port")))?;
        Ok(Self { host: host.to_owned(), port, path })
    }

    /// The agent socket of a user's chat, with a session of its own.
    pub(super) async fn of_user(
        plane: &Plane,
        user: &UserName,
        chat: ChatId,
    ) -> Result<Self, CliError> {
        let asked = NewSession { user: Some(user.clone()), ..NewSession::default() };
        let session: Session = plane.client().post("/admin/v1/sessions", &asked).await?;
        let path = session.agent_ws.replace("{chat}", &chat.to_string());
        let address = plane.url().trim_start_matches("http://").trim_end_matches('/');
        Self::at(address, format!("{path}?token={}", session.token))
    }

    /// As the client that is not ours is told.
    pub(super) fn asked(&self) -> Value {
        json!({"host": self.host, "port": self.port, "path": self.path})
    }
}

/// The bare proxy, as a process of its own; dropping it kills it.
pub(super) struct Bare {
    _child: Child,
    place: TurnsAt,
}

impl Bare {
    pub(super) async fn start(model: &Model, manner: Manner) -> Result<Self, CliError> {
        let failed = "the bare proxy could not be started";
        let mut child = spawn(model, manner).map_err(CliError::io(failed))?;
        let mut line = String::new();
        if let Some(output) = &mut child.stdout {
            BufReader::new(output).read_line(&mut line).await.map_err(CliError::io(failed))?;
        }
        Ok(Self { _child: child, place: TurnsAt::at(line.trim_end(), "/".to_owned())? })
    }

    pub(super) fn place(&self) -> &TurnsAt {
        &self.place
    }
}

#[expect(clippy::disallowed_methods, reason = "as far from the bench as the product is")]
fn spawn(model: &Model, manner: Manner) -> std::io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .args(["bare", "--model", &model.address().to_string(), "--path", &manner.path()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
}

pub(super) struct Plain {
    socket: WebSocketStream<TcpStream>,
    number: u64,
    said: u64,
}

#[derive(Deserialize)]
struct ToldFrame<'a> {
    r#type: &'a str,
    message: Option<String>,
    error: Option<Value>,
}

impl Plain {
    pub(super) async fn open(place: &TurnsAt) -> Result<Self, CliError> {
        let TurnsAt { host, port, path } = place;
        let failed = |error: &dyn std::fmt::Display| broken(format!("no connection: {error}"));
        let stream = TcpStream::connect((host.as_str(), *port)).await.map_err(|e| failed(&e))?;
        stream.set_nodelay(true).map_err(|e| failed(&e))?;
        let address = format!("ws://{host}:{port}{path}");
        let (socket, _) =
            tokio_tungstenite::client_async(address, stream).await.map_err(|e| failed(&e))?;
        Ok(Self { socket, number: TALKERS.fetch_add(1, Ordering::Relaxed), said: 0 })
    }

    /// Says something and waits for the whole answer.
    pub(super) async fn say(&mut self, text: String) -> Result<Turn, CliError> {
        self.said += 1;
        let id = format!("plain-{}-{}", self.number, self.said);
        let message = json!({"type": "message", "id": id, "text": text}).to_string();
        let sent = Instant::now();
        let turn = async {
            self.socket.send(Message::text(message)).await.map_err(|e| broken(e.to_string()))?;
            while let Some(frame) = self.socket.next().await {
                let Message::Text(text) = frame.map_err(|e| broken(e.to_string()))? else {
                    continue;
                };
                let told: ToldFrame<'_> =
                    serde_json::from_str(&text).map_err(|e| broken(e.to_string()))?;
                let own = told.message.as_ref() == Some(&id);
                match told.r#type {
                    "end" if own && told.error.is_none() => {
                        return Ok(Turn { sent, ended: Instant::now() });
                    }
                    "end" if own => return Err(broken(format!("a turn failed: {text}"))),
                    "error" => return Err(broken(format!("a message was refused: {text}"))),
                    _ => {}
                }
            }
            Err(broken("the other side closed"))
        };
        let turn = tokio::time::timeout(PATIENCE, turn).await;
        turn.map_err(|_late| broken("a turn did not end in time"))?
    }
}
