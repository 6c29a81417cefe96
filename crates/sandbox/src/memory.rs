//! Keeps the memory of a process that holds secrets to itself.
#![expect(
    unsafe_code,
    reason = "one system call whose safe wrapper would be one more dependency feature"
)]

use std::io;

use rustix::process::{DumpableBehavior, Resource, Rlimit};
use rustix::thread::CapabilitySet;

/// What is in force afterwards. Each is tried on its own: none depends on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guarded {
    /// A crash leaves no picture of the memory.
    pub no_core: bool,
    /// No process of the same account reads it, or can be told to.
    pub not_traceable: bool,
    /// None of it goes to swap.
    pub not_swapped: bool,
}

/// For the control plane, before it opens anything that is secret.
pub fn guard_memory() -> Guarded {
    let no_core =
        rustix::process::setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    Guarded {
        no_core: no_core.is_ok(),
        not_traceable: refuse_tracing(),
        not_swapped: lock_memory().is_ok(),
    }
}

/// Without the right of root, the kernel then also hides the process's own descriptors from it, which
/// sockets at long paths need: there it stays as it was. Cells have other accounts in any case.
fn refuse_tracing() -> bool {
    if rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).is_err() {
        return false;
    }
    if std::fs::read_dir("/proc/self/fd").is_ok() {
        return true;
    }
    // It was dumpable a moment ago.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable).is_err()
}

/// Locks pages as they come into use. Only where there is no limit: with one, an allocation would fail
/// some day.
fn lock_memory() -> io::Result<()> {
    let capable = rustix::thread::capabilities(None)
        .is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK));
    let unlimited = rustix::process::getrlimit(Resource::Memlock).current.is_none();
    if !capable && !unlimited {
        return Err(io::Error::from(io::ErrorKind::PermissionDenied));
    }
    // SAFETY: takes flags alone and touches no memory of ours.
    let locked =
        unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT) };
    if locked == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
