//! What `up` does when a control plane runs on this data directory already: not a second one.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use cloister_protocol::admin::{NewSession, StatusView};
use tokio::time::Instant;

use super::Context;
use super::up::Started;
use crate::args::Up;
use crate::client::{Client, connect, socket_path};
use crate::line::Line;
use crate::output::CliError;

/// How long one that starts, stops or only carries out a command is waited for.
const SETTLES: Duration = Duration::from_secs(15);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Points to the control plane that runs, with a fresh login link; none if there is none.
pub(super) async fn point_to_it(context: &Context, up: &Up) -> Result<Option<ExitCode>, CliError> {
    let Some(client) = find(&context.data).await else { return Ok(None) };
    let status: StatusView = client.get("/admin/v1/status").await?;
    let user = Some(client.user(None).await?);
    let asked = NewSession { user, ..NewSession::default() };
    let login: serde_json::Value = client.post("/admin/v1/login", &asked).await?;
    let login_url = login.get("login_url").and_then(|url| url.as_str()).unwrap_or_default();
    let started = Started {
        url: status.url,
        login_url: login_url.to_owned(),
        pid: status.pid,
        already_running: true,
    };
    if !context.output.json {
        let settings = if asks_for_others(up, &started.url) {
            " Stop it first to start it with other settings."
        } else {
            ""
        };
        context.output.note(&format!(
            "Cloister runs already at {} (process {}).{settings}\nLog in with this link; it works once:",
            started.url, started.pid
        ));
    }
    context.output.result(&started, || started.login_url.clone())?;
    Ok(Some(ExitCode::SUCCESS))
}

/// Whether `up` was to be started in another way than what runs at this address.
fn asks_for_others(up: &Up, url: &str) -> bool {
    let at = url.split_once("://").map_or(url, |(_, at)| at).trim_end_matches('/');
    let listen = up.listen.is_some_and(|listen| listen.to_string() != at);
    let reached = up.url.as_ref().is_some_and(|said| said.trim_end_matches('/') != url);
    reached || (listen && up.url.is_none())
}

/// The control plane that runs here, once what holds the directory has made up its mind.
async fn find(data: &Path) -> Option<Client> {
    let socket = socket_path(data);
    let deadline = Instant::now() + SETTLES;
    while is_held(data) && Instant::now() < deadline {
        if connect(&socket).await.is_ok() {
            let client = Client::Running(Line::Socket(socket.clone()));
            if client.is_ready().await {
                return Some(client);
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    None
}

/// Whether another process has taken the data directory.
fn is_held(data: &Path) -> bool {
    let lock = File::open(data.join("lock"));
    lock.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}
