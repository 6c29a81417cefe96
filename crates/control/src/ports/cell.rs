//! The port of a cell backend: how control asks for an isolated place and lets go of it.
//!
//! A backend gives a sandbox exactly the mounts, the door and the limits of its spec, or refuses the
//! launch. There is no weaker mode.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cloister_protocol::{ErrorCode, WorkspaceId};
use futures_util::future::BoxFuture;

/// What runs in a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inhabitant {
    Agent(Role),
    /// The program of a connector, by its path on the host.
    Connector(PathBuf),
}

/// What an agent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Coordinator,
    Executor,
}

impl Role {
    /// The argument that tells the agent what it is.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Coordinator => "coordinator",
            Self::Executor => "executor",
        }
    }
}

/// Everything a backend needs to launch one sandbox.
#[derive(Clone, Debug)]
pub struct SandboxSpec {
    /// Unique among live sandboxes; letters, digits and `-` only.
    pub name: String,
    pub inhabitant: Inhabitant,
    pub owner: Owner,
    pub mounts: Vec<Mount>,
    /// The host path of the door's socket; it appears at `protocol::link::DOOR_PATH`.
    pub door: PathBuf,
    /// The working directory inside.
    pub cwd: PathBuf,
    pub limits: Limits,
}

/// Whose sandbox it is. Selects the uid: no two owners share one where the backend can help it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    Workspace(WorkspaceId),
    /// A surface, by its place among the surfaces.
    Surface(u8),
}

impl From<WorkspaceId> for Owner {
    fn from(workspace: WorkspaceId) -> Self {
        Self::Workspace(workspace)
    }
}

#[derive(Clone, Debug)]
pub struct Mount {
    pub source: PathBuf,
    pub target: PathBuf,
    pub access: Access,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    ReadOnly,
    ReadWrite,
    /// What is written goes elsewhere: the source stays as it is.
    Layered(TaskLayer),
}

/// Folders over the source of a mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskLayer {
    /// Those that are only read, the uppermost first.
    pub over: Vec<PathBuf>,
    /// Holds `upper`, which is written to, and `work`, which is the kernel's.
    pub top: PathBuf,
}

#[derive(Clone, Debug)]
pub struct Limits {
    pub memory_bytes: u64,
    pub processes: u32,
    /// Percent of one core.
    pub cpu_percent: u32,
    /// Its share of a busy processor, against 100 for a sandbox that people wait for.
    pub cpu_weight: u32,
    /// The largest single file a process may write.
    pub file_bytes: u64,
    pub open_files: u32,
    /// The private `/tmp`.
    pub tmp_bytes: u64,
    /// What of the agent's own stderr is kept.
    pub log_bytes: u64,
    pub wall: Option<Duration>,
}

/// How a sandbox ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// It hit its memory limit.
    OutOfMemory,
    /// It ran into its wall-time limit.
    OutOfTime,
    /// `kill` was called.
    Killed,
}

impl Exit {
    /// One word for it, for counting.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Code(0) => "ended",
            Self::Code(_) => "failed",
            Self::Signal(_) => "signal",
            Self::OutOfMemory => "out_of_memory",
            Self::OutOfTime => "out_of_time",
            Self::Killed => "killed",
        }
    }
}

/// A live sandbox. Dropping it kills everything in it.
pub trait Sandbox: Send + Sync {
    /// Kills every process inside; resolves when none is left, within a second.
    fn kill(&self) -> BoxFuture<'_, ()>;
    /// Resolves when the sandbox has ended, to every caller.
    fn wait(&self) -> BoxFuture<'_, Exit>;
    /// Refuses (`false`) or allows (`true`) writes to files, for the quota; deletes always work.
    fn set_writable(&self, writable: bool) -> BoxFuture<'_, ()>;
    /// Proportional memory of every process inside, launcher included, if it can be read.
    fn memory_pss(&self) -> Option<u64>;
    /// The last lines of what the agent wrote to stderr, for the log.
    fn log_tail(&self) -> String;
}

pub trait CellBackend: Send + Sync + 'static {
    fn name(&self) -> &'static str;
    /// What this machine offers. A failed `required` check means that `launch` would refuse.
    fn check(&self) -> BoxFuture<'_, Vec<Check>>;
    /// Removes what a killed control plane left behind.
    fn sweep(&self) -> BoxFuture<'_, ()>;
    fn launch(&self, spec: SandboxSpec) -> BoxFuture<'_, Result<Box<dyn Sandbox>, LaunchError>>;
    /// Whether its sandboxes can see folders over one another (`Access::Layered`), with those that are written to in
    /// this place; why not.
    fn can_lay<'a>(&'a self, _place: &'a Path) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }
    /// Gives one file or directory (not what is in it) to the sandboxes of this workspace.
    fn adopt(&self, workspace: WorkspaceId, file: &std::fs::File) -> std::io::Result<()>;
    /// Gives a surface's directory, with everything in it, to its connector. Not while that runs.
    fn give(&self, _surface: u8, _dir: &Path) -> std::io::Result<()> {
        Ok(())
    }
    /// Lets the sandboxes of this workspace read one file or directory (not what is in it) that stays
    /// the control plane's own.
    fn show(&self, workspace: WorkspaceId, file: &std::fs::File) -> std::io::Result<()>;
    /// Gives back what this process, which launches all of them, keeps of its program and does not use now.
    fn give_back(&self) -> std::io::Result<()> {
        Ok(())
    }
}

/// One thing `doctor` looked at.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Check {
    /// Stable: people and programs may rely on it.
    pub id: &'static str,
    pub status: CheckStatus,
    /// What was found.
    pub found: String,
    /// What to do, when there is something to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    Ok,
    /// It works, with a limit that is worth knowing.
    Note,
    /// Cells can't be launched.
    Failed,
}

#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error("this machine can't isolate a cell: {layer}: {reason}")]
    CannotIsolate { layer: String, reason: String, fix: Option<String> },
    #[error("the sandbox {name} did not start: {reason}")]
    Failed { name: String, reason: String },
}

impl LaunchError {
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::CannotIsolate { .. } => ErrorCode::CannotIsolate,
            Self::Failed { .. } => ErrorCode::Internal,
        }
    }
}
