//! The backend: starts a launcher per sandbox and gives control a handle on it.

mod adopt;
mod cgroup;
mod check;
mod handle;
mod processes;
mod supervise;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use cloister_control::ports::{
    Access, CellBackend, Check, Inhabitant, LaunchError, Limits, Owner, Sandbox, SandboxSpec,
    TaskLayer,
};
use cloister_protocol::{WorkspaceId, with_causes};
use futures_util::future::BoxFuture;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags};
use rustix::process::{Gid, Pid, PidfdFlags, Uid};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines, Take};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use self::cgroup::{Group, Limiter};
use self::handle::{Handle, Running};
use cloister_launcher::wire::{
    LaunchSpec, Layer, LimitSpec, MAX_LINE_BYTES, MountSpec, OverlaySpec, Report,
};

/// How long a launcher may take until the agent runs.
const LAUNCH_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_LAUNCHES: usize = 16;
/// How much a launcher may ever report.
const MAX_REPORT_BYTES: u64 = 4 * MAX_LINE_BYTES as u64;
/// The argument of a connector's program.
const CONNECTOR: &str = "connector";
/// Where no cgroup shares the processor out, a sandbox that nobody waits for steps back behind the rest.
const NICE_WITHOUT_CGROUP: i32 = 10;

/// What the backend needs to know about its installation.
#[derive(Clone, Debug)]
pub struct Options {
    /// The `cloister-launcher` binary.
    pub launcher: PathBuf,
    /// The program that runs inside: the `cloister-agent` binary.
    pub agent: PathBuf,
    /// Tells the cgroups of one installation from another's: letters, digits and `-`.
    pub instance: String,
    /// As root, workspace `wN` runs with the host uid and gid `first_uid + N`.
    pub first_uid: u32,
}

impl Options {
    /// Above the ids that distributions hand out, below the ranges of user namespace tools.
    pub const FIRST_UID: u32 = 200_000;
}

/// Sandboxes made of kernel namespaces on this machine.
pub struct NativeBackend(Arc<Inner>);

struct Inner {
    options: Options,
    limiter: Arc<Limiter>,
    /// Launches under way; more wait, so that each has the processor it needs to be ready in time.
    launches: Semaphore,
    /// One supervisor per live sandbox.
    supervisors: TaskTracker,
}

type Reports = Lines<BufReader<Take<ChildStdout>>>;

impl NativeBackend {
    pub fn new(options: Options) -> Self {
        let limiter = Arc::new(Limiter::detect(&options.instance));
        let launches = Semaphore::new(MAX_LAUNCHES);
        Self(Arc::new(Inner { options, limiter, launches, supervisors: TaskTracker::new() }))
    }

    /// Sandboxes that are not entirely gone yet.
    pub fn live(&self) -> usize {
        self.0.supervisors.len()
    }

    /// Launches in a task of its own: a caller that gives up leaves nothing half built behind. The
    /// handle that nobody takes is dropped, which ends the sandbox.
    async fn launch_sandbox(&self, spec: SandboxSpec) -> Result<Box<dyn Sandbox>, LaunchError> {
        let (inner, name) = (Arc::clone(&self.0), spec.name.clone());
        let (give, take) = tokio::sync::oneshot::channel();
        self.0.supervisors.spawn(async move {
            give.send(inner.launch_sandbox(spec).await).ok();
        });
        take.await.unwrap_or_else(|_ending| {
            Err(LaunchError::Failed { name, reason: "the control plane is ending".to_owned() })
        })
    }
}

impl Inner {
    /// Surfaces have the ids below those of the workspaces.
    fn uid_of(&self, owner: Owner) -> u32 {
        let first = self.options.first_uid;
        match owner {
            Owner::Workspace(workspace) => first.saturating_add(workspace.number()),
            Owner::Surface(number) => first.saturating_sub(1 + u32::from(number)),
        }
    }

    async fn launch_sandbox(&self, spec: SandboxSpec) -> Result<Box<dyn Sandbox>, LaunchError> {
        let failed = |reason: String| LaunchError::Failed { name: spec.name.clone(), reason };
        valid_name(&spec.name).map_err(failed)?;
        let _place = self.launches.acquire().await.map_err(|error| failed(error.to_string()))?;
        let line = self.launch_line(&spec).map_err(failed)?;
        self.open_door(&spec).map_err(failed)?;
        let mut child = spawn(&self.options.launcher).map_err(|error| {
            failed(format!("start {}: {error}", self.options.launcher.display()))
        })?;
        let launcher = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let launcher = launcher.ok_or_else(|| failed("the launcher ended at once".to_owned()))?;
        // The launcher waits for its spec, so everything it starts is born into the group.
        let group = self.limiter.group(&spec.name, &spec.limits, launcher).map_err(|error| {
            LaunchError::CannotIsolate {
                layer: "cgroup".to_owned(),
                reason: error.to_string(),
                fix: None,
            }
        })?;
        match tokio::time::timeout(LAUNCH_TIMEOUT, begin(&mut child, &line)).await {
            Ok(Ok(started)) => Ok(self.supervise(spec, child, launcher, group, started)),
            Ok(Err(Begin::Failed(failure))) => {
                self.abandon(child, group).await;
                Err(refusal(&spec.name, failure))
            }
            Ok(Err(Begin::Broken(reason))) => {
                self.abandon(child, group).await;
                Err(failed(reason))
            }
            Err(elapsed) => {
                self.abandon(child, group).await;
                Err(failed(format!("the launcher did not get ready in time: {elapsed}")))
            }
        }
    }

    fn supervise(
        &self,
        spec: SandboxSpec,
        child: Child,
        launcher: Pid,
        group: Group,
        started: Started,
    ) -> Box<dyn Sandbox> {
        let (exit, exited) = tokio::sync::watch::channel(None);
        let running = Arc::new(Running::new(spec, launcher, started.init, started.pidfd));
        let supervisor = supervise::Supervisor {
            running: Arc::clone(&running),
            child,
            reports: started.reports,
            group,
            exit,
        };
        self.supervisors.spawn(supervisor.run());
        Box::new(Handle { running, exited, _lifeline: started.lifeline })
    }

    async fn abandon(&self, mut child: Child, group: Group) {
        // Its stdin closes with it, so a sandbox that was half built ends too.
        if let Err(error) = child.kill().await {
            tracing::warn!(
                error = with_causes(&error),
                "a launcher that failed could not be killed"
            );
        }
        group.remove().await;
    }

    /// The spec as the launcher reads it.
    fn launch_line(&self, spec: &SandboxSpec) -> Result<Vec<u8>, String> {
        let mount = |mount: &cloister_control::ports::Mount| MountSpec {
            source: mount.source.clone(),
            target: mount.target.clone(),
            writable: mount.access != Access::ReadOnly,
            overlay: match &mount.access {
                Access::ReadOnly | Access::ReadWrite => None,
                Access::Layered(TaskLayer { over, top }) => {
                    Some(OverlaySpec { over: over.clone(), top: top.clone() })
                }
            },
        };
        let (program, role) = match &spec.inhabitant {
            Inhabitant::Agent(role) => (&self.options.agent, role.as_str()),
            Inhabitant::Connector(program) => (program, CONNECTOR),
        };
        let agent = std::fs::canonicalize(program)
            .map_err(|error| format!("find {}: {error}", program.display()))?;
        let launch = LaunchSpec {
            role: role.to_owned(),
            host_id: self.uid_of(spec.owner),
            agent,
            door: spec.door.clone(),
            cwd: spec.cwd.clone(),
            mounts: spec.mounts.iter().map(mount).collect(),
            limits: self.limit_spec(&spec.limits),
        };
        let mut line = serde_json::to_vec(&launch).map_err(|error| error.to_string())?;
        line.push(b'\n');
        Ok(line)
    }

    fn limit_spec(&self, limits: &Limits) -> LimitSpec {
        let counted = self.limiter.counts_memory();
        LimitSpec {
            processes: limits.processes.into(),
            file_bytes: limits.file_bytes,
            open_files: limits.open_files.into(),
            tmp_bytes: limits.tmp_bytes,
            process_memory_bytes: (!counted).then_some(limits.memory_bytes),
            refuse_unowned_memory: !counted,
            nice: if counted || limits.cpu_weight >= 100 { 0 } else { NICE_WITHOUT_CGROUP },
            gives_way: limits.cpu_weight < 100,
        }
    }

    /// As root the agent has another uid: the socket of its door becomes its own.
    fn open_door(&self, spec: &SandboxSpec) -> Result<(), String> {
        if !rustix::process::geteuid().is_root() {
            return Ok(());
        }
        let uid = self.uid_of(spec.owner);
        let open = || {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            let door = rustix::fs::openat2(CWD, &spec.door, flags, Mode::empty(), resolve)?;
            let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(uid)));
            rustix::fs::chownat(door, "", uid, gid, AtFlags::EMPTY_PATH)
        };
        open().map_err(|error| format!("open the door {}: {error}", spec.door.display()))
    }
}

impl CellBackend for NativeBackend {
    fn name(&self) -> &'static str {
        "native"
    }

    fn check(&self) -> BoxFuture<'_, Vec<Check>> {
        Box::pin(check::all(&self.0))
    }

    fn sweep(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.limiter.sweep())
    }

    fn launch(&self, spec: SandboxSpec) -> BoxFuture<'_, Result<Box<dyn Sandbox>, LaunchError>> {
        Box::pin(self.launch_sandbox(spec))
    }

    fn adopt(&self, workspace: WorkspaceId, file: &std::fs::File) -> std::io::Result<()> {
        adopt::adopt(self.0.uid_of(workspace.into()), file)
    }

    fn give(&self, surface: u8, dir: &Path) -> std::io::Result<()> {
        adopt::give(self.0.uid_of(Owner::Surface(surface)), dir)
    }

    fn show(&self, workspace: WorkspaceId, file: &std::fs::File) -> std::io::Result<()> {
        adopt::show(self.0.uid_of(workspace.into()), file)
    }

    fn can_lay<'a>(&'a self, place: &'a Path) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(check::can_lay(&self.0, place))
    }

    fn give_back(&self) -> std::io::Result<()> {
        crate::give_back_program().map(drop)
    }
}

/// A sandbox whose agent runs.
struct Started {
    init: Pid,
    pidfd: std::os::fd::OwnedFd,
    reports: Reports,
    lifeline: tokio::process::ChildStdin,
}

enum Begin {
    Failed(cloister_launcher::wire::LayerFailure),
    Broken(String),
}

/// Sends the spec and waits until the agent runs.
async fn begin(child: &mut Child, line: &[u8]) -> Result<Started, Begin> {
    let broken = |reason: &str| Begin::Broken(reason.to_owned());
    let mut lifeline = child.stdin.take().ok_or_else(|| broken("the launcher has no input"))?;
    let output = child.stdout.take().ok_or_else(|| broken("the launcher has no output"))?;
    lifeline
        .write_all(line)
        .await
        .map_err(|error| Begin::Broken(format!("send the spec to the launcher: {error}")))?;
    let mut reports = BufReader::new(output.take(MAX_REPORT_BYTES)).lines();
    let mut init = None;
    loop {
        match (next_report(&mut reports).await, init.take()) {
            (Some(Report::Built { init: pid }), None) => {
                let pid = Pid::from_raw(pid).ok_or_else(|| broken("PID 1 has no number"))?;
                let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty())
                    .map_err(|error| Begin::Broken(format!("hold PID 1: {error}")))?;
                lifeline
                    .write_all(b"\n")
                    .await
                    .map_err(|error| Begin::Broken(format!("answer the launcher: {error}")))?;
                init = Some((pid, pidfd));
            }
            (Some(Report::Ready), Some((init, pidfd))) => {
                return Ok(Started { init, pidfd, reports, lifeline });
            }
            (Some(Report::Failed(failure)), _) => return Err(Begin::Failed(failure)),
            (Some(report), _) => {
                return Err(Begin::Broken(format!("the launcher said {report:?} too early")));
            }
            (None, _) => return Err(broken("the launcher ended before the agent ran")),
        }
    }
}

async fn next_report(reports: &mut Reports) -> Option<Report> {
    let line = reports.next_line().await.ok().flatten()?;
    serde_json::from_str(&line).ok()
}

#[expect(clippy::disallowed_methods, reason = "the sandbox is what starts programs")]
fn spawn(launcher: &Path) -> std::io::Result<Child> {
    Command::new(launcher)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
}

/// A missing layer is the machine's fault and has a remedy; anything else is this launch's.
fn refusal(name: &str, failure: cloister_launcher::wire::LayerFailure) -> LaunchError {
    match failure.layer {
        Layer::Spec | Layer::Agent => {
            LaunchError::Failed { name: name.to_owned(), reason: failure.reason }
        }
        Layer::Namespaces
        | Layer::UidMap
        | Layer::Mounts
        | Layer::Proc
        | Layer::Network
        | Layer::Limits
        | Layer::Capabilities
        | Layer::Landlock
        | Layer::Seccomp => LaunchError::CannotIsolate {
            layer: failure.layer.as_str().to_owned(),
            reason: failure.reason,
            fix: check::fix(failure.layer),
        },
    }
}

fn valid_name(name: &str) -> Result<(), String> {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if plain && (1..=100).contains(&name.len()) {
        Ok(())
    } else {
        Err("a sandbox's name is 1 to 100 letters, digits and '-'".to_owned())
    }
}
