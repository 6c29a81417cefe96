//! The memory of the control plane itself: what it takes, and that an idle one gives back what only its turns needed.

use std::time::Duration;

use cloister_protocol::admin::StatusLine;
use cloister_protocol::with_causes;

use super::{Status, line};
use crate::control::Control;
use crate::crew::Rounds;
use crate::metrics::processor_ticks;

const LOOK_EVERY: Duration = Duration::from_secs(30);
/// A hundredth of a processor between two looks, at a hundred ticks a second.
const IDLE_TICKS: u64 = 30;
/// Idle at so many looks, one after the other, it gives back.
const IDLE_LOOKS: u32 = 4;

/// How long it has been idle.
#[derive(Debug, Default)]
struct Calm {
    ticks: u64,
    looks: u32,
}

impl Calm {
    /// Whether it has been idle for long enough just now: once, until it has been busy again.
    fn looked(&mut self, ticks: u64) -> bool {
        let idle = ticks.saturating_sub(self.ticks) <= IDLE_TICKS;
        self.ticks = ticks;
        self.looks = if idle { self.looks.saturating_add(1) } else { 0 };
        self.looks == IDLE_LOOKS
    }
}

impl Status {
    /// Gives pages back whenever nothing has been done for some minutes. They come again by themselves.
    pub(crate) async fn watch_memory(&self, rounds: &Rounds) {
        let mut calm = Calm::default();
        loop {
            rounds.begins(LOOK_EVERY);
            tokio::select! {
                () = self.control.inner.stop.cancelled() => return,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            if processor_ticks().is_some_and(|ticks| calm.looked(ticks)) {
                give_back(self.control.clone()).await;
            }
        }
    }
}

async fn give_back(control: Control) {
    let done = tokio::task::spawn_blocking(move || control.backend().give_back()).await;
    if let Ok(Err(error)) = done {
        let error = with_causes(&error);
        tracing::warn!(error, "what an idle control plane does not need stays in memory");
    }
}

/// What the control plane takes; none where the kernel does not say.
pub(super) fn memory_line() -> Option<StatusLine> {
    let bytes = proportional_bytes(&std::fs::read_to_string("/proc/self/smaps_rollup").ok()?)?;
    Some(line("memory", "Memory of the control plane", format!("{} MB", bytes >> 20)))
}

/// Pages that several processes share are shared out among them.
fn proportional_bytes(rollup: &str) -> Option<u64> {
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
