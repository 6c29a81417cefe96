//! What is not counted but read, each time somebody asks.

use cloister_store::pulse::Pulse;

use super::exposition::{Exposition, float};
use super::names;
use crate::options::nano_to_usd;

/// The kernel's unit of processor time in `/proc`, on every machine we run on.
const TICKS_PER_S: f64 = 100.0;

/// The state of one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gauges {
    /// None if the database could not be read in time.
    pub(crate) pulse: Option<Pulse>,
    /// Milliseconds since 1970.
    pub(crate) now: i64,
    pub(crate) live_cells: usize,
    pub(crate) running_executors: usize,
    pub(crate) executor_limit: usize,
    /// Free and whole bytes.
    pub(crate) disk: Option<(u64, u64)>,
    /// How many hold the database for too long, and how many wait for it.
    pub(crate) held: (usize, usize),
    pub(crate) stopping: bool,
    pub(crate) stopped: bool,
    pub(crate) started_at: f64,
}

impl Gauges {
    pub(crate) fn expose(&self, to: &mut Exposition) {
        to.gauge(names::LIVE_CELLS, count(self.live_cells));
        to.gauge(names::RUNNING_EXECUTORS, count(self.running_executors));
        to.gauge(names::EXECUTOR_LIMIT, count(self.executor_limit));
        to.gauge(names::STOPPING, f64::from(u8::from(self.stopping)));
        to.gauge(names::STOPPED, f64::from(u8::from(self.stopped)));
        to.gauge(names::SCRAPE_OK, f64::from(u8::from(self.pulse.is_some())));
        let held = [("holds", count(self.held.0)), ("waits", count(self.held.1))];
        to.gauges(names::DATABASE_HELD, "state", &held);
        if let Some(pulse) = &self.pulse {
            self.expose_pulse(pulse, to);
        }
        if let Some((free, size)) = self.disk {
            to.gauge(names::DISK_FREE_BYTES, float(free));
            to.gauge(names::DISK_SIZE_BYTES, float(size));
        }
        to.gauges(names::BUILD_INFO, "version", &[(env!("CARGO_PKG_VERSION"), 1.0)]);
        to.gauge(names::PROCESS_START, self.started_at);
        expose_process(to);
    }

    fn expose_pulse(&self, pulse: &Pulse, to: &mut Exposition) {
        let waited = pulse.oldest_at.map_or(0, |at| self.now.saturating_sub(at).max(0));
        to.gauge(names::UNANSWERED_MESSAGES, whole(pulse.unanswered));
        to.gauge(names::OLDEST_UNANSWERED_SECONDS, whole(waited) / 1e3);
        to.gauge(names::LOST_MESSAGES, whole(pulse.lost));
        let tasks = [
            ("queued", whole(pulse.queued_tasks)),
            ("running", whole(pulse.running_tasks)),
            ("waiting", whole(pulse.waiting_tasks)),
        ];
        to.gauges(names::TASKS, "state", &tasks);
        let sent = pulse.outbox.saturating_sub(pulse.undelivered);
        let rows = [("undelivered", whole(pulse.undelivered)), ("delivered", whole(sent))];
        to.gauges(names::OUTBOX_ROWS, "state", &rows);
        to.gauge(names::USERS, whole(pulse.users));
        to.gauge(names::WORKSPACES_OVER_QUOTA, whole(pulse.over_quota));
        to.gauge(names::SPEND_TODAY_USD, nano_to_usd(pulse.spent_today));
        to.gauge(names::RESERVED_USD, nano_to_usd(pulse.reserved));
    }
}

/// What the kernel says of this process; what it does not say is left out.
fn expose_process(to: &mut Exposition) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    if let Some(kib) = field("VmRSS:") {
        to.gauge(names::PROCESS_MEMORY, float(kib << 10));
    }
    if let Some(threads) = field("Threads:") {
        to.gauge(names::PROCESS_THREADS, float(threads));
    }
    if let Ok(fds) = std::fs::read_dir("/proc/self/fd") {
        to.gauge(names::PROCESS_FDS, count(fds.count()));
    }
    if let Some(ticks) = processor_ticks() {
        to.counter(names::PROCESS_CPU, float(ticks) / TICKS_PER_S);
    }
}

/// User and system time of this process.
pub(crate) fn processor_ticks() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is a name in parentheses, which may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

fn whole(number: i64) -> f64 {
    float(u64::try_from(number).unwrap_or(0))
}

fn count(number: usize) -> f64 {
    float(u64::try_from(number).unwrap_or(u64::MAX))
}
