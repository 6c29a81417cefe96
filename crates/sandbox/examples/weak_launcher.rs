//! A launcher with layers missing, for the escape suite: the same attacks must succeed against it.
//! Never shipped. Its file name says what is missing, since a launcher gets no arguments:
//! `weak-seccomp+landlock` runs without these two layers; `without-CALL` runs with every layer on a
//! kernel that seems not to have a system call, and must refuse to launch.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use cloister_sandbox::launcher::{self, Layers};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

type AnyError = Box<dyn std::error::Error>;

fn main() -> Result<ExitCode, AnyError> {
    let called = std::env::args_os().next().ok_or("no name")?;
    let name = std::path::Path::new(&called).file_name().ok_or("no name")?;
    let name = name.to_str().ok_or("a name that is not text")?;
    if let Some(call) = name.strip_prefix("without-") {
        take_away(call)?;
        return Ok(launcher::run(Layers::ALL));
    }
    let missing = name.strip_prefix("weak-").ok_or("the name is neither weak- nor without-")?;
    let mut layers = Layers::ALL;
    for layer in missing.split('+') {
        *switch(&mut layers, layer).ok_or(format!("no layer is called {layer}"))? = false;
    }
    if !layers.empty_environment && std::env::vars_os().next().is_none() {
        let error = with_environment_of_parent(&called)?.exec();
        return Err(error.into());
    }
    if !layers.closed_descriptors {
        // A descriptor that a careless parent let through.
        let flags = rustix::fs::OFlags::RDONLY;
        let leaked = rustix::fs::open("/proc/self/status", flags, rustix::fs::Mode::empty())?;
        std::mem::forget(leaked);
    }
    Ok(launcher::run(layers))
}

fn switch<'a>(layers: &'a mut Layers, name: &str) -> Option<&'a mut bool> {
    Some(match name {
        "closed_descriptors" => &mut layers.closed_descriptors,
        "empty_environment" => &mut layers.empty_environment,
        "user_namespace" => &mut layers.user_namespace,
        "own_uid" => &mut layers.own_uid,
        "pid_namespace" => &mut layers.pid_namespace,
        "network_namespace" => &mut layers.network_namespace,
        "ipc_namespace" => &mut layers.ipc_namespace,
        "own_root" => &mut layers.own_root,
        "read_only" => &mut layers.read_only,
        "nosuid" => &mut layers.nosuid,
        "masked_proc" => &mut layers.masked_proc,
        "process_limits" => &mut layers.process_limits,
        "sealed_init" => &mut layers.sealed_init,
        "lifeline" => &mut layers.lifeline,
        "no_capabilities" => &mut layers.no_capabilities,
        "no_new_privileges" => &mut layers.no_new_privileges,
        "landlock" => &mut layers.landlock,
        "seccomp" => &mut layers.seccomp,
        _ => return None,
    })
}

/// As if the backend had not cleared the environment.
#[expect(clippy::disallowed_methods, reason = "starts itself again, in a test")]
fn with_environment_of_parent(program: &std::ffi::OsStr) -> Result<Command, AnyError> {
    let parent = rustix::process::getppid().ok_or("no parent")?.as_raw_nonzero();
    let environment = std::fs::read_to_string(format!("/proc/{parent}/environ"))?;
    let mut command = Command::new(program);
    command.envs(environment.split('\0').filter_map(|entry| entry.split_once('=')));
    command.env("CLOISTER_ESCAPE", "1");
    Ok(command)
}

/// Makes the kernel seem not to have a call.
fn take_away(call: &str) -> Result<(), AnyError> {
    let (number, rules) = match call {
        "userns" => {
            let new_user = u64::from(libc::CLONE_NEWUSER.unsigned_abs());
            let asked = SeccompCmpOp::MaskedEq(new_user);
            let asks = SeccompCondition::new(0, SeccompCmpArgLen::Dword, asked, new_user)?;
            (libc::SYS_clone, vec![SeccompRule::new(vec![asks])?])
        }
        "landlock" => (libc::SYS_landlock_create_ruleset, Vec::new()),
        "seccomp" => (libc::SYS_seccomp, Vec::new()),
        "mounts" => (libc::SYS_open_tree, Vec::new()),
        other => return Err(format!("can't take {other} away").into()),
    };
    let errno = if call == "userns" { libc::EPERM } else { libc::ENOSYS };
    let filter = SeccompFilter::new(
        BTreeMap::from([(number, rules)]),
        SeccompAction::Allow,
        SeccompAction::Errno(errno.unsigned_abs()),
        TargetArch::try_from(std::env::consts::ARCH)?,
    )?;
    seccompiler::apply_filter(&BpfProgram::try_from(filter)?)?;
    Ok(())
}
