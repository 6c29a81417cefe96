//! What the backend and the launcher tell each other: a spec down, reports up, one JSON line each.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The door's socket, as it is seen inside.
pub const DOOR_PATH: &str = "/run/cloister/door.sock";
/// The longest line either side reads.
pub const MAX_LINE_BYTES: usize = 256 * 1024;

/// What the launcher is to build. Holds no secret.
#[derive(Debug, Serialize, Deserialize)]
pub struct LaunchSpec {
    /// The argument of the agent: what it is.
    pub role: String,
    /// The host uid and gid behind the one inside.
    pub host_id: u32,
    pub agent: PathBuf,
    pub door: PathBuf,
    pub cwd: PathBuf,
    pub mounts: Vec<MountSpec>,
    pub limits: LimitSpec,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct MountSpec {
    pub source: PathBuf,
    pub target: PathBuf,
    pub writable: bool,
    /// What is written goes into folders over the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlay: Option<OverlaySpec>,
}

/// Folders over the source of a mount.
#[derive(Debug, Serialize, Deserialize)]
pub struct OverlaySpec {
    /// Those that are only read, the uppermost first.
    pub over: Vec<PathBuf>,
    /// Holds `upper`, which is written to, and `work`, which is the kernel's.
    pub top: PathBuf,
}

/// The limits that processes carry themselves.
#[derive(Debug, Serialize, Deserialize)]
pub struct LimitSpec {
    pub processes: u64,
    pub file_bytes: u64,
    pub open_files: u64,
    pub tmp_bytes: u64,
    /// Writable memory of each process, where no cgroup counts it for all of them.
    pub process_memory_bytes: Option<u64>,
    /// Memory that belongs to no process is refused where nothing would count it.
    pub refuse_unowned_memory: bool,
    pub nice: i32,
    /// Nobody waits for it: it gives way.
    pub gives_way: bool,
}

/// What the launcher says, in this order: `built` by the outer process, `ready` or `failed`, `ended`.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// The sandbox's PID 1, as the host numbers it.
    Built {
        init: i32,
    },
    /// Every layer is in force and the agent runs.
    Ready,
    Failed(LayerFailure),
    Ended(ProcessEnded),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerFailure {
    /// Which layer could not be put in force; see `launcher::error`.
    pub layer: Layer,
    pub reason: String,
}

/// The layers by name, as people read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Not a layer: the launcher was told something it can't do.
    Spec,
    Namespaces,
    UidMap,
    Mounts,
    Proc,
    Network,
    Limits,
    Capabilities,
    Landlock,
    Seccomp,
    /// Not a layer: the agent could not be started.
    Agent,
}

impl Layer {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::Namespaces => "user and other namespaces",
            Self::UidMap => "uid map",
            Self::Mounts => "mounts",
            Self::Proc => "own /proc",
            Self::Network => "own network",
            Self::Limits => "process limits",
            Self::Capabilities => "dropping privileges",
            Self::Landlock => "Landlock",
            Self::Seccomp => "seccomp",
            Self::Agent => "agent",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessEnded {
    Code(i32),
    Signal(i32),
}
