//! Limits that hold for a whole sandbox, by cgroup v2 or v1, whichever of them this process may use.
//!
//! All groups of an installation are below one parent group, named after it, in the part of the
//! hierarchy that this process was itself put into: a limit on the control plane holds for its cells.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cloister_control::ports::Limits;
use cloister_protocol::with_causes;
use rustix::process::{Pid, Signal};

const CONTROLLERS: [&str; 3] = ["memory", "pids", "cpu"];
const CPU_PERIOD_MICROSECONDS: u64 = 100_000;
/// The launcher and PID 1 count too.
const OWN_PROCESSES: u64 = 3;
const REMOVE_ATTEMPTS: u32 = 100;
/// How often the groups of a sandbox are made anew while their parents are being taken away.
const MAKE_ATTEMPTS: u32 = 8;
const REMOVE_PAUSE: Duration = Duration::from_millis(10);

/// What holds sandboxes to their limits on this machine.
pub(super) struct Limiter {
    pub(super) means: Means,
    /// The names of the groups that are in use, which a sweep leaves alone.
    live: Mutex<BTreeSet<String>>,
}

pub(super) enum Means {
    /// One hierarchy; the parent group of this installation.
    V2(PathBuf),
    /// A hierarchy per controller; the parent groups, in the order of [`CONTROLLERS`].
    V1([PathBuf; 3]),
    /// No group may be made: the limits of single processes, and counting.
    Processes { why: String },
}

/// The groups of one sandbox.
pub(super) struct Group {
    name: String,
    dirs: Vec<PathBuf>,
    /// The parent groups go when the last of these does.
    limiter: Arc<Limiter>,
}

impl Means {
    fn detect(name: &str) -> Self {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let unified = unified_parent(&mounts, &own, name);
        match unified {
            Ok(parent) => return Self::V2(parent),
            Err(ref error) => {
                tracing::debug!(error = with_causes(&error), "cgroup v2 is not available")
            }
        }
        match separate_parents(&mounts, &own, name) {
            Ok(parents) => Self::V1(parents),
            Err(error) => {
                let v2 = unified.err().map(|error| error.to_string()).unwrap_or_default();
                Self::Processes { why: format!("v2: {v2}; v1: {error}") }
            }
        }
    }
}

impl Limiter {
    pub(super) fn detect(instance: &str) -> Self {
        let plain = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '-';
        let name: String = "cloister-".chars().chain(instance.chars().filter(plain)).collect();
        Self { means: Means::detect(&name), live: Mutex::default() }
    }

    pub(super) const fn counts_memory(&self) -> bool {
        matches!(self.means, Means::V2(_) | Means::V1(_))
    }

    fn parents(&self) -> Vec<&Path> {
        match &self.means {
            Means::V2(parent) => vec![parent],
            Means::V1(parents) => parents.iter().map(PathBuf::as_path).collect(),
            Means::Processes { .. } => Vec::new(),
        }
    }

    /// Makes the groups of a sandbox and puts its launcher, which has started nothing yet, into them.
    pub(super) fn group(
        self: &Arc<Self>,
        name: &str,
        limits: &Limits,
        launcher: Pid,
    ) -> io::Result<Group> {
        let dirs = self.parents().into_iter().map(|parent| parent.join(name)).collect();
        self.live().insert(name.to_owned());
        let group = Group { name: name.to_owned(), dirs, limiter: Arc::clone(self) };
        let make = || group.make(limits).and_then(|()| group.add(launcher));
        let mut made = make();
        for _ in 0..MAKE_ATTEMPTS {
            // Another backend of this installation took the parent groups away when it ended; others may yet.
            if !matches!(&made, Err(error) if error.kind() == io::ErrorKind::NotFound) {
                break;
            }
            made = self.make_parents().and_then(|()| make());
        }
        if made.is_err() {
            try_remove(&group.dirs);
        }
        made.map(|()| group)
    }

    fn make_parents(&self) -> io::Result<()> {
        for parent in self.parents() {
            fs::create_dir_all(parent)?;
            if let Means::V2(parent) = &self.means {
                enable(parent)?;
            }
        }
        Ok(())
    }

    fn live(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes groups that a killed control plane left, with whatever still runs in them.
    pub(super) async fn sweep(&self) {
        for parent in self.parents() {
            let Ok(found) = fs::read_dir(parent) else { continue };
            for entry in found.flatten().filter(|entry| entry.path().is_dir()) {
                let in_use = self.live().contains(&*entry.file_name().to_string_lossy());
                if !in_use {
                    kill_members(&entry.path());
                    remove(&[entry.path()]).await;
                }
            }
        }
    }
}

impl Drop for Limiter {
    fn drop(&mut self) {
        for parent in self.parents() {
            // It stays while another control plane of this installation has sandboxes in it.
            fs::remove_dir(parent).ok();
        }
    }
}

impl Group {
    pub(super) fn counts_memory(&self) -> bool {
        !self.dirs.is_empty()
    }

    /// How many sandboxes there are on this machine, this one included.
    pub(super) fn live_sandboxes(&self) -> u32 {
        u32::try_from(self.limiter.live().len()).unwrap_or(u32::MAX)
    }

    fn make(&self, limits: &Limits) -> io::Result<()> {
        for dir in &self.dirs {
            match fs::create_dir(dir) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => made?,
            }
        }
        let quota = u64::from(limits.cpu_percent.max(1)) * CPU_PERIOD_MICROSECONDS / 100;
        let processes = (u64::from(limits.processes) + OWN_PROCESSES).to_string();
        let memory = limits.memory_bytes.to_string();
        match self.dirs.as_slice() {
            [dir] => {
                fs::write(dir.join("memory.max"), &memory)?;
                // Not every kernel accounts for swap.
                write_if_there(&dir.join("memory.swap.max"), "0")?;
                fs::write(dir.join("pids.max"), &processes)?;
                fs::write(dir.join("cpu.weight"), limits.cpu_weight.clamp(1, 10_000).to_string())?;
                fs::write(dir.join("cpu.max"), format!("{quota} {CPU_PERIOD_MICROSECONDS}"))
            }
            [memory_dir, pids_dir, cpu_dir] => {
                fs::write(memory_dir.join("memory.limit_in_bytes"), &memory)?;
                write_if_there(&memory_dir.join("memory.memsw.limit_in_bytes"), &memory)?;
                fs::write(pids_dir.join("pids.max"), &processes)?;
                // The older hierarchy calls 100 of the newer one 1024.
                let shares = (u64::from(limits.cpu_weight) * 1024 / 100).max(2);
                fs::write(cpu_dir.join("cpu.shares"), shares.to_string())?;
                let period = CPU_PERIOD_MICROSECONDS.to_string();
                fs::write(cpu_dir.join("cpu.cfs_period_us"), period)?;
                fs::write(cpu_dir.join("cpu.cfs_quota_us"), quota.to_string())
            }
            _ => Ok(()),
        }
    }

    fn add(&self, launcher: Pid) -> io::Result<()> {
        let pid = launcher.as_raw_nonzero().to_string();
        self.dirs.iter().try_for_each(|dir| fs::write(dir.join("cgroup.procs"), &pid))
    }

    /// How many of its processes the kernel killed because the group was out of memory.
    pub(super) fn out_of_memory_kills(&self) -> u64 {
        let unified = matches!(self.limiter.means, Means::V2(_));
        let file = if unified { "memory.events" } else { "memory.oom_control" };
        let text = self.dirs.first().and_then(|dir| fs::read_to_string(dir.join(file)).ok());
        text.unwrap_or_default()
            .lines()
            .find_map(|line| line.strip_prefix("oom_kill "))
            .and_then(|count| count.trim().parse().ok())
            .unwrap_or(0)
    }

    /// Removes the groups once their last process is gone.
    pub(super) async fn remove(&self) {
        remove(&self.dirs).await;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.limiter.live().remove(&self.name);
    }
}

fn kill_members(group: &Path) {
    if fs::write(group.join("cgroup.kill"), "1").is_ok() {
        return;
    }
    let members = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    for pid in members.lines().filter_map(|pid| pid.parse().ok()).filter_map(Pid::from_raw) {
        rustix::process::kill_process(pid, Signal::KILL).ok();
    }
}

fn try_remove(groups: &[PathBuf]) -> bool {
    let gone = |group: &PathBuf| match fs::remove_dir(group) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    groups.iter().filter(|group| !gone(group)).count() == 0
}

/// Removes groups, whose last process the kernel may see leave a little late.
async fn remove(groups: &[PathBuf]) {
    for _ in 0..REMOVE_ATTEMPTS {
        if try_remove(groups) {
            return;
        }
        tokio::time::sleep(REMOVE_PAUSE).await;
    }
    tracing::warn!(?groups, "could not be removed");
}

fn write_if_there(file: &Path, text: &str) -> io::Result<()> {
    if file.exists() { fs::write(file, text) } else { Ok(()) }
}

/// Our group in the unified hierarchy, ready to have groups below it.
fn unified_parent(mounts: &str, own: &str, name: &str) -> io::Result<PathBuf> {
    let (mount, root) = find_mount(mounts, |kind, _| kind == "cgroup2")
        .ok_or_else(|| io::Error::other("not mounted"))?;
    let path = own
        .lines()
        .find_map(|line| line.strip_prefix("0::"))
        .ok_or_else(|| io::Error::other("this process is in no group"))?;
    let own = below(&mount, &root, path);
    let offered = fs::read_to_string(own.join("cgroup.controllers"))?;
    if !CONTROLLERS.iter().all(|wanted| offered.split_ascii_whitespace().any(|it| it == *wanted)) {
        return Err(io::Error::other(format!("only these controllers: {}", offered.trim())));
    }
    let base = match delegate(&own) {
        Ok(()) => own,
        // Root may use the top, which allows processes next to groups.
        Err(_) if rustix::process::geteuid().is_root() => {
            delegate(&mount)?;
            mount
        }
        Err(error) => return Err(error),
    };
    let parent = base.join(name);
    fs::create_dir_all(&parent)?;
    enable(&parent)?;
    Ok(parent)
}

/// Hands controllers down. A group may do that only if no process is directly in it: if this process
/// is the only one, it moves into a group of its own.
fn delegate(group: &Path) -> io::Result<()> {
    if enable(group).is_ok() {
        return Ok(());
    }
    let members = fs::read_to_string(group.join("cgroup.procs"))?;
    let own = std::process::id().to_string();
    if members.lines().any(|pid| pid != own) {
        return Err(io::Error::other("other processes are in this process's group"));
    }
    let leaf = group.join("cloister-control");
    fs::create_dir_all(&leaf)?;
    fs::write(leaf.join("cgroup.procs"), own)?;
    enable(group)
}

fn enable(group: &Path) -> io::Result<()> {
    let wanted = CONTROLLERS.map(|controller| format!("+{controller}")).join(" ");
    fs::write(group.join("cgroup.subtree_control"), wanted)
}

fn separate_parents(mounts: &str, own: &str, name: &str) -> io::Result<[PathBuf; 3]> {
    let [memory, pids, cpu] =
        CONTROLLERS.map(|controller| separate_parent(mounts, own, controller, name));
    Ok([memory?, pids?, cpu?])
}

fn separate_parent(mounts: &str, own: &str, controller: &str, name: &str) -> io::Result<PathBuf> {
    let has = |list: &str| list.split(',').any(|it| it == controller);
    let (mount, root) = find_mount(mounts, |kind, options| kind == "cgroup" && has(options))
        .ok_or_else(|| io::Error::other(format!("{controller} is not mounted")))?;
    let path = own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        fields.next().filter(|controllers| has(controllers)).and_then(|_| fields.next())
    });
    let path = path.ok_or_else(|| io::Error::other(format!("{controller}: in no group")))?;
    let parent = below(&mount, &root, path).join(name);
    fs::create_dir_all(&parent)
        .map_err(|error| io::Error::other(format!("make {}: {error}", parent.display())))?;
    Ok(parent)
}

/// Where a mount of the wanted kind is, and which part of its file system it shows.
fn find_mount(mounts: &str, wanted: impl Fn(&str, &str) -> bool) -> Option<(PathBuf, PathBuf)> {
    mounts.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let mut kind_source_options = right.split(' ');
        let kind = kind_source_options.next()?;
        let options = kind_source_options.nth(1)?;
        let mut fields = left.split(' ').skip(3);
        let (root, mount) = (fields.next()?, fields.next()?);
        wanted(kind, options).then(|| (mount.into(), root.into()))
    })
}

fn below(mount: &Path, root: &Path, group: &str) -> PathBuf {
    let group = Path::new(group);
    let inside = group.strip_prefix(root).unwrap_or(group);
    mount.join(inside.strip_prefix("/").unwrap_or(inside))
}

#[cfg(test)]
#[path = "cgroup_tests.rs"]
mod tests;
