//! PID 1 of the sandbox: builds it, starts the agent, reaps, and ends everything when its time is up.

use std::convert::Infallible;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus};

use super::error::{InLayer, LayerError};
use super::layers::Layers;
use super::{confine, report, root, sys};
use crate::wire::{LaunchSpec, Layer, LayerFailure, ProcessEnded, Report};

const HOME: &str = "/tmp/home";
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Where the agent's binary is inside.
const AGENT: &str = "/run/cloister/agent";

/// Never returns: when it exits, the kernel kills whatever else is in the sandbox.
pub(super) fn main(
    spec: &LaunchSpec,
    layers: Layers,
    launcher: OwnedFd,
    pieces: Option<root::Pieces>,
) -> ! {
    let code = match run(spec, layers, &launcher, pieces) {
        Ok(()) => 0,
        Err(error) => {
            report(&Report::Failed(error.into_failure()));
            1
        }
    };
    std::process::exit(code)
}

fn run(
    spec: &LaunchSpec,
    layers: Layers,
    launcher: &OwnedFd,
    pieces: Option<root::Pieces>,
) -> Result<(), LayerError> {
    die_with_launcher(layers)?;
    if !launcher_says_go(launcher) {
        return Ok(());
    }
    rustix::system::sethostname(b"cell")
        .layer(Layer::Namespaces, || "set the host name".to_owned())?;
    if layers.network_namespace {
        bring_network_up()?;
    }
    let built = root::build(spec, layers, pieces)?;
    // Changing the uid has cleared the death signal. A launcher that died in between has closed its
    // pipe, which the loop below sees.
    die_with_launcher(layers)?;
    let readable =
        if layers.sealed_init { DumpableBehavior::NotDumpable } else { DumpableBehavior::Dumpable };
    rustix::process::set_dumpable_behavior(readable)
        .layer(Layer::Capabilities, || "seal PID 1".to_owned())?;
    confine::limit(&spec.limits, layers)?;
    confine::drop_privileges(layers)?;
    let events = sys::child_events().layer(Layer::Limits, || "watch for children".to_owned())?;
    let agent = start_agent(spec, layers, &built)?;
    report(&Report::Ready);
    supervise(agent, &events, launcher.as_fd(), layers);
    Ok(())
}

fn die_with_launcher(layers: Layers) -> Result<(), LayerError> {
    if !layers.lifeline {
        return Ok(());
    }
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .layer(Layer::Namespaces, || "end with the launcher".to_owned())
}

/// Waits until the uid map is written. `false` if the launcher died instead.
fn launcher_says_go(launcher: &OwnedFd) -> bool {
    let mut byte = [0_u8; 1];
    loop {
        match rustix::io::read(launcher, &mut byte) {
            Ok(count) => return count == 1,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

fn bring_network_up() -> Result<(), LayerError> {
    use rustix::net::{AddressFamily, SocketType};
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)
        .layer(Layer::Network, || "open a socket".to_owned())?;
    sys::bring_loopback_up(&socket).layer(Layer::Network, || "bring loopback up".to_owned())
}

/// Forks the agent and waits until it runs or has said why it does not.
fn start_agent(spec: &LaunchSpec, layers: Layers, built: &root::Built) -> Result<Pid, LayerError> {
    let pipe = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
    let (failures, failed) = pipe.layer(Layer::Agent, || "make a pipe".to_owned())?;
    let forked = sys::fork_into(0).layer(Layer::Agent, || "fork the agent".to_owned())?;
    let Some(agent) = forked else {
        drop(failures);
        // The call returns only if something failed.
        if let Err(error) = become_agent(spec, layers, built)
            && let Ok(text) = serde_json::to_vec(&error.into_failure())
        {
            rustix::io::write(&failed, &text).ok();
        }
        std::process::exit(1)
    };
    drop(failed);
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut std::fs::File::from(failures), &mut text)
        .layer(Layer::Agent, || "hear from the agent".to_owned())?;
    if text.is_empty() {
        return Ok(agent);
    }
    let failure: LayerFailure = serde_json::from_slice(&text)
        .layer(Layer::Agent, || "understand why the agent did not start".to_owned())?;
    Err(LayerError::new(failure.layer, failure.reason))
}

/// Puts the last layers in force and turns into the agent.
fn become_agent(
    spec: &LaunchSpec,
    layers: Layers,
    built: &root::Built,
) -> Result<Infallible, LayerError> {
    rustix::process::setsid().layer(Layer::Agent, || "start a session".to_owned())?;
    let null =
        std::fs::File::open("/dev/null").layer(Layer::Agent, || "open /dev/null".to_owned())?;
    rustix::stdio::dup2_stdin(&null).layer(Layer::Agent, || "set its input".to_owned())?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())
        .layer(Layer::Agent, || "set its output".to_owned())?;
    sys::ignore_file_size_signal();
    let cwd = if layers.own_root { spec.cwd.as_path() } else { std::path::Path::new("/") };
    std::env::set_current_dir(cwd)
        .layer(Layer::Agent, || format!("enter its directory {}", cwd.display()))?;
    let program = if layers.own_root { std::path::Path::new(AGENT) } else { spec.agent.as_path() };
    if spec.limits.gives_way {
        // Not before: people wait for a launch. A kernel without it shares out as it always did.
        crate::scheduling::prefer_throughput().ok();
        crate::scheduling::leave_one_free().ok();
    }
    if layers.landlock {
        confine::landlock(&built.writable, &built.read_only)?;
    }
    if layers.seccomp {
        super::syscalls::restrict(spec.limits.refuse_unowned_memory)?;
    }
    let mut command = agent_command(program);
    command.arg(&spec.role).env_clear();
    command.env("PATH", PATH).env("HOME", HOME).env("LANG", "C.UTF-8").env("TERM", "dumb");
    if !layers.empty_environment {
        command.envs(std::env::vars_os());
    }
    let error = command.exec();
    Err(LayerError::new(Layer::Agent, format!("execute {}: {error}", program.display())))
}

#[expect(clippy::disallowed_methods, reason = "this is where the sandbox starts the agent")]
fn agent_command(program: &std::path::Path) -> Command {
    Command::new(program)
}

/// Reaps until the agent ends, or the launcher or the control plane is gone.
fn supervise(agent: Pid, events: &OwnedFd, launcher: BorrowedFd<'_>, layers: Layers) {
    let control_plane = rustix::stdio::stdin();
    loop {
        let mut watched = [
            PollFd::new(events, PollFlags::IN),
            PollFd::from_borrowed_fd(launcher, PollFlags::IN),
            PollFd::from_borrowed_fd(control_plane, PollFlags::IN),
        ];
        let count = if layers.lifeline { watched.len() } else { 1 };
        let (watched, _) = watched.split_at_mut(count);
        match rustix::event::poll(watched, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
        if watched.iter().skip(1).any(|line| !line.revents().is_empty()) {
            return;
        }
        // What the descriptor says is of no interest: every ended child is collected.
        rustix::io::read(events, &mut [0_u8; 1024]).ok();
        if let Some(ended) = reap(agent) {
            report(&Report::Ended(ended));
            return;
        }
    }
}

/// Collects every child that has ended; how the agent ended, if it was among them.
fn reap(agent: Pid) -> Option<ProcessEnded> {
    let mut ended = None;
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == agent => ended = Some(how_it_ended(status)),
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) | Err(_) => return ended,
        }
    }
}

fn how_it_ended(status: WaitStatus) -> ProcessEnded {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => ProcessEnded::Code(code),
        (None, Some(signal)) => ProcessEnded::Signal(signal),
        (None, None) => ProcessEnded::Code(-1),
    }
}
