//! A real Chromium, driven for tests: people's clicks and keys in, what they would see out.
//!
//! Speaks the few commands of the DevTools protocol that the tests need over one WebSocket. Promises:
//! a fresh profile each time, nothing left running when it is dropped, every wait has a bound.

mod axe;
mod cdp;
mod page;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use cdp::Connection;
pub use page::Page;

/// Where distributions and people put it.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const START_TIME: Duration = Duration::from_secs(60);
const FLAGS: [&str; 18] = [
    "--headless=new",
    "--remote-debugging-port=0",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-sync",
    "--hide-scrollbars",
    "--mute-audio",
    // A microphone that beeps, and that may be used.
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
    "--force-color-profile=srgb",
];

#[derive(Debug, thiserror::Error)]
pub enum BrowserError {
    #[error("there is no Chromium here: `scripts/setup test` installs it")]
    Missing,
    #[error("axe-core is not installed: run `scripts/axe-core` (`make test` does)")]
    NoAxe(#[source] std::io::Error),
    #[error("Chromium could not be started")]
    Start(#[source] std::io::Error),
    #[error("Chromium did not start: {0}")]
    NotStarted(String),
    #[error("Chromium's connection failed: {0}")]
    Connection(String),
    #[error("Chromium refused {method}: {message}")]
    Refused { method: String, message: String },
    #[error("Chromium did not answer {method} in time")]
    Late { method: String },
    #[error("the page threw: {0}")]
    Threw(String),
    #[error("waited too long for {what}; the page shows:\n{shown}")]
    NotSeen { what: String, shown: String },
    #[error("there is nothing at {0:?} to click")]
    NoElement(String),
}

/// A running browser; dropping it kills it.
pub struct Browser {
    connection: Connection,
    _process: Child,
    _profile: TempDir,
}

impl Browser {
    pub async fn start() -> Result<Self, BrowserError> {
        let program = find().ok_or(BrowserError::Missing)?;
        let profile = tempfile::Builder::new()
            .prefix("cloister-browser-")
            .tempdir()
            .map_err(BrowserError::Start)?;
        let mut process = command(&program, profile.path()).spawn().map_err(BrowserError::Start)?;
        let lines = process.stderr.take().map(|stderr| BufReader::new(stderr).lines());
        let mut lines = lines.ok_or_else(|| BrowserError::NotStarted("no output".to_owned()))?;
        let mut said = String::new();
        let address = async {
            while let Ok(Some(line)) = lines.next_line().await {
                if let Some((_, address)) = line.split_once("DevTools listening on ") {
                    return Some(address.trim().to_owned());
                }
                said.push_str(&line);
                said.push('\n');
            }
            None
        };
        let address = match timeout(START_TIME, address).await {
            Ok(Some(address)) => address,
            Ok(None) | Err(_) => return Err(BrowserError::NotStarted(said)),
        };
        let connection = Connection::open(&address, lines).await?;
        Ok(Self { connection, _process: process, _profile: profile })
    }

    /// A new tab in the first person's profile.
    pub async fn page(&self) -> Result<Page, BrowserError> {
        self.open(json!({"url": "about:blank"})).await
    }

    /// A new tab in a profile of its own: another person.
    pub async fn stranger(&self) -> Result<Page, BrowserError> {
        let context = self.connection.call(None, "Target.createBrowserContext", json!({})).await?;
        let context = context.get("browserContextId").cloned().unwrap_or_default();
        self.open(json!({"url": "about:blank", "browserContextId": context})).await
    }

    async fn open(&self, target: Value) -> Result<Page, BrowserError> {
        let made = self.connection.call(None, "Target.createTarget", target).await?;
        let attach = json!({
            "targetId": made.get("targetId").cloned().unwrap_or_default(),
            "flatten": true,
        });
        let attached = self.connection.call(None, "Target.attachToTarget", attach).await?;
        let session = attached.get("sessionId").and_then(Value::as_str).unwrap_or_default();
        Page::new(self.connection.clone(), session.to_owned()).await
    }
}

#[expect(clippy::disallowed_methods, reason = "where a program is, is in PATH")]
fn find() -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    let dirs: Vec<_> = std::env::split_paths(&path).collect();
    NAMES
        .iter()
        .find_map(|name| dirs.iter().map(|dir| dir.join(name)).find(|program| program.is_file()))
}

#[expect(clippy::disallowed_methods, reason = "this is where tests start a browser")]
fn command(program: &Path, profile: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .args(FLAGS)
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg("about:blank")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}
