//! The launcher: builds one sandbox around one agent, and is the sandbox's parent until it ends.
//!
//! Three processes. The outer one stays on the host: it makes the namespaces, writes the uid map and
//! waits. Its child is the sandbox's PID 1 ([`init`]): it builds the root, gives up every privilege
//! and reaps. Its child in turn becomes the agent after Landlock and seccomp are in force.
//!
//! The control plane talks to it through the standard descriptors only: the spec comes in on 0, which
//! then stays open as the lifeline; reports go out on 1; the agent's output goes to 2.

mod confine;
mod error;
mod init;
mod layers;
mod overlay;
mod proc;
mod root;
mod scheduling;
mod sys;
mod syscalls;
pub mod wire;

use std::io::{Read, Write};
use std::process::ExitCode;

use rustix::fs::FileType;
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, WaitOptions};
use rustix::thread::{Gid, Uid};

pub use self::confine::OLDEST_LANDLOCK;
use self::error::{InLayer, LayerError};
pub use self::layers::Layers;
pub use self::scheduling::prefer_latency;
pub use self::sys::landlock_version;
use crate::wire::{LaunchSpec, Layer, MAX_LINE_BYTES, Report};

/// The uid and gid of everything inside.
const INSIDE_ID: u32 = 1000;
/// What a launcher that could not build its sandbox exits with.
const REFUSED: u8 = 125;

/// Reads a spec from standard input, runs the sandbox and returns when no process of it is left.
pub fn run(layers: Layers) -> ExitCode {
    match start(layers) {
        Ok(init) => {
            wait_for(init);
            ExitCode::SUCCESS
        }
        Err(error) => {
            report(&Report::Failed(error.into_failure()));
            ExitCode::from(REFUSED)
        }
    }
}

fn start(layers: Layers) -> Result<Pid, LayerError> {
    if layers.closed_descriptors {
        sys::close_other_descriptors().layer(Layer::Spec, || "close descriptors".to_owned())?;
    }
    let no_core = Rlimit { current: Some(0), maximum: Some(0) };
    if layers.process_limits {
        rustix::process::setrlimit(Resource::Core, no_core)
            .layer(Layer::Limits, || "switch core dumps off".to_owned())?;
    }
    let spec = read_spec()?;
    // A session of its own: no terminal, and a scheduling group of its own where there is no cgroup.
    // It fails only if this already leads a process group, which costs nothing.
    rustix::process::setsid().ok();
    if rustix::process::geteuid().is_root() {
        rustix::thread::set_thread_groups(&[] as &[Gid])
            .layer(Layer::UidMap, || "leave supplementary groups".to_owned())?;
        hand_output_over(spec.host_id)?;
    }
    if spec.limits.nice > 0 {
        rustix::process::nice(spec.limits.nice)
            .layer(Layer::Limits, || "lower the priority".to_owned())?;
    }
    let pieces = collect_as_root(&spec, layers)?;
    let (go_read, go_write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .layer(Layer::Namespaces, || "make a pipe".to_owned())?;
    let Some(init) = sys::fork_into(namespaces(layers))
        .layer(Layer::Namespaces, || "make namespaces".to_owned())?
    else {
        drop(go_write);
        init::main(&spec, layers, go_read, pieces);
    };
    drop(go_read);
    drop(pieces);
    let mapped = if layers.user_namespace { write_maps(init, &spec, layers) } else { Ok(()) };
    let prepared = mapped.and_then(|()| hand_over(init)).and_then(|()| {
        rustix::io::write(&go_write, &[1]).layer(Layer::UidMap, || "start PID 1".to_owned())
    });
    if let Err(error) = prepared {
        rustix::process::kill_process(init, rustix::process::Signal::KILL).ok();
        wait_for(init);
        return Err(error);
    }
    // PID 1 takes the end of this pipe for the end of the launcher: it stays open until then.
    std::mem::forget(go_write);
    Ok(init)
}

/// Lets programs inside open their output by its name. Only a pipe, which is this sandbox's alone, is
/// handed over: anything else that stands in for it belongs to the host.
fn hand_output_over(host_id: u32) -> Result<(), LayerError> {
    let output = rustix::stdio::stderr();
    let hand_over = || {
        let found = rustix::fs::fstat(output)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::Fifo {
            return Ok(());
        }
        rustix::fs::fchown(output, Some(Uid::from_raw(host_id)), Some(Gid::from_raw(host_id)))
    };
    hand_over().layer(Layer::UidMap, || "hand the output over".to_owned())
}

/// Root may have its data where, in a user namespace, it could not go (another user's home): it opens
/// the sources before. An ordinary user can do so only inside the namespaces.
fn collect_as_root(spec: &LaunchSpec, layers: Layers) -> Result<Option<root::Pieces>, LayerError> {
    if !rustix::process::geteuid().is_root() || !layers.own_root {
        return Ok(None);
    }
    sys::leave_mount_namespace().layer(Layer::Mounts, || "leave the host's mounts".to_owned())?;
    root::detach_from_host()?;
    root::collect(spec, layers).map(Some)
}

/// Tells the control plane about PID 1 and waits until it holds it: from here on, its number can't be
/// taken for another's.
fn hand_over(init: Pid) -> Result<(), LayerError> {
    report(&Report::Built { init: init.as_raw_nonzero().get() });
    std::io::stdin()
        .lock()
        .read_exact(&mut [0_u8; 1])
        .layer(Layer::Spec, || "hear from the control plane".to_owned())
}

fn namespaces(layers: Layers) -> libc::c_int {
    let mut flags = libc::CLONE_NEWNS | libc::CLONE_NEWUTS | libc::CLONE_NEWCGROUP;
    if layers.user_namespace {
        flags |= libc::CLONE_NEWUSER;
    }
    if layers.pid_namespace {
        flags |= libc::CLONE_NEWPID;
    }
    if layers.network_namespace {
        flags |= libc::CLONE_NEWNET;
    }
    if layers.ipc_namespace {
        flags |= libc::CLONE_NEWIPC;
    }
    flags
}

/// Reads the one line of the spec and leaves standard input open as the lifeline.
fn read_spec() -> Result<LaunchSpec, LayerError> {
    let mut line = Vec::new();
    let mut stdin = std::io::stdin().lock();
    let mut chunk = [0_u8; 4096];
    while line.last() != Some(&b'\n') {
        let count = stdin.read(&mut chunk).layer(Layer::Spec, || "read the spec".to_owned())?;
        let Some(read) = chunk.get(..count).filter(|read| !read.is_empty()) else {
            return Err(LayerError::new(Layer::Spec, "the spec ended early"));
        };
        line.extend_from_slice(read);
        if line.len() > MAX_LINE_BYTES {
            return Err(LayerError::new(Layer::Spec, "the spec is too long"));
        }
    }
    serde_json::from_slice(&line).layer(Layer::Spec, || "understand the spec".to_owned())
}

/// Maps the one id inside to the one behind it, and nothing else.
fn write_maps(init: Pid, spec: &LaunchSpec, layers: Layers) -> Result<(), LayerError> {
    let (uid, gid) = if rustix::process::geteuid().is_root() && layers.own_uid {
        (spec.host_id, spec.host_id)
    } else {
        (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
    };
    let pid = init.as_raw_nonzero();
    let write = |file: &str, text: String| {
        let path = format!("/proc/{pid}/{file}");
        std::fs::write(&path, text).layer(Layer::UidMap, || format!("write {path}"))
    };
    write("setgroups", "deny".to_owned())?;
    write("uid_map", format!("{INSIDE_ID} {uid} 1"))?;
    write("gid_map", format!("{INSIDE_ID} {gid} 1"))
}

/// Returns when PID 1 has ended and, with it, every process of the sandbox.
fn wait_for(init: Pid) {
    while let Err(Errno::INTR) = rustix::process::waitpid(Some(init), WaitOptions::empty()) {}
}

/// The system calls that programs inside may make, some of them only with certain arguments.
pub fn allowed_calls() -> Vec<i64> {
    syscalls::allowed_calls()
}

/// Tells the control plane. If it is gone there is nobody left to tell.
fn report(report: &Report) {
    if let Ok(mut line) = serde_json::to_vec(report) {
        line.push(b'\n');
        // One write, shorter than a pipe takes at once: lines of two processes never mix.
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(&line).and_then(|()| stdout.flush()).ok();
    }
}
