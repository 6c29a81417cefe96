//! The door from inside: the link, by hand, and plain HTTP.

use std::time::Duration;

use cloister_protocol::link::{DOOR_PATH, Downlink, Uplink};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

const PATIENCE: Duration = Duration::from_secs(5);

/// The link is closed, or the door is.
#[derive(Debug)]
pub(super) struct Gone;

pub(super) struct Link {
    socket: WebSocketStream<UnixStream>,
    /// What was heard while something else was waited for.
    pub(super) put_off: Vec<Downlink>,
}

impl Link {
    pub(super) async fn open() -> Result<Self, Gone> {
        let stream = UnixStream::connect(DOOR_PATH).await.map_err(|_error| Gone)?;
        let opened = tokio_tungstenite::client_async("ws://door/link", stream).await;
        let (socket, _) = opened.map_err(|_error| Gone)?;
        Ok(Self { socket, put_off: Vec::new() })
    }

    pub(super) async fn say(&mut self, frame: &Uplink) -> Result<(), Gone> {
        let text = serde_json::to_string(frame).map_err(|_error| Gone)?;
        self.say_text(text).await
    }

    pub(super) async fn say_text(&mut self, text: String) -> Result<(), Gone> {
        self.send(Message::text(text)).await
    }

    pub(super) async fn send(&mut self, message: Message) -> Result<(), Gone> {
        match timeout(PATIENCE, self.socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Gone),
        }
    }

    /// The next frame, however long it takes.
    pub(super) async fn hear(&mut self) -> Result<Downlink, Gone> {
        if !self.put_off.is_empty() {
            return Ok(self.put_off.remove(0));
        }
        self.next().await
    }

    async fn next(&mut self) -> Result<Downlink, Gone> {
        loop {
            match self.socket.next().await {
                Some(Ok(Message::Text(text))) => {
                    if let Ok(frame) = serde_json::from_str(&text) {
                        return Ok(frame);
                    }
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(Gone),
                Some(Ok(_)) => {}
            }
        }
    }

    /// The answers that come until there are so many, or no more come.
    pub(super) async fn answers(&mut self, most: usize) -> Vec<String> {
        let mut answers = Vec::new();
        while answers.len() < most {
            match timeout(PATIENCE, self.next()).await {
                Ok(Ok(Downlink::Reply { id, result })) => {
                    let json = serde_json::to_string(&result).unwrap_or_default();
                    answers.push(format!("{id}: {json}"));
                }
                Ok(Ok(other)) => self.put_off.push(other),
                Ok(Err(Gone)) | Err(_) => break,
            }
        }
        answers
    }
}

/// What the door answers to a request of plain HTTP.
pub(super) async fn http(method: &str, target: &str, body: &str) -> String {
    let asked = async {
        let mut stream = UnixStream::connect(DOOR_PATH).await?;
        let length = body.len();
        let head = format!(
            "{method} {target} HTTP/1.1\r\nhost: door\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.take(64 << 10).read_to_end(&mut answer).await?;
        std::io::Result::Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    match timeout(PATIENCE, asked).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => format!("[{error}]"),
        Err(_late) => "[no answer]".to_owned(),
    }
}
