//! Group F: nothing outlives its sandbox, however it ends.

use std::fs;
use std::time::{Duration, Instant};

use cloister_control::ports::{CellBackend, SandboxSpec};
use cloister_sandbox::NativeBackend;
use rustix::process::{Pid, Signal};

use crate::halves::long_form;
use crate::suite::{Build, Suite, limits};

/// Sandboxes that live at the same time.
const AT_ONCE: u32 = 10;
const GONE_WITHIN: Duration = Duration::from_secs(1);

/// Layers without which processes outlive their launcher.
const OUTLIVES: &str = "pid_namespace+lifeline+own_root+landlock";

pub(crate) async fn attack(suite: &mut Suite) {
    if let Some(token) = crate::halves::variable("CLOISTER_ESCAPE_ORPHAN") {
        return play_control_plane(suite, token).await;
    }
    daemon(suite).await;
    control_plane_dies(suite).await;
    cycles(suite).await;
}

/// Processes on this machine with a word in their arguments.
fn processes_with(token: &str) -> Vec<Pid> {
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let pid = entry.ok()?.file_name().to_str()?.parse().ok().and_then(Pid::from_raw)?;
        let path = format!("/proc/{}/cmdline", pid.as_raw_nonzero());
        fs::read(path).ok().filter(|text| contains(text, token)).map(|_| pid)
    });
    pids.collect()
}

fn contains(text: &[u8], token: &str) -> bool {
    text.windows(token.len()).any(|window| window == token.as_bytes())
}

/// Launchers that this process has started and that still run.
fn launchers() -> Vec<Pid> {
    let mut found = Vec::new();
    for task in fs::read_dir("/proc/self/task").unwrap().flatten() {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        let pids = children.split_whitespace().filter_map(|pid| pid.parse().ok());
        found.extend(pids.filter_map(Pid::from_raw));
    }
    found
}

async fn gone(token: &str) -> Result<Duration, usize> {
    let start = Instant::now();
    loop {
        let left = processes_with(token).len();
        if left == 0 {
            return Ok(start.elapsed());
        }
        if start.elapsed() > GONE_WITHIN {
            return Err(left);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// What became of a daemon that ignores what it can.
enum Daemon {
    GoneAfter(Duration),
    Left(usize),
    NotStarted(String),
}

/// Starts such a daemon, then kills the launcher.
async fn daemon_after_launcher_dies(suite: &mut Suite, build: Build<'_>) -> Daemon {
    let token = format!("daemon-{}-{}", std::process::id(), suite.launches());
    let started = suite.start(build, "E58", std::slice::from_ref(&token), limits()).await;
    let (sandbox, _door) = match started {
        Ok(started) => started,
        Err(error) => return Daemon::NotStarted(error.to_string()),
    };
    let start = Instant::now();
    while !sandbox.log_tail().contains("done") || !daemon_runs(&token) {
        if start.elapsed() > Duration::from_secs(5) {
            return Daemon::NotStarted(sandbox.log_tail());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for launcher in launchers() {
        rustix::process::kill_process(launcher, Signal::KILL).ok();
    }
    let left = gone(&token).await;
    end_all(&token);
    match left {
        Ok(time) => Daemon::GoneAfter(time),
        Err(count) => Daemon::Left(count),
    }
}

fn daemon_runs(token: &str) -> bool {
    !processes_with(&format!("{token}\0daemon")).is_empty()
}

fn end_all(token: &str) {
    for pid in processes_with(token) {
        rustix::process::kill_process(pid, Signal::KILL).ok();
    }
}

async fn daemon(suite: &mut Suite) {
    let hardened = match daemon_after_launcher_dies(suite, Build::Hardened).await {
        Daemon::GoneAfter(time) => Ok(format!("held, all gone in {} ms", time.as_millis())),
        Daemon::Left(count) => Err(format!("{count} processes are left after a second")),
        Daemon::NotStarted(why) => Err(format!("the daemon did not start: {why}")),
    };
    let weakened = match daemon_after_launcher_dies(suite, Build::Without(OUTLIVES)).await {
        Daemon::GoneAfter(time) => Err(format!("DOES NOT BITE: gone after {time:?}")),
        Daemon::Left(count) => {
            Ok(format!("without {OUTLIVES}: escaped: {count} processes are left after a second"))
        }
        Daemon::NotStarted(why) => Err(format!("DOES NOT BITE: {why}")),
    };
    suite.row("E58", "daemon, launcher killed", hardened, weakened);
}

/// The control plane is killed while a sandbox runs a daemon: played by a copy of this test that
/// launches, says so and waits.
async fn control_plane_dies(suite: &mut Suite) {
    let token = format!("orphan-{}", std::process::id());
    let mut control_plane = crate::halves::command(&std::env::current_exe().unwrap())
        .args(["--exact", "nothing_is_left_behind", "--nocapture"])
        .env("CLOISTER_ESCAPE_ORPHAN", &token)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !daemon_runs(&token) && start.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let running = daemon_runs(&token);
    control_plane.kill().unwrap();
    control_plane.wait().unwrap();
    let hardened = match gone(&token).await {
        Ok(time) if running => Ok(format!("held, all gone in {} ms", time.as_millis())),
        Ok(_) => Err("the daemon did not start".to_owned()),
        Err(count) => Err(format!("{count} processes are left after a second")),
    };
    end_all(&token);
    suite.row("E58", "daemon, control plane killed", hardened, Ok("as above".to_owned()));
    // The next control plane of that installation clears its groups away.
    let instance = format!("escape-{}", control_plane.id());
    let before = groups_named(&instance);
    suite.backend_of(&instance).sweep().await;
    let swept = match groups_named(&instance) {
        0 => Ok(format!("held, {before} groups cleared away")),
        left => Err(format!("{left} of {before} groups are left")),
    };
    suite.row("E58", "… and its groups", swept, Ok("as above".to_owned()));
}

/// Plays the control plane of [`control_plane_dies`].
async fn play_control_plane(suite: &mut Suite, token: String) {
    let _running = suite.start(Build::Hardened, "E58", &[token], limits()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
}

/// Starts a sandbox and ends it: the launch is given up, or every launcher is killed, or the handle
/// is dropped.
async fn one_life(backend: &NativeBackend, spec: SandboxSpec, random: u32) {
    let delay = Duration::from_micros(u64::from(random >> 16) % 20_000);
    let launch = backend.launch(spec);
    let way = (random >> 8) % 3;
    if way == 0 {
        tokio::time::timeout(delay, launch).await.ok();
        return;
    }
    // Another life may have killed this one's launcher by now.
    let Ok(sandbox) = launch.await else { return };
    tokio::time::sleep(delay).await;
    if way == 1 {
        for launcher in launchers() {
            rustix::process::kill_process(launcher, Signal::KILL).ok();
        }
        sandbox.wait().await;
    }
}

/// Starts sandboxes and ends them at random points, in every way there is.
async fn cycles(suite: &mut Suite) {
    let count = if long_form() { 1000 } else { 60 };
    let before = Traces::settled(suite).await;
    let mut random = std::process::id();
    let token = format!("cycle-{}", std::process::id());
    let agent = suite.agent(Build::Hardened, "E58", std::slice::from_ref(&token));
    let spec = suite.spec(limits());
    let _door = std::os::unix::net::UnixListener::bind(&spec.door).unwrap();
    let backend = suite.backend(Build::Hardened, agent);
    for batch in 0..count / AT_ONCE {
        let lives = (0..AT_ONCE).map(|place| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let name = format!("cycle-{}", batch * AT_ONCE + place);
            one_life(&backend, SandboxSpec { name, ..spec.clone() }, random)
        });
        futures_util::future::join_all(lives.collect::<Vec<_>>()).await;
    }
    let left = gone(&token).await.err().unwrap_or(0);
    let start = Instant::now();
    while backend.live() > 0 && start.elapsed() < Duration::from_secs(5) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(backend);
    let after = Traces::settled(suite).await;
    let hardened = if left == 0 && after == before {
        Ok(format!("held, {count} cycles, nothing left, seed {}", std::process::id()))
    } else {
        Err(format!("{left} processes left; {before:?} became {after:?}"))
    };
    let mut left = 0;
    for _ in 0..3 {
        if let Daemon::Left(count) =
            daemon_after_launcher_dies(suite, Build::Without(OUTLIVES)).await
        {
            left += count;
        }
    }
    let weakened = if left > 0 {
        Ok(format!("without {OUTLIVES}: escaped: {left} processes left of 3 cycles"))
    } else {
        Err("DOES NOT BITE".to_owned())
    };
    suite.row("E59", "start and kill at random points", hardened, weakened);
    Traces::settled(suite).await;
}

/// What a sandbox could leave on the host.
#[derive(Debug, PartialEq)]
struct Traces {
    mounts: usize,
    groups: usize,
    children: usize,
    temporary: usize,
}

impl Traces {
    /// What is there once the sandboxes of earlier rows are gone, or a bounded time has passed.
    async fn settled(suite: &Suite) -> Self {
        let start = Instant::now();
        loop {
            let traces = Self::find(suite);
            let quiet = traces.groups == 0 && traces.children == 0;
            if quiet || start.elapsed() > Duration::from_secs(3) {
                return traces;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn find(suite: &Suite) -> Self {
        let entries = |dir: &std::path::Path| fs::read_dir(dir).map_or(0, Iterator::count);
        Self {
            mounts: fs::read_to_string("/proc/self/mountinfo").unwrap().lines().count(),
            groups: groups_named(&format!("escape-{}", std::process::id())),
            children: launchers().len(),
            temporary: entries(&suite.host.root),
        }
    }
}

/// The parent groups of an installation, in every hierarchy.
fn groups_named(instance: &str) -> usize {
    let name = format!("cloister-{instance}");
    let mut open = vec![std::path::PathBuf::from("/sys/fs/cgroup")];
    let mut found = 0;
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                found += usize::from(entry.file_name().to_string_lossy() == *name);
                open.push(entry.path());
            }
        }
    }
    found
}
