//! A control plane to measure or to attack: the `cloister` beside this program, as a process of its own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use cloister_protocol::{ErrorCode, ErrorEnvelope, with_causes};
use rustix::process::{Pid, Signal};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use cloister::CliError;
use cloister::Client;

const START_TIME: Duration = Duration::from_secs(30);
const COMPLAINTS: usize = 5;
const LIFTED: &str = "[limits]\nperson_burst = 1000000\nperson_per_s = 1000000.0\n\
    surface_burst = 1000000\nsurface_per_s = 1000000.0\nperson_sockets = 10000\n";
const STOP_TIME: Duration = Duration::from_secs(60);

/// Dropping it kills the control plane; `stop` lets it end in order.
pub(crate) struct Plane {
    child: Child,
    client: Client,
    data: PathBuf,
    log: PathBuf,
    started: Started,
}

/// What it says when it has started.
#[derive(Deserialize)]
struct Started {
    url: String,
    login_url: String,
}

/// Limits on what people may send: a bench sends more than a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendLimits {
    /// As they come.
    Usual,
    Lifted,
}

impl SendLimits {
    fn config(self) -> &'static str {
        match self {
            Self::Usual => "",
            Self::Lifted => LIFTED,
        }
    }
}

/// How a control plane is started.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Launch<'a> {
    /// Its `cloister.toml`.
    pub(crate) config: &'a str,
    /// What its environment has besides ours.
    pub(crate) variables: &'a [(&'a str, &'a Path)],
    /// Another build of it, in place of the one beside this program.
    pub(crate) program: Option<&'a Path>,
}

impl Plane {
    /// Starts one below `place`, which is its own.
    pub(crate) async fn start(place: &Path, limits: SendLimits) -> Result<Self, CliError> {
        Self::launch(place, Launch { config: limits.config(), ..Launch::default() }).await
    }

    pub(crate) async fn launch(place: &Path, launch: Launch<'_>) -> Result<Self, CliError> {
        let data = place.join("data");
        let log = place.join("up.log");
        let failed = "the control plane could not be started";
        std::fs::create_dir_all(&data)
            .and_then(|()| std::fs::write(data.join("cloister.toml"), launch.config))
            .map_err(CliError::io(failed))?;
        let mut child = File::create(&log)
            .and_then(|log| spawn(&data, log, launch))
            .map_err(CliError::io(failed))?;
        match tokio::time::timeout(START_TIME, first_line(&mut child)).await {
            Ok(Ok(line)) if !line.is_empty() => match serde_json::from_str::<Started>(&line) {
                Ok(started) => {
                    let client = Client::running(&data).await?;
                    Ok(Self { child, client, data, log, started })
                }
                Err(other) => match serde_json::from_str::<ErrorEnvelope>(&line) {
                    Ok(envelope) => Err(envelope.error.into()),
                    Err(_neither) => {
                        Err(CliError::new(ErrorCode::Internal, format!("{failed}: {other}")))
                    }
                },
            },
            Ok(Ok(_)) => {
                let said = std::fs::read_to_string(&log).unwrap_or_default();
                Err(CliError::new(ErrorCode::Internal, format!("{failed}: {}", said.trim_end())))
            }
            Ok(Err(error)) => Err(CliError::io(failed)(error)),
            Err(late) => Err(CliError::new(ErrorCode::Internal, format!("{failed}: {late}"))),
        }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    pub(crate) fn url(&self) -> &str {
        &self.started.url
    }

    /// Logs its first user in, once.
    pub(crate) fn login_url(&self) -> &str {
        &self.started.login_url
    }

    /// What its log complains of, the last few lines.
    pub(crate) fn complaints(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let bad = |line: &&str| line.contains("ERROR") || line.contains("WARN");
        let mut lines: Vec<&str> = log.lines().rev().filter(bad).take(COMPLAINTS).collect();
        lines.reverse();
        lines.join("\n")
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// The proportional memory of the process.
    pub(crate) fn pss_bytes(&self) -> Result<u64, CliError> {
        let failed = "the memory of the control plane could not be read";
        let unreadable = || CliError::new(ErrorCode::Internal, failed);
        let pid = self.child.id().ok_or_else(unreadable)?;
        let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))
            .map_err(CliError::io(failed))?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kib.map(|kib| kib << 10).ok_or_else(unreadable)
    }

    pub(crate) async fn stop(&mut self) {
        let pid = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // It fails only if the process is gone already.
            rustix::process::kill_process(pid, Signal::TERM).ok();
        }
        if tokio::time::timeout(STOP_TIME, self.child.wait()).await.is_err()
            && let Err(error) = self.child.kill().await
        {
            tracing::warn!(
                error = with_causes(&error),
                "the measured control plane could not be killed"
            );
        }
    }
}

async fn first_line(child: &mut Child) -> std::io::Result<String> {
    let mut line = String::new();
    if let Some(output) = &mut child.stdout {
        BufReader::new(output).read_line(&mut line).await?;
    }
    Ok(line)
}

#[expect(
    clippy::disallowed_methods,
    reason = "what is measured and attacked is the program that people run"
)]
fn spawn(data: &Path, log: File, launch: Launch<'_>) -> std::io::Result<Child> {
    let program = match launch.program {
        Some(program) => program.to_owned(),
        None => std::env::current_exe()?.with_file_name("cloister"),
    };
    Command::new(program)
        .envs(launch.variables.iter().copied())
        .arg("--data")
        .arg(data)
        .args(["--json", "up", "--listen", "127.0.0.1:0"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
}
