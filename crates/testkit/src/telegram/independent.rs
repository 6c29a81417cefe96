//! A Telegram that others wrote (npm `telegram-test-api`): thin, but not ours.
//!
//! It keeps what bots send and hands out what people say; it checks nothing, and never waits. Installed by
//! `scripts/telegram-test-api`; ends with the value.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use super::passing::post;

const START_TIME: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(50);
const SCRIPT: &str = "const all = require('telegram-test-api'); \
                      const Server = all.TelegramServer || all.default || all; \
                      new Server({ host: '127.0.0.1', port: Number(process.argv[1]) }).start();";

#[derive(Debug, thiserror::Error)]
pub enum IndependentError {
    #[error(
        "telegram-test-api is not installed: run `scripts/telegram-test-api` (`make test` does)"
    )]
    NotInstalled,
    #[error("{what}")]
    Io { what: &'static str, source: std::io::Error },
    #[error("telegram-test-api does not answer: {0}")]
    Silent(String),
}

pub struct IndependentTelegram {
    address: String,
    _running: Child,
}

impl IndependentTelegram {
    pub async fn start() -> Result<Self, IndependentError> {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/telegram-test-api");
        if !dir.join("node_modules/telegram-test-api").is_dir() {
            return Err(IndependentError::NotInstalled);
        }
        let port = free_port().map_err(|source| IndependentError::Io { what: "a port", source })?;
        #[expect(clippy::disallowed_methods, reason = "this is where tests start that server")]
        let running = Command::new("node")
            .args(["-e", SCRIPT, &port.to_string()])
            .current_dir(&dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|source| IndependentError::Io { what: "node could not be started", source })?;
        let server = Self { address: format!("127.0.0.1:{port}"), _running: running };
        let deadline = Instant::now() + START_TIME;
        loop {
            match server.heard("nobody", 1).await {
                Ok(_) => return Ok(server),
                Err(error) if Instant::now() >= deadline => return Err(error),
                Err(_) => sleep(LOOK_EVERY).await,
            }
        }
    }

    /// `HOST:PORT`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Somebody writes to a bot.
    pub async fn say(&self, token: &str, person: i64, text: &str) -> Result<(), IndependentError> {
        let message = json!({
            "botToken": token, "date": super::state::now(), "text": text,
            "from": {"id": person, "first_name": "ann", "username": "ann", "is_bot": false},
            "chat": {"id": person, "first_name": "ann", "username": "ann", "type": "private"},
        });
        self.ask("/sendMessage", &message).await.map(drop)
    }

    /// The texts that a bot sent to somebody since this was last asked.
    pub async fn heard(&self, token: &str, person: i64) -> Result<Vec<String>, IndependentError> {
        let answer = self.ask("/getUpdates", &json!({"token": token, "chatId": person})).await?;
        let list = answer["result"].as_array().cloned().unwrap_or_default();
        let text = |update: &Value| update["message"]["text"].as_str().map(str::to_owned);
        Ok(list.iter().filter_map(text).collect())
    }

    async fn ask(&self, path: &str, body: &Value) -> Result<Value, IndependentError> {
        let body = Bytes::from(body.to_string());
        let (status, answer) = post(&self.address, path, "application/json", body)
            .await
            .map_err(|error| IndependentError::Silent(error.to_string()))?;
        let silent = |why: String| IndependentError::Silent(format!("{status}: {why}"));
        serde_json::from_slice(&answer).map_err(|error| silent(error.to_string()))
    }
}

fn free_port() -> std::io::Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
