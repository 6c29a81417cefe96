//! The handle on one live sandbox.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cloister_control::ports::{Exit, Sandbox, SandboxSpec};
use futures_util::future::BoxFuture;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Resource, Rlimit, Signal};
use tokio::sync::watch;

use super::processes;

/// The promise of [`Sandbox::kill`].
const KILL_TIMEOUT: Duration = Duration::from_secs(1);
/// Processes that start while limits are being changed are found in the next round.
const MAX_ROUNDS: u32 = 50;

/// What the handle and the supervisor share.
pub(super) struct Running {
    pub(super) spec: SandboxSpec,
    pub(super) launcher: Pid,
    pub(super) init: Pid,
    pub(super) pidfd: OwnedFd,
    /// Why it was ended from outside, if it was.
    cause: Mutex<Option<Exit>>,
    log: Mutex<VecDeque<u8>>,
}

impl Running {
    pub(super) fn new(spec: SandboxSpec, launcher: Pid, init: Pid, pidfd: OwnedFd) -> Self {
        let (cause, log) = (Mutex::new(None), Mutex::new(VecDeque::new()));
        Self { spec, launcher, init, pidfd, cause, log }
    }

    /// Kills PID 1, and with it everything inside. The first cause is the one that is told.
    pub(super) fn end(&self, cause: Exit) {
        self.blame(cause);
        // It fails only if PID 1 is gone already.
        rustix::process::pidfd_send_signal(&self.pidfd, Signal::KILL).ok();
    }

    /// The kernel ends PID 1 only after everything else in the sandbox.
    pub(super) fn init_has_ended(&self) -> bool {
        let mut watched = [PollFd::new(&self.pidfd, PollFlags::IN)];
        let at_once = Timespec::default();
        rustix::event::poll(&mut watched, Some(&at_once)).is_ok_and(|ready| ready > 0)
    }

    pub(super) fn blame(&self, cause: Exit) {
        self.cause.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(cause);
    }

    pub(super) fn cause(&self) -> Option<Exit> {
        *self.cause.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the end of what the agent wrote.
    pub(super) fn log(&self, bytes: &[u8]) {
        let most = usize::try_from(self.spec.limits.log_bytes).unwrap_or(usize::MAX);
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = bytes.get(bytes.len().saturating_sub(most)..).unwrap_or_default();
        let excess = (log.len() + kept.len()).saturating_sub(most).min(log.len());
        log.drain(..excess);
        log.extend(kept);
    }
}

/// Holds the lifeline: the sandbox ends when this is dropped, or its process dies.
pub(super) struct Handle {
    pub(super) running: Arc<Running>,
    pub(super) exited: watch::Receiver<Option<Exit>>,
    pub(super) _lifeline: tokio::process::ChildStdin,
}

impl Handle {
    async fn exit(&self) -> Exit {
        let mut exited = self.exited.clone();
        match exited.wait_for(Option::is_some).await {
            Ok(exit) => exit.unwrap_or(Exit::Killed),
            // The supervisor is gone because the runtime is ending, which kills the launcher.
            Err(_closed) => Exit::Killed,
        }
    }
}

impl Sandbox for Handle {
    fn kill(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.running.end(Exit::Killed);
            if tokio::time::timeout(KILL_TIMEOUT, self.exit()).await.is_err() {
                tracing::error!(sandbox = %self.running.spec.name, "still there after a kill");
                self.exit().await;
            }
        })
    }

    fn wait(&self) -> BoxFuture<'_, Exit> {
        Box::pin(self.exit())
    }

    fn set_writable(&self, writable: bool) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let own = rustix::process::getrlimit(Resource::Fsize).maximum.unwrap_or(u64::MAX);
            let most = self.running.spec.limits.file_bytes.min(own);
            let current = if writable { most } else { 0 };
            let limit = Rlimit { current: Some(current), maximum: Some(most) };
            for _ in 0..MAX_ROUNDS {
                if !limit_all(self.running.init, limit) {
                    return;
                }
                tokio::task::yield_now().await;
            }
            tracing::warn!(sandbox = %self.running.spec.name, "processes start faster than limited");
        })
    }

    fn memory_pss(&self) -> Option<u64> {
        let members = processes::tree(self.running.launcher);
        (!members.is_empty()).then(|| members.into_iter().map(processes::proportional_bytes).sum())
    }

    fn log_tail(&self) -> String {
        let mut log = self.running.log.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(log.make_contiguous()).into_owned()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.running.end(Exit::Killed);
    }
}

/// Sets the file size limit of every process inside; whether any had another one.
fn limit_all(init: Pid, limit: Rlimit) -> bool {
    let mut changed = false;
    for pid in processes::tree(init) {
        // One that can't be limited has ended in the meantime.
        if let Ok(old) = rustix::process::prlimit(Some(pid), Resource::Fsize, limit) {
            changed |= old.current != limit.current;
        }
    }
    changed
}
