//! A real Matrix homeserver for tests: one Synapse for all test processes of a run.
//!
//! The first process that needs it starts it, the others wait and use the same; a keeper ends it when no
//! process has used it for a minute. Promises: a run that is killed leaves nothing behind for longer than
//! that, and a server that died is started again by who comes next.

mod account;
mod acting;
mod http;
mod plain;
mod proxy;

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::Deserialize;
use tokio::time::{Instant, sleep};

pub use account::Account;
pub use plain::{PlainPerson, Post, shown};
pub use proxy::{Fault, FaultProxy, Passed};

/// What `scripts/synapse` installs.
const VERSION: &str = "1.163.2";
/// How long to wait for the server, whoever starts it.
const START_TIME: Duration = Duration::from_secs(180);
const LOOK_EVERY: Duration = Duration::from_millis(50);

#[derive(Debug, thiserror::Error)]
pub enum SynapseError {
    #[error("Synapse {VERSION} is not installed in {}: run `scripts/synapse` (`make test` does)", venv.display())]
    NotInstalled { venv: PathBuf },
    #[error("{what}")]
    Io { what: String, source: std::io::Error },
    #[error("Synapse did not start within {} s: {log}", START_TIME.as_secs())]
    NotStarted { log: String },
    #[error("{method} {path} failed: {reason}")]
    Http { method: String, path: String, reason: String },
    #[error("{method} {path} was answered with {status}: {body}")]
    Refused { method: String, path: String, status: u16, body: String },
    #[error("never: {0}")]
    Late(String),
}

pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> SynapseError {
    let what = what.into();
    move |source| SynapseError::Io { what, source }
}

/// What the keeper writes down about the server.
#[derive(Clone, Debug, Deserialize)]
struct Facts {
    port: u16,
    secret: String,
    pid: u32,
    /// Seconds from its start to its first answer.
    took: f64,
}

/// The homeserver of this run. As long as one exists anywhere, the server stays.
#[derive(Clone, Debug)]
pub struct Synapse {
    facts: Facts,
    _hold: Arc<File>,
}

/// What this process holds: the shared lock is let go when the process ends, however it ends.
static HELD: Mutex<Option<Synapse>> = Mutex::new(None);

impl Synapse {
    /// The server of this run, started if nobody has yet.
    pub async fn shared() -> Result<Self, SynapseError> {
        let held = || HELD.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(synapse) = held()
            && synapse.answers().await
        {
            return Ok(synapse);
        }
        let synapse = Self::find_or_start().await?;
        *HELD.lock().unwrap_or_else(PoisonError::into_inner) = Some(synapse.clone());
        Ok(synapse)
    }

    async fn find_or_start() -> Result<Self, SynapseError> {
        let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/synapse");
        let venv = place.join("venv");
        if !venv.join(format!("installed-{VERSION}")).exists() {
            return Err(SynapseError::NotInstalled { venv });
        }
        let dir = place.join("run");
        std::fs::create_dir_all(&dir).map_err(io("the server's directory could not be made"))?;
        let deadline = Instant::now() + START_TIME;
        let hold = Arc::new(lock(&dir.join("users.lock"), Lock::Shared, deadline).await?);
        if let Some(synapse) = Self::running(&dir, &hold).await {
            return Ok(synapse);
        }
        let starting = lock(&dir.join("start.lock"), Lock::Exclusive, deadline).await?;
        let mut keeper = None;
        while Instant::now() < deadline {
            if let Some(synapse) = Self::running(&dir, &hold).await {
                drop(starting);
                return Ok(synapse);
            }
            let ended = keeper.as_mut().is_none_or(|keeper: &mut std::process::Child| {
                !matches!(keeper.try_wait(), Ok(None))
            });
            if ended {
                keeper = Some(start_keeper(&venv, &dir)?);
            }
            sleep(LOOK_EVERY).await;
        }
        let log = std::fs::read_to_string(dir.join("keeper.log")).unwrap_or_default();
        Err(SynapseError::NotStarted { log })
    }

    /// The server that the keeper wrote down, if it answers.
    async fn running(dir: &Path, hold: &Arc<File>) -> Option<Self> {
        let told = std::fs::read(dir.join("server.json")).ok()?;
        let facts = serde_json::from_slice(&told).ok()?;
        let synapse = Self { facts, _hold: Arc::clone(hold) };
        synapse.answers().await.then_some(synapse)
    }

    async fn answers(&self) -> bool {
        let versions = ("GET", "/_matrix/client/versions");
        http::request(&self.address(), versions, None, None).await.is_ok()
    }

    /// `HOST:PORT`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.facts.port)
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// The part of every user id after the colon.
    pub const fn server_name(&self) -> &'static str {
        "localhost"
    }

    /// The server's process.
    pub const fn pid(&self) -> u32 {
        self.facts.pid
    }

    /// How long it took to start.
    pub fn start_time(&self) -> Duration {
        Duration::from_secs_f64(self.facts.took)
    }
}

enum Lock {
    Shared,
    Exclusive,
}

async fn lock(path: &Path, lock: Lock, deadline: Instant) -> Result<File, SynapseError> {
    let what = format!("{} could not be locked", path.display());
    let file = File::options().create(true).truncate(false).write(true).open(path);
    let file = file.map_err(io(what.clone()))?;
    let operation = match lock {
        Lock::Shared => FlockOperation::NonBlockingLockShared,
        Lock::Exclusive => FlockOperation::NonBlockingLockExclusive,
    };
    loop {
        match flock(&file, operation) {
            Ok(()) => return Ok(file),
            Err(Errno::WOULDBLOCK) if Instant::now() < deadline => sleep(LOOK_EVERY).await,
            Err(error) => return Err(SynapseError::Io { what, source: error.into() }),
        }
    }
}

/// The keeper outlives this process: other tests use its server.
#[expect(clippy::disallowed_methods, reason = "this is where tests start a homeserver")]
fn start_keeper(venv: &Path, dir: &Path) -> Result<std::process::Child, SynapseError> {
    let log = File::create(dir.join("keeper.log")).map_err(io("the keeper's log"))?;
    let log_too = log.try_clone().map_err(io("the keeper's log"))?;
    Command::new(venv.join("bin/python"))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/synapse/keeper.py"))
        .arg(dir)
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(log_too)
        // Whoever ends this test with its process group does not end the server of the others.
        .process_group(0)
        .spawn()
        .map_err(io("the keeper of the homeserver could not be started"))
}

#[cfg(test)]
#[path = "synapse_tests.rs"]
mod tests;
