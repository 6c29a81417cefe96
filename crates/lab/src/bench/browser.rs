//! A small probe of a real browser: opens a page a few times and asks it when it could be used.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Message, client::IntoClientRequest};

use super::talker::broken;
use cloister::CliError;

const PROGRAMS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
const PLACES: [&str; 4] = ["/usr/bin", "/usr/local/bin", "/snap/bin", "/opt/google/chrome"];
const START_TIME: Duration = Duration::from_secs(20);
const PATIENCE: Duration = Duration::from_secs(20);
/// Where the browser says at which address it listens.
const LISTENING: &str = "DevTools listening on ";
/// The page can be used once its scripts have run: that is when this event has ended.
const READY: &str = "(async () => { for (;;) { const [entry] = performance.getEntriesByType('navigation'); \
    if (entry && entry.domContentLoadedEventEnd > 0) return entry.domContentLoadedEventEnd; \
    await new Promise(again => setTimeout(again, 5)); } })()";

/// How long each load took; none if there is no browser.
pub(super) async fn loads(
    count: usize,
    origin: &str,
    address: &str,
    cookie: String,
) -> Result<Option<Vec<Duration>>, CliError> {
    let Some(program) = find() else { return Ok(None) };
    let profile = tempfile::tempdir().map_err(CliError::io("no directory for the browser"))?;
    let mut browser = start(&program, profile.path())?;
    let times = async {
        let mut page = Page::open(&mut browser).await?;
        if let Some((name, value)) = cookie.split_once('=') {
            let cookie = json!({"name": name, "value": value, "url": origin});
            page.ask("Network.setCookie", cookie).await?;
        }
        let mut times = Vec::with_capacity(count);
        // The first load fills the browser's cache; a person comes back.
        for number in 0..=count {
            let time = page.load(address).await?;
            if number > 0 {
                times.push(time);
            }
        }
        Ok(Some(times))
    };
    let times = times.await;
    browser.kill().await.map_err(CliError::io("the browser could not be ended"))?;
    times
}

fn find() -> Option<PathBuf> {
    let paths = PLACES.iter().flat_map(|place| PROGRAMS.map(|name| Path::new(place).join(name)));
    paths.into_iter().find(|path| path.is_file())
}

#[expect(clippy::disallowed_methods, reason = "the browser that a page is measured in")]
fn start(program: &Path, profile: &Path) -> Result<Child, CliError> {
    let mut command = Command::new(program);
    command
        .args(["--headless=new", "--remote-debugging-port=0", "--no-first-run", "--disable-gpu"])
        .args(["--disable-extensions", "--disable-background-networking"])
        .arg(format!("--user-data-dir={}", profile.display()));
    if rustix::process::geteuid().is_root() {
        // It refuses to start for root otherwise; it only ever sees our own page.
        command.arg("--no-sandbox");
    }
    command
        .arg("about:blank")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(CliError::io(format!("{} could not be started", program.display())))
}

/// One page of the browser.
struct Page {
    socket: WebSocketStream<TcpStream>,
    session: Option<String>,
    asked: u64,
}

fn failed(error: &dyn std::fmt::Display) -> CliError {
    broken(format!("the browser did not do as it was told: {error}"))
}

impl Page {
    async fn open(browser: &mut Child) -> Result<Self, CliError> {
        let url = tokio::time::timeout(START_TIME, debug_address(browser))
            .await
            .map_err(|late| failed(&late))??;
        let address = url.strip_prefix("ws://").and_then(|rest| rest.split('/').next());
        let address = address.ok_or_else(|| failed(&"it has no address"))?;
        let stream = TcpStream::connect(address).await.map_err(|e| failed(&e))?;
        let request = url.as_str().into_client_request().map_err(|e| failed(&e))?;
        let (socket, _) =
            tokio_tungstenite::client_async(request, stream).await.map_err(|e| failed(&e))?;
        let mut page = Self { socket, session: None, asked: 0 };
        let target = page.ask("Target.createTarget", json!({"url": "about:blank"})).await?;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = page.ask("Target.attachToTarget", attach).await?;
        page.session = session["sessionId"].as_str().map(str::to_owned);
        page.ask("Page.enable", json!({})).await?;
        Ok(page)
    }

    /// Opens an address and waits until it can be used.
    async fn load(&mut self, address: &str) -> Result<Duration, CliError> {
        let gone = self.ask("Page.navigate", json!({"url": address})).await?;
        if let Some(error) = gone["errorText"].as_str() {
            return Err(failed(&error));
        }
        let asked = json!({"expression": READY, "awaitPromise": true, "returnByValue": true});
        let ready = self.ask("Runtime.evaluate", asked).await?;
        let ms = ready["result"]["value"].as_f64();
        ms.map(|ms| Duration::from_secs_f64(ms / 1e3)).ok_or_else(|| failed(&ready))
    }

    async fn ask(&mut self, method: &str, parameters: Value) -> Result<Value, CliError> {
        self.asked += 1;
        let id = self.asked;
        let mut asked = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            asked["sessionId"] = session.as_str().into();
        }
        let message = Message::text(asked.to_string());
        let exchange = async {
            self.socket.send(message).await.map_err(|e| failed(&e))?;
            while let Some(Ok(message)) = self.socket.next().await {
                let Message::Text(text) = message else { continue };
                let answer: Value = serde_json::from_str(&text).map_err(|e| failed(&e))?;
                if answer["id"].as_u64() == Some(id) {
                    return match answer.get("error") {
                        Some(error) => Err(failed(error)),
                        None => Ok(answer["result"].clone()),
                    };
                }
            }
            Err(failed(&"it ended"))
        };
        tokio::time::timeout(PATIENCE, exchange).await.map_err(|late| failed(&late))?
    }
}

async fn debug_address(browser: &mut Child) -> Result<String, CliError> {
    let output = browser.stderr.take().ok_or_else(|| failed(&"it says nothing"))?;
    let mut lines = BufReader::new(output).lines();
    while let Some(line) = lines.next_line().await.map_err(|e| failed(&e))? {
        if let Some(address) = line.strip_prefix(LISTENING) {
            return Ok(address.trim().to_owned());
        }
    }
    Err(failed(&"it ended at once"))
}
