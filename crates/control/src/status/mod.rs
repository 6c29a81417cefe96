//! What the operator should know: each line with a judgement and, when it is not ok, what to do.

mod answers;
mod hints;
mod memory;
mod pulse;
mod readiness;
mod spikes;
mod watchdog;

use std::time::Duration;

use cloister_protocol::Language;
use cloister_protocol::admin::{ConnectorState, Judgement, StatusLine};
use cloister_store::Dollars;
use cloister_store::connectors::ConnectorLoad;
use cloister_store::pulse::Pulse;
use tokio::time::{Instant, timeout};

use crate::control::part;
use crate::error::Fault;
use crate::surfaces::Health;

pub use hints::error_hint;
pub(crate) use pulse::LastPulse;
pub use readiness::Readiness;
pub(crate) use readiness::{LEAST_FREE, LastChecks};

/// A message that waits this long, in seconds, deserves a look; or somebody.
const OLD: i64 = 60;
const VERY_OLD: i64 = 300;
/// Acknowledgements should be much faster than a person notices.
const SLOW: Duration = Duration::from_millis(100);
const VERY_SLOW: Duration = Duration::from_secs(1);
/// How long sizes may be measured for one status; what is not measured by then is left out.
const MEASURE_TIME: Duration = Duration::from_secs(1);
const SPENDERS: u32 = 3;
/// Less room than this is little on a large disk too.
const LITTLE_FREE: u64 = 16 << 30;
/// Percent of a budget at which it is worth a look.
const NEARLY: i64 = 80;

part! {
    /// How everything is doing.
    pub struct Status;
}

impl Status {
    /// Everything an operator looks at first. Bounded: a few seconds at worst.
    pub async fn status_lines(&self) -> Result<Vec<StatusLine>, Fault> {
        let mut lines: Vec<StatusLine> = Vec::new();
        lines.extend(self.stop_line());
        lines.extend(self.work_lines());
        lines.extend(self.policy_line());
        for check in self.readiness().await.checks.into_iter().filter(|check| !check.ok) {
            let fix = check.fix.unwrap_or_default();
            lines.push(line(&format!("ready.{}", check.id), "Not ready", check.found).act(fix));
        }
        match self.pulse().await {
            Some(pulse) => {
                lines.extend(self.message_lines(&pulse));
                lines.push(self.task_line(&pulse));
                lines.push(spend_total(&pulse));
                lines.extend(self.own_spend_line().await?);
                lines.push(quota_line(&pulse));
            }
            None => {
                lines.push(
                    line("database", "Database", "could not be read in time").act(
                        "look at the disk (`df -h`, `dmesg`), then restart with `cloister up`",
                    ),
                );
                // The rest would wait for it, too.
                lines.push(self.log_line());
                return Ok(lines);
            }
        }
        lines.extend(self.connector_lines().await);
        lines.push(self.approval_line().await?);
        lines.push(self.audit_line());
        lines.extend(self.spender_lines().await?);
        lines.push(self.acknowledgement_line());
        lines.extend(memory::memory_line());
        lines.push(self.cell_line().await);
        lines.push(self.disk_line().await?);
        lines.push(self.answer_line());
        lines.extend(self.model_lines().await?);
        lines.push(self.egress_line());
        lines.push(line(
            "refusals",
            "Told to wait",
            format!("{} since the start", self.control.metrics().refusals()),
        ));
        lines.push(self.agents_line());
        lines.push(self.log_line());
        Ok(lines)
    }

    /// Agents that went wrong by themselves, since the start.
    fn agents_line(&self) -> StatusLine {
        let (loops, spikes) =
            (self.control.metrics().loops_stopped(), self.control.metrics().token_spikes());
        let value = format!("{loops} stopped in a loop, {spikes} token spikes since the start");
        let look = "the log says whose; `cloister task list` shows what they work on, `cloister budget set` limits them";
        line("agents", "Agents", value).judged(spikes > 0, false, look)
    }

    fn stop_line(&self) -> Option<StatusLine> {
        let stopped = self.control.stops().is_stopped();
        let line = stopped.then(|| {
            line("stop", "Emergency stop", self.control.stops().stop_sentence(Language::En))
        });
        line.map(|line| line.act("`cloister release` lets everything go on"))
    }

    /// Who fell over, and who is waited for by a stop.
    fn work_lines(&self) -> Vec<StatusLine> {
        let mut lines = Vec::new();
        let fell = self.control.inner.crew.fell();
        if !fell.is_empty() {
            let value = format!("failed inside since the start: {}", fell.join(", "));
            let fix = "what is to go on was begun anew; the log has the place: report it";
            lines.push(line("work.failed", "Background work", value).judged(true, false, fix));
        }
        let late = self.control.inner.crew.late();
        if !late.is_empty() {
            let value = format!("does not go on: {}", late.join(", "));
            let fix = "the log says what went wrong before; a restart of `cloister up` begins it anew: report it";
            lines.push(line("work.late", "Late work", value).judged(true, false, fix));
        }
        if self.control.closing() {
            let value = format!("waits for: {}", self.control.inner.crew.busy().join(", "));
            let fix = "asked once more, it stops at once";
            lines.push(line("work.stopping", "Stopping", value).judged(true, false, fix));
        }
        lines
    }

    fn policy_line(&self) -> Option<StatusLine> {
        let differs = line("policies", "Policies", self.control.config().policies_differ()?);
        let fix = "`cloister policy check` says what is wrong, `cloister policy apply` puts them in force";
        Some(differs.judged(true, false, fix))
    }

    fn message_lines(&self, pulse: &Pulse) -> [StatusLine; 3] {
        let waited =
            pulse.oldest_at.map(|at| self.control.cells().waited(at).as_secs()).unwrap_or(0);
        let waited = i64::try_from(waited).unwrap_or(i64::MAX);
        let oldest = match pulse.oldest_at {
            None => line("messages.oldest", "Oldest unanswered message", "none waits"),
            Some(_) => line("messages.oldest", "Oldest unanswered message", format!("{waited} s")),
        };
        let look = match self.control.stops().is_stopped() {
            false => {
                "`cloister model test NAME` says whether the model answers; the log has the turn"
            }
            true => "it is answered after `cloister release`",
        };
        let oldest = oldest.judged(waited >= OLD, waited >= VERY_OLD, look);
        let most = self.control.inner.limiter.options().unanswered;
        let queue = line(
            "messages.queue",
            "Unanswered messages",
            format!("{} of at most {most}", pulse.unanswered),
        );
        let queue = queue.judged(
            pulse.unanswered >= most / 2,
            pulse.unanswered >= most,
            "more comes in than is answered: look at the model's speed, or raise `[limits] unanswered`",
        );
        let lost = line("messages.lost", "Lost messages", pulse.lost.to_string()).judged(
            false,
            pulse.lost > 0,
            "this must not happen: keep a copy of the data directory and report it",
        );
        [oldest, queue, lost]
    }

    fn task_line(&self, pulse: &Pulse) -> StatusLine {
        let (running, most) =
            (self.control.tasks().running_executors(), self.control.inner.parts.cells.executors);
        let value = format!(
            "{} queued, {running} of at most {most} executors, {} waiting for somebody",
            pulse.queued_tasks, pulse.waiting_tasks
        );
        line("tasks.queue", "Tasks", value).judged(
            pulse.queued_tasks > 0 && running >= most,
            false,
            "every executor is busy: `cloister task list --open` shows by what; `[cells] executors` raises it",
        )
    }

    fn audit_line(&self) -> StatusLine {
        match self.control.audit().troubles().first() {
            None => line("audit", "Audit", "kept, sealed and signed"),
            Some(trouble) => line("audit", "Audit", format!("not kept as it should be: {trouble}"))
                .act("`cloister audit verify` says what holds; the log has the cause"),
        }
    }

    async fn connector_lines(&self) -> Vec<StatusLine> {
        let connectors = self.connector_healths().await.unwrap_or_default();
        let accounts =
            connectors.iter().map(|(load, health)| self.connector_line(load, health.as_ref()));
        accounts.chain(self.program_lines()).collect()
    }

    /// The programs of connectors that run, each with what it takes.
    fn program_lines(&self) -> Vec<StatusLine> {
        let programs = self.control.surfaces().programs().into_iter();
        let running = programs.filter_map(|program| {
            let (surface, bytes) = (program.surface(), program.memory()?);
            let value = format!("runs in a sandbox of its own, {} MB", bytes >> 20);
            Some(line(&format!("program.{surface}"), &format!("Program of {surface}"), value))
        });
        running.collect()
    }

    fn connector_line(&self, load: &ConnectorLoad, health: Option<&Health>) -> StatusLine {
        let ConnectorLoad { surface, account, conversations, waiting, .. } = load;
        let state = health.map_or(ConnectorState::Starting, |health| health.state);
        let mut value = format!("{}; {conversations} conversations", state.words());
        let waited =
            load.oldest_waiting_at.map_or(0, |at| self.control.cells().waited(at).as_secs());
        if *waiting > 0 {
            value.push_str(&format!(", {waiting} rows to be told, the oldest for {waited} s"));
        }
        if let Some(problem) = health.and_then(|health| health.problem.as_ref()) {
            value.push_str(&format!(": {problem}"));
        }
        let waited = i64::try_from(waited).unwrap_or(i64::MAX);
        let look = state == ConnectorState::Retrying || waited >= OLD;
        let act = state == ConnectorState::LoggedOut || waited >= VERY_OLD;
        let status = self.control.surfaces().typed(surface, "status");
        let fix = format!("`{status} {account}` says what is wrong and what to do");
        line(&format!("connector.{surface}.{account}"), &format!("Connector {account}"), value)
            .judged(look, act, &fix)
    }

    async fn approval_line(&self) -> Result<StatusLine, Fault> {
        let value = match self.control.store().approvals().count_pending_approvals().await? {
            0 => "nobody is asked anything".to_owned(),
            1 => "1 question waits for somebody's answer".to_owned(),
            more => format!("{more} questions wait for somebody's answer"),
        };
        Ok(line("approvals", "Approvals", value))
    }

    fn acknowledgement_line(&self) -> StatusLine {
        let line_of = |value: String| {
            line("messages.acknowledgement", "Acknowledgement, p95 of ten minutes", value)
        };
        match self.control.metrics().recent_acknowledgement_p95() {
            None => line_of("nothing came in".to_owned()),
            Some(p95) => line_of(format!("at most {} ms", p95.as_secs_f64() * 1e3)).judged(
                p95 > SLOW,
                p95 > VERY_SLOW,
                "storing is slow: look at the disk (`iostat -x 1`) and the load (`uptime`)",
            ),
        }
    }

    async fn cell_line(&self) -> StatusLine {
        let live = self.control.cells().live_cells();
        let deadline = Instant::now() + MEASURE_TIME / 2;
        let (mut measured, mut memory) = (0_usize, 0_u64);
        for workspace in &live {
            let left = deadline.saturating_duration_since(Instant::now());
            match timeout(left, self.control.cells().cell_memory(*workspace)).await {
                Ok(Some(bytes)) => {
                    measured += 1;
                    memory = memory.saturating_add(bytes);
                }
                Ok(None) => {}
                Err(_late) => break,
            }
        }
        let value = match measured {
            0 => format!("{} live", live.len()),
            _ => format!("{} live, {} MB in {measured} of them", live.len(), memory >> 20),
        };
        line("cells", "Cells", value).judged(
            false,
            self.control.metrics().last_launch_failed(),
            "the last cell did not start: `cloister doctor` says what is missing",
        )
    }

    async fn disk_line(&self) -> Result<StatusLine, Fault> {
        let (free, size) =
            self.disk().map_err(Fault::io("the room on the disk could not be read"))?;
        let (bytes, all) = self.workspaces_size().await?;
        let least = if all { "" } else { "at least " };
        let value = format!(
            "{} of {} MB free; workspaces take {least}{} MB",
            free >> 20,
            size >> 20,
            bytes >> 20
        );
        Ok(line("disk", "Disk", value).judged(
            free < (size / 10).min(LITTLE_FREE),
            free < LEAST_FREE,
            "make room where the data directory is, or lower quotas (`cloister user set NAME --quota-mb MB`)",
        ))
    }

    /// What all workspaces take, and whether there was time to measure all.
    async fn workspaces_size(&self) -> Result<(u64, bool), Fault> {
        let deadline = Instant::now() + MEASURE_TIME;
        let mut sum = 0_u64;
        for user in self.control.store().users().all().await? {
            let left = deadline.saturating_duration_since(Instant::now());
            match timeout(left, self.control.cells().measure(user.workspace)).await {
                Ok(bytes) => sum = sum.saturating_add(bytes?),
                Err(_late) => return Ok((sum, false)),
            }
        }
        Ok((sum, true))
    }

    /// What people paid themselves; nothing where nobody did.
    async fn own_spend_line(&self) -> Result<Option<StatusLine>, Fault> {
        let own = self.control.store().tasks().own_spent_today(None).await?;
        let value = format!("{}, in no budget here", Dollars(own));
        Ok((own > 0).then(|| line("spend.own", "Paid by people themselves today", value)))
    }

    async fn spender_lines(&self) -> Result<Vec<StatusLine>, Fault> {
        let spenders = self.control.store().platform().heaviest_spenders(SPENDERS).await?;
        let lines = spenders.into_iter().map(|spend| {
            let name = spend.user.as_str();
            let value = format!("{} of {}", Dollars(spend.spent), Dollars(spend.limit));
            let percent = spend.spent.saturating_mul(100).checked_div(spend.limit).unwrap_or(100);
            let label = format!("Spent today by {name}");
            line(&format!("spend.{name}"), &label, value).judged(
                percent >= NEARLY,
                false,
                &format!("`cloister budget set {name} --daily USD` raises it; `cloister budget show --user {name}` says on what"),
            )
        });
        Ok(lines.collect())
    }

    fn egress_line(&self) -> StatusLine {
        let (allowed, refused) = self.control.metrics().egress_decisions();
        line("egress", "Egress", format!("{allowed} allowed, {refused} refused since the start"))
    }

    fn log_line(&self) -> StatusLine {
        let since = self.control.store().clock.now_ms().saturating_sub(15 * 60 * 1000);
        let recent = self.control.metrics().recent_errors();
        let errors = recent.iter().filter(|error| error.level == "error" && error.last_at >= since);
        let count = errors.count();
        let value = match count {
            0 => "no errors in the last 15 minutes".to_owned(),
            1 => "1 kind of error in the last 15 minutes".to_owned(),
            n => format!("{n} kinds of errors in the last 15 minutes"),
        };
        line("log", "Log", value).judged(count > 0, false, "they are listed below, with what to do")
    }
}

fn spend_total(pulse: &Pulse) -> StatusLine {
    let value = format!(
        "{}, {} held for calls under way",
        Dollars(pulse.spent_today),
        Dollars(pulse.reserved)
    );
    line("spend.today", "Spent today", value)
}

fn quota_line(pulse: &Pulse) -> StatusLine {
    let value = match pulse.over_quota {
        0 => "no workspace is over its quota".to_owned(),
        n => format!("{n} over their quota"),
    };
    line("quotas", "Quotas", value).judged(
        pulse.over_quota > 0,
        false,
        "`cloister user list` shows whose; `cloister user set NAME --quota-mb MB` raises one",
    )
}

fn line(id: &str, label: &str, value: impl Into<String>) -> StatusLine {
    StatusLine {
        id: id.to_owned(),
        label: label.to_owned(),
        value: value.into(),
        judgement: Judgement::Ok,
        fix: None,
    }
}

/// Judging a line.
trait Judge {
    fn judged(self, attention: bool, act: bool, fix: &str) -> Self;
    fn act(self, fix: impl Into<String>) -> Self;
}

impl Judge for StatusLine {
    fn judged(mut self, attention: bool, act: bool, fix: &str) -> Self {
        self.judgement = match (attention, act) {
            (_, true) => Judgement::Act,
            (true, false) => Judgement::Attention,
            (false, false) => return self,
        };
        self.fix = Some(fix.to_owned());
        self
    }

    fn act(mut self, fix: impl Into<String>) -> Self {
        self.judgement = Judgement::Act;
        self.fix = Some(fix.into());
        self
    }
}
