//! What this machine offers, for `doctor`, and what to do about what it does not.

use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cloister_control::ports::{
    Access, CellBackend, Check, CheckStatus, Exit, Inhabitant, LaunchError, Limits, Mount, Role,
    SandboxSpec, TaskLayer,
};
use cloister_protocol::{WorkspaceId, with_causes};

use super::cgroup::{Limiter, Means};
use super::{Inner, NativeBackend, Options};
use cloister_launcher as launcher;
use cloister_launcher::wire::Layer;

/// Far more than it takes: a machine that is busy while it starts can isolate all the same.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(30);
/// Nobody's.
const TRIAL_WORKSPACE: WorkspaceId = WorkspaceId::from_number(0);
/// Programs that do nothing, successfully.
const TRIAL_PROGRAMS: [&str; 2] = ["/usr/bin/true", "/bin/true"];
const TOOLS: [(&str, &str, &str); 4] = [
    ("tools.python3", "python3", "python3"),
    ("tools.git", "git", "git"),
    ("tools.gcc", "gcc", "gcc libc6-dev"),
    ("tools.node", "node", "nodejs"),
];

pub(super) async fn all(backend: &Inner) -> Vec<Check> {
    let mut checks = vec![
        binary("launcher.binary", &backend.options.launcher),
        binary("agent.binary", &backend.options.agent),
        user_namespaces(),
        landlock(),
        seccomp(),
        limits(&backend.limiter),
    ];
    checks.extend(TOOLS.map(|(id, name, package)| tool(id, name, package)));
    checks.push(trial(backend).await);
    checks
}

fn ok(id: &'static str, found: impl Into<String>) -> Check {
    Check { id, status: CheckStatus::Ok, found: found.into(), fix: None }
}

fn failed(id: &'static str, found: impl Into<String>, fix: Option<String>) -> Check {
    Check { id, status: CheckStatus::Failed, found: found.into(), fix }
}

fn note(id: &'static str, found: impl Into<String>, fix: String) -> Check {
    Check { id, status: CheckStatus::Note, found: found.into(), fix: Some(fix) }
}

fn binary(id: &'static str, path: &Path) -> Check {
    match rustix::fs::access(path, rustix::fs::Access::EXEC_OK) {
        Ok(()) => ok(id, path.display().to_string()),
        Err(error) => failed(
            id,
            format!("{}: {error}", path.display()),
            Some("install it next to the cloister binary".to_owned()),
        ),
    }
}

fn user_namespaces() -> Check {
    let id = "kernel.userns";
    match fix(Layer::Namespaces) {
        Some(fix) => failed(id, "user namespaces are switched off", Some(fix)),
        None => ok(id, "user namespaces are available"),
    }
}

fn landlock() -> Check {
    let id = "kernel.landlock";
    match launcher::landlock_version() {
        Ok(version) if version >= launcher::OLDEST_LANDLOCK => ok(id, format!("version {version}")),
        Ok(version) => failed(id, format!("version {version} is too old"), fix(Layer::Landlock)),
        Err(error) => failed(id, format!("not available: {error}"), fix(Layer::Landlock)),
    }
}

fn seccomp() -> Check {
    let id = "kernel.seccomp";
    let actions = setting("kernel/seccomp/actions_avail").unwrap_or_default();
    if ["errno", "kill_process"].iter().all(|action| actions.contains(action)) {
        ok(id, "filters are available")
    } else {
        failed(id, "the kernel has no seccomp filters", fix(Layer::Seccomp))
    }
}

fn limits(limiter: &Limiter) -> Check {
    let id = "limits.cgroup";
    match &limiter.means {
        Means::V2(parent) => ok(id, format!("cgroup v2 at {}", parent.display())),
        Means::V1([memory, ..]) => {
            ok(id, format!("cgroup v1 (memory at {}, pids, cpu)", memory.display()))
        }
        Means::Processes { why } => note(
            id,
            format!(
                "no cgroup may be made ({why}); limits of single processes are in force, memory is \
                 counted ten times a second, and cells run at a lower priority without a cap on CPU"
            ),
            delegation(),
        ),
    }
}

/// How to let this user make groups, on a machine of either kind.
fn delegation() -> String {
    let user = rustix::process::geteuid().as_raw();
    if Path::new("/sys/fs/cgroup/memory").is_dir() {
        return format!(
            "let root run, with PID the shell that `cloister up` is started from: `for c in memory \
             pids cpu; do g=/sys/fs/cgroup/$c/cloister; mkdir -p $g; chown -R {user} $g; echo PID \
             > $g/cgroup.procs; done`"
        );
    }
    "start it as `systemd-run --user --scope -p Delegate=yes cloister up`".to_owned()
}

fn tool(id: &'static str, name: &str, package: &str) -> Check {
    let places = ["/usr/local/bin", "/usr/bin", "/bin"];
    let found = places.iter().map(|dir| Path::new(dir).join(name)).find(|path| path.exists());
    match found {
        Some(path) => ok(id, path.display().to_string()),
        None => note(
            id,
            format!("{name} is not installed, so agents can't use it"),
            format!("install it, for example `apt install {package}`"),
        ),
    }
}

/// Launches a program that does nothing, with everything a cell gets.
async fn trial(backend: &Inner) -> Check {
    let id = "launch.trial";
    match tokio::time::timeout(TRIAL_TIMEOUT, try_launch(backend, None)).await {
        Ok(Ok(Exit::Code(0))) => ok(id, "a sandbox was launched and ended"),
        Ok(Ok(exit)) => failed(id, format!("the trial ended with {exit:?}"), None),
        Ok(Err(LaunchError::CannotIsolate { layer, reason, fix })) => {
            failed(id, format!("{layer}: {reason}"), fix)
        }
        Ok(Err(error)) => failed(id, error.to_string(), None),
        Err(elapsed) => failed(id, format!("the trial did not end: {elapsed}"), None),
    }
}

/// Whether folders in this place can be laid over one another, tried as a task would; why not.
pub(super) async fn can_lay(backend: &Inner, place: &Path) -> Result<(), String> {
    match tokio::time::timeout(TRIAL_TIMEOUT, try_launch(backend, Some(place))).await {
        Ok(Ok(Exit::Code(0))) => Ok(()),
        Ok(Ok(exit)) => Err(format!("the trial ended with {exit:?}")),
        Ok(Err(LaunchError::CannotIsolate { layer, reason, .. })) => {
            Err(format!("{layer}: {reason}"))
        }
        Ok(Err(error)) => Err(error.to_string()),
        Err(elapsed) => Err(format!("the trial did not end: {elapsed}")),
    }
}

/// With a layer in a place, if there is one.
async fn try_launch(backend: &Inner, layer: Option<&Path>) -> Result<Exit, LaunchError> {
    let Some(program) = TRIAL_PROGRAMS.iter().map(Path::new).find(|path| path.exists()) else {
        let reason = format!("none of {TRIAL_PROGRAMS:?} is here to try with");
        return Err(LaunchError::Failed { name: "trial".to_owned(), reason });
    };
    let io = |error: std::io::Error| LaunchError::Failed {
        name: "trial".to_owned(),
        reason: format!("prepare a directory: {error}"),
    };
    let name = trial_name().map_err(io)?;
    let temporary = std::env::temp_dir();
    let scratch = Scratch::new(layer.unwrap_or(&temporary), &name).map_err(io)?;
    let door = scratch.0.join("door");
    let _listener = UnixListener::bind(&door).map_err(io)?;
    let options = Options { agent: program.to_owned(), ..backend.options.clone() };
    let trial = NativeBackend(Arc::new(Inner {
        launches: tokio::sync::Semaphore::new(1),
        options,
        limiter: Arc::clone(&backend.limiter),
        supervisors: backend.supervisors.clone(),
    }));
    let uid = backend.uid_of(TRIAL_WORKSPACE.into());
    let layered = layer.map(|_place| layered(uid, &scratch.0)).transpose().map_err(io)?;
    let mounts = layered.into_iter().collect();
    let sandbox = trial.launch(trial_spec(name, door, mounts)).await?;
    Ok(sandbox.wait().await)
}

/// A name that nobody had before: a trial that was killed leaves its directory, and process numbers come again, in
/// a container with every start.
fn trial_name() -> std::io::Result<String> {
    let mut number = [0u8; 8];
    rustix::rand::getrandom(&mut number, rustix::rand::GetRandomFlags::empty())?;
    Ok(format!("trial-{:016x}", u64::from_le_bytes(number)))
}

/// A layer over nothing, as every task has one over its chat's files.
fn layered(uid: u32, scratch: &Path) -> std::io::Result<Mount> {
    let (source, top) = (scratch.join("files"), scratch.join("layer"));
    for dir in [&source, &top, &top.join("upper"), &top.join("work")] {
        std::fs::create_dir(dir)?;
        super::adopt::adopt(uid, &std::fs::File::open(dir)?)?;
    }
    let access = Access::Layered(TaskLayer { over: Vec::new(), top });
    Ok(Mount { source, target: PathBuf::from("/chat"), access })
}

fn trial_spec(name: String, door: PathBuf, mounts: Vec<Mount>) -> SandboxSpec {
    SandboxSpec {
        name,
        inhabitant: Inhabitant::Agent(Role::Executor),
        owner: TRIAL_WORKSPACE.into(),
        mounts,
        door,
        cwd: PathBuf::from("/tmp"),
        limits: Limits {
            memory_bytes: 64 * 1024 * 1024,
            processes: 16,
            cpu_percent: 100,
            cpu_weight: 100,
            file_bytes: 1024 * 1024,
            open_files: 64,
            tmp_bytes: 1024 * 1024,
            log_bytes: 4096,
            wall: Some(TRIAL_TIMEOUT),
        },
    }
}

/// A directory that is gone when this is.
struct Scratch(PathBuf);

impl Scratch {
    fn new(place: &Path, name: &str) -> std::io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        // Sources of mounts hold no symlink.
        let dir = std::fs::canonicalize(place)?.join(format!("cloister-{name}"));
        std::fs::DirBuilder::new().mode(0o700).create(&dir)?;
        Ok(Self(dir))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(error = with_causes(&error), dir = %self.0.display(), "a trial's directory is left");
        }
    }
}

fn setting(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(Path::new("/proc/sys").join(path)).ok()?;
    Some(text.trim().to_owned())
}

/// What to do about a layer that could not be put in force, as far as the machine tells why.
pub(super) fn fix(layer: Layer) -> Option<String> {
    let root = rustix::process::geteuid().is_root();
    let is = |path: &str, value: &str| setting(path).as_deref() == Some(value);
    match layer {
        Layer::Namespaces | Layer::UidMap | Layer::Mounts | Layer::Network
            if is("user/max_user_namespaces", "0") =>
        {
            Some("allow user namespaces: `sysctl -w user.max_user_namespaces=10000`".to_owned())
        }
        Layer::Namespaces | Layer::UidMap | Layer::Mounts | Layer::Network
            if !root && is("kernel/unprivileged_userns_clone", "0") =>
        {
            Some(
                "allow user namespaces to users: `sysctl -w kernel.unprivileged_userns_clone=1`"
                    .to_owned(),
            )
        }
        Layer::Namespaces | Layer::UidMap | Layer::Mounts | Layer::Network
            if !root && is("kernel/apparmor_restrict_unprivileged_userns", "1") =>
        {
            Some(
                "AppArmor restricts user namespaces: add a profile for cloister-launcher with \
                 `userns,`, or `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`"
                    .to_owned(),
            )
        }
        Layer::Proc => Some(
            "in a container, run it with an unmasked /proc (Docker: `--security-opt \
             systempaths=unconfined`)"
                .to_owned(),
        ),
        Layer::Landlock => Some(
            "use Linux 5.19 or newer with Landlock among the security modules (boot with \
             `lsm=landlock,…`)"
                .to_owned(),
        ),
        Layer::Seccomp => Some("use a kernel with CONFIG_SECCOMP_FILTER".to_owned()),
        Layer::Namespaces
        | Layer::UidMap
        | Layer::Mounts
        | Layer::Network
        | Layer::Limits
        | Layer::Capabilities
        | Layer::Spec
        | Layer::Agent => None,
    }
}
