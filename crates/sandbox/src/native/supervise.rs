//! One task per live sandbox: collects its output and reports, holds it to the limits that no kernel
//! mechanism holds it to, and cleans up when it has ended.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use cloister_control::ports::Exit;
use cloister_protocol::with_causes;
use rustix::process::{Pid, PidfdFlags, Signal};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr};
use tokio::sync::watch;

use super::cgroup::Group;
use super::handle::Running;
use super::{Reports, next_report, processes};
use cloister_launcher::wire::{ProcessEnded, Report};

/// How often memory is counted where no cgroup counts it.
const COUNT_INTERVAL: Duration = Duration::from_millis(100);
/// Counting for all sandboxes together takes at most this share of one core: the more there are, the
/// less often each is counted. Until then the limit of each of its processes holds.
const COUNT_SHARE: u32 = 10;
/// A killed process is gone in less.
const GONE_TIMEOUT: Duration = Duration::from_secs(5);
const GONE_POLL: Duration = Duration::from_millis(5);

pub(super) struct Supervisor {
    pub(super) running: Arc<Running>,
    pub(super) child: Child,
    pub(super) reports: Reports,
    pub(super) group: Group,
    pub(super) exit: watch::Sender<Option<Exit>>,
}

impl Supervisor {
    /// Runs until no process of the sandbox is left, then tells everyone who waits.
    pub(super) async fn run(mut self) {
        let stderr = self.child.stderr.take();
        let ended = {
            // Both pipes end when the last process that holds them has: the launcher and PID 1.
            let output = async {
                let log = keep_log(stderr, &self.running);
                tokio::join!(agent_end(&mut self.reports), log).0
            };
            tokio::select! {
                ended = output => ended,
                never = hold_to_wall_time(&self.running) => match never {},
                never = hold_to_memory(&self.running, &self.group) => match never {},
            }
        };
        self.wait_until_gone().await;
        let exit = self.how_it_ended(ended);
        self.group.remove().await;
        self.exit.send_replace(Some(exit));
    }

    async fn wait_until_gone(&mut self) {
        let gone = async {
            if let Err(error) = self.child.wait().await {
                tracing::warn!(error = with_causes(&error), "waiting for a launcher");
            }
            // If the launcher was killed itself, PID 1 may still be on its way out.
            while !self.running.init_has_ended() {
                tokio::time::sleep(GONE_POLL).await;
            }
        };
        if tokio::time::timeout(GONE_TIMEOUT, gone).await.is_err() {
            tracing::error!(sandbox = %self.running.spec.name, "did not end after it was killed");
        }
    }

    fn how_it_ended(&self, ended: Option<ProcessEnded>) -> Exit {
        let out_of_memory = || self.group.out_of_memory_kills() > 0;
        match (self.running.cause(), ended) {
            (Some(Exit::OutOfMemory), _) => Exit::OutOfMemory,
            (_, Some(ProcessEnded::Code(code))) => Exit::Code(code),
            (Some(cause), _) => cause,
            (None, Some(ProcessEnded::Signal(signal)))
                if signal == Signal::KILL.as_raw() && out_of_memory() =>
            {
                Exit::OutOfMemory
            }
            (None, Some(ProcessEnded::Signal(signal))) => Exit::Signal(signal),
            (None, None) if out_of_memory() => Exit::OutOfMemory,
            (None, None) => Exit::Signal(Signal::KILL.as_raw()),
        }
    }
}

async fn agent_end(reports: &mut Reports) -> Option<ProcessEnded> {
    let mut ended = None;
    while let Some(report) = next_report(reports).await {
        if let Report::Ended(how) = report {
            ended = Some(how);
        }
    }
    ended
}

/// Reads everything, so that the agent never blocks on it, and keeps the end.
async fn keep_log(stderr: Option<ChildStderr>, running: &Running) {
    let Some(mut stderr) = stderr else { return };
    let mut chunk = vec![0_u8; 4096];
    loop {
        match stderr.read(&mut chunk).await {
            Ok(0) | Err(_) => return,
            Ok(count) => running.log(chunk.get(..count).unwrap_or_default()),
        }
    }
}

async fn hold_to_wall_time(running: &Running) -> Infallible {
    if let Some(wall) = running.spec.limits.wall {
        tokio::time::sleep(wall).await;
        running.end(Exit::OutOfTime);
    }
    std::future::pending().await
}

async fn hold_to_memory(running: &Running, group: &Group) -> Infallible {
    if group.counts_memory() {
        return std::future::pending().await;
    }
    loop {
        let began = tokio::time::Instant::now();
        relieve(running);
        let cost =
            began.elapsed().saturating_mul(COUNT_SHARE).saturating_mul(group.live_sandboxes());
        tokio::time::sleep(COUNT_INTERVAL.max(cost)).await;
    }
}

/// Kills the largest processes until the rest fits, as the kernel would. If the agent is one of them,
/// the sandbox is out of memory.
fn relieve(running: &Running) {
    let limit = running.spec.limits.memory_bytes;
    let members = processes::tree(running.init);
    let quick: u64 = members.iter().map(|pid| processes::private_bytes(*pid)).sum();
    if quick <= limit {
        return;
    }
    let mut sizes: Vec<(u64, Pid)> =
        members.into_iter().map(|pid| (processes::proportional_bytes(pid), pid)).collect();
    sizes.sort_unstable_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    let mut total: u64 = sizes.iter().map(|(bytes, _)| bytes).sum();
    for (bytes, pid) in sizes {
        if total <= limit {
            return;
        }
        if pid != running.init && kill_member(running, pid) {
            total = total.saturating_sub(bytes);
        }
    }
}

/// Kills a process if it still is one of the sandbox's: its number may be another's by now.
fn kill_member(running: &Running, pid: Pid) -> bool {
    let Ok(held) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else { return false };
    if !processes::tree(running.init).contains(&pid) {
        return false;
    }
    if processes::oldest_child(running.init) == Some(pid) {
        running.blame(Exit::OutOfMemory);
    }
    tracing::info!(sandbox = %running.spec.name, "over its memory limit: killing its largest process");
    rustix::process::pidfd_send_signal(held, Signal::KILL).is_ok()
}
