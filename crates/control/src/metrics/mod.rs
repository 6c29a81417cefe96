//! What is counted: one value that is made at the start and handed to whoever counts.
//!
//! Owns every name of a metric that is counted as it happens. Promises: no label names a person, a
//! chat or a text; each family has a bounded number of series; counting never waits.
//!
//! Own code, not a client library: the common one writes another format, brings a registry and has no
//! window over the last minutes, which the operator's status needs.

mod connectors;
mod errors;
mod exposition;
mod gauges;
mod names;
mod series;
mod spikes;
mod trials;

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cloister_protocol::{ErrorCode, Level, Usage, UserId, WorkspaceId};
use tokio::time::Instant;

use crate::ports::Role;

pub(crate) use connectors::Connectors;
use errors::RecentErrors;
pub use errors::{LoggedLine, RecentError};
pub use exposition::CONTENT_TYPE;
pub(crate) use exposition::Exposition;
pub(crate) use gauges::{Gauges, processor_ticks};
use series::{Counters, Histogram, Recent, lock};
use spikes::Spikes;
pub(crate) use spikes::TokenSpike;
pub(crate) use trials::Lately;
use trials::Trials;

/// Open turns of which it is remembered when they were taken.
const MAX_TURNS: usize = 10_000;
/// There is one kind of them.
const TURNS: &str = "turns";
/// How a model call ends that went well.
pub const ANSWERED: &str = "answered";
/// How one ends that nobody waited for.
pub const GONE: &str = "gone";

/// Everything that is counted as it happens.
#[derive(Debug)]
pub struct Metrics {
    began: Instant,
    accepted: Counters<1>,
    duplicates: Counters<1>,
    refused: Counters<2>,
    acknowledgement: Histogram,
    recent_acknowledgement: Recent,
    turns_started: Counters<0>,
    turns_ended: Counters<1>,
    turn_duration: Histogram,
    first_model_request: Histogram,
    /// Turns whose agent has not asked a model yet.
    unasked: Mutex<HashMap<WorkspaceId, BTreeMap<i64, Instant>>>,
    launches: Counters<1>,
    launch_failures: Counters<1>,
    launch: Histogram,
    exits: Counters<2>,
    tasks_ended: Counters<1>,
    calls: Counters<3>,
    call: Histogram,
    tokens: Counters<3>,
    spend_nano: Counters<2>,
    budget_refusals: Counters<1>,
    loops: Counters<1>,
    token_spikes: Counters<0>,
    spikes: Spikes,
    egress: Counters<2>,
    connector_errors: Counters<2>,
    posts: Counters<1>,
    post_edits: Counters<1>,
    post_waits: Counters<1>,
    post_failures: Counters<2>,
    events: Counters<1>,
    errors: RecentErrors,
    recent_turns: Recent,
    turns: Trials,
    models: Trials,
    last_launch_failed: AtomicBool,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            accepted: Counters::default(),
            duplicates: Counters::default(),
            refused: Counters::default(),
            acknowledgement: Histogram::default(),
            recent_acknowledgement: Recent::default(),
            turns_started: Counters::default(),
            turns_ended: Counters::default(),
            turn_duration: Histogram::default(),
            first_model_request: Histogram::default(),
            unasked: Mutex::default(),
            launches: Counters::default(),
            launch_failures: Counters::default(),
            launch: Histogram::default(),
            exits: Counters::default(),
            tasks_ended: Counters::default(),
            calls: Counters::default(),
            call: Histogram::default(),
            tokens: Counters::default(),
            spend_nano: Counters::default(),
            budget_refusals: Counters::default(),
            loops: Counters::default(),
            token_spikes: Counters::default(),
            spikes: Spikes::default(),
            egress: Counters::default(),
            connector_errors: Counters::default(),
            posts: Counters::default(),
            post_edits: Counters::default(),
            post_waits: Counters::default(),
            post_failures: Counters::default(),
            events: Counters::default(),
            errors: RecentErrors::default(),
            recent_turns: Recent::default(),
            turns: Trials::default(),
            models: Trials::default(),
            last_launch_failed: AtomicBool::new(false),
        }
    }
}

/// A model call that has ended.
#[derive(Clone, Copy, Debug)]
pub struct ModelCall<'a> {
    pub level: Level,
    /// The operator's name of the model.
    pub model: &'a str,
    /// How it ended: [`ANSWERED`], [`GONE`], or the kind of failure.
    pub status: &'a str,
    pub took: Duration,
    pub usage: Usage,
    /// In nano-dollars.
    pub cost: i64,
    /// Prompt tokens that the provider had kept.
    pub cached_tokens: u64,
}

impl Metrics {
    pub fn uptime(&self) -> Duration {
        self.began.elapsed()
    }

    /// A message was stored.
    pub fn accepted(&self, surface: &str, took: Duration) {
        self.accepted.increment([surface]);
        self.acknowledgement.observe(took);
        self.recent_acknowledgement.observe(took, Instant::now());
    }

    /// A message came that was stored before.
    pub fn duplicate(&self, surface: &str) {
        self.duplicates.increment([surface]);
    }

    /// A message, a file or a connection was not taken.
    pub fn refused(&self, surface: &str, reason: &'static str) {
        self.refused.increment([surface, reason]);
    }

    /// A coordinator was handed a turn that waits since then.
    pub fn turn_started(&self, workspace: WorkspaceId, row: i64, since: Duration) {
        self.turns_started.increment([]);
        let mut unasked = lock(&self.unasked);
        if unasked.values().map(BTreeMap::len).sum::<usize>() < MAX_TURNS {
            let now = Instant::now();
            let since = now.checked_sub(since).unwrap_or(now);
            unasked.entry(workspace).or_default().insert(row, since);
        }
    }

    /// The coordinator of a workspace asks a model. With several chats at once it is not known which
    /// turn asks; it is taken to be the oldest one that has not asked yet.
    pub fn model_asked(&self, workspace: WorkspaceId) {
        let mut unasked = lock(&self.unasked);
        let Some(turns) = unasked.get_mut(&workspace) else { return };
        if let Some((_row, since)) = turns.pop_first() {
            self.first_model_request.observe(since.elapsed());
        }
        if turns.is_empty() {
            unasked.remove(&workspace);
        }
    }

    /// The end of a turn was stored; `took` is since its message was.
    pub fn turn_ended(
        &self,
        workspace: WorkspaceId,
        row: i64,
        error: Option<ErrorCode>,
        took: Duration,
    ) {
        self.turns_ended.increment([error.map_or("answered", ErrorCode::as_str)]);
        self.turn_duration.observe(took);
        self.recent_turns.observe(took, Instant::now());
        let mut unasked = lock(&self.unasked);
        if let Some(turns) = unasked.get_mut(&workspace) {
            turns.remove(&row);
            if turns.is_empty() {
                unasked.remove(&workspace);
            }
        }
    }

    /// How an answer ended, for the judgement of how things are going.
    pub fn answer_ended(&self, error: Option<ErrorCode>) {
        if let Some(outcome) = answered_or_failed(error) {
            self.turns.note(TURNS, outcome, Instant::now());
        }
    }

    pub fn launched(&self, role: Role, took: Duration) {
        self.launches.increment([role.as_str()]);
        self.launch.observe(took);
        self.last_launch_failed.store(false, Ordering::Relaxed);
    }

    pub fn launch_failed(&self, role: Role) {
        self.launch_failures.increment([role.as_str()]);
        self.last_launch_failed.store(true, Ordering::Relaxed);
    }

    /// A sandbox ended by itself or was killed; `how` is one of a few words.
    pub fn exited(&self, role: Role, how: &'static str) {
        self.exits.increment([role.as_str(), how]);
    }

    pub fn task_ended(&self, state: &'static str) {
        self.tasks_ended.increment([state]);
    }

    pub fn model_call(&self, call: ModelCall<'_>) {
        let level = call.level.as_str();
        self.calls.increment([level, call.model, call.status]);
        self.call.observe(call.took);
        if call.status != GONE {
            let failure = (call.status != ANSWERED).then_some(call.status);
            self.models.note(call.model, failure, Instant::now());
        }
        self.tokens.add([level, call.model, "prompt"], call.usage.prompt_tokens);
        self.tokens.add([level, call.model, "prompt_cached"], call.cached_tokens);
        self.tokens.add([level, call.model, "completion"], call.usage.completion_tokens);
        self.spend_nano.add([level, call.model], u64::try_from(call.cost).unwrap_or(0));
    }

    /// A model call was refused because `budget` (`day` or `task`) is used up.
    pub fn over_budget(&self, budget: &'static str) {
        self.budget_refusals.increment([budget]);
    }

    /// An agent went round in circles and was stopped; `sign` is what showed it: `calls`, `steps` or
    /// `requests`.
    pub fn loop_stopped(&self, sign: &'static str) {
        self.loops.increment([sign]);
    }

    /// Agents that were stopped for going round in circles, since the start.
    pub fn loops_stopped(&self) -> u64 {
        self.loops.total()
    }

    /// Tokens that a call of this user's agent was booked with.
    pub fn tokens_used(&self, user: UserId, usage: Usage) {
        let tokens = usage.prompt_tokens.saturating_add(usage.completion_tokens);
        if self.spikes.take(user, tokens, self.uptime()) {
            self.token_spikes.increment([]);
        }
    }

    /// Spikes that nobody was told of yet.
    pub(crate) fn take_token_spikes(&self) -> Vec<TokenSpike> {
        self.spikes.found()
    }

    /// Spikes since the start.
    pub fn token_spikes(&self) -> u64 {
        self.token_spikes.total()
    }

    /// Somebody inside wanted to go out.
    pub fn egress(&self, allowed: bool, reason: &'static str) {
        self.egress.increment([if allowed { "allowed" } else { "refused" }, reason]);
    }

    /// A request of a connector to its server failed; `kind` is one of a few words.
    pub fn connector_error(&self, surface: &str, kind: &'static str) {
        self.connector_errors.increment([surface, kind]);
    }

    /// A surface has taken a message.
    pub(crate) fn posted(&self, surface: &str) {
        self.posts.increment([surface]);
    }

    /// A surface has taken an edit of a message.
    pub(crate) fn edited(&self, surface: &str) {
        self.post_edits.increment([surface]);
    }

    /// A surface asked to wait.
    pub(crate) fn asked_to_wait(&self, surface: &str) {
        self.post_waits.increment([surface]);
    }

    /// A surface has not taken something; `reason` is one of a few words.
    pub(crate) fn not_posted(&self, surface: &str, reason: &'static str) {
        self.post_failures.increment([surface, reason]);
    }

    /// A line of the log that somebody should read.
    pub fn logged(&self, line: LoggedLine) {
        self.events.increment([line.level]);
        self.errors.add(line);
    }

    /// The newest lines of the log that somebody should read, newest first.
    pub fn recent_errors(&self) -> Vec<RecentError> {
        self.errors.all()
    }

    /// Whether the last sandbox that was to start did not.
    pub fn last_launch_failed(&self) -> bool {
        self.last_launch_failed.load(Ordering::Relaxed)
    }

    /// How turns ended lately, those left out that a person stopped or a limit did.
    pub(crate) fn turns_lately(&self) -> Lately {
        self.turns.lately(TURNS, Instant::now())
    }

    /// How the calls of a model ended lately.
    pub(crate) fn model_lately(&self, model: &str) -> Lately {
        self.models.lately(model, Instant::now())
    }

    /// What half of the turns of the last ten minutes stayed under.
    pub fn recent_turn_median(&self) -> Option<Duration> {
        self.recent_turns.quantile(0.5, Instant::now())
    }

    /// What 95 of 100 acknowledgements of the last ten minutes stayed under.
    pub fn recent_acknowledgement_p95(&self) -> Option<Duration> {
        self.recent_acknowledgement.quantile(0.95, Instant::now())
    }

    /// Decisions about egress since the start: allowed and refused.
    pub fn egress_decisions(&self) -> (u64, u64) {
        let all = self.egress.all();
        let of = |outcome: &str| {
            all.iter().filter(|(labels, _)| labels[0] == outcome).map(|(_, count)| count).sum()
        };
        (of("allowed"), of("refused"))
    }

    /// Refusals to take something, since the start.
    pub fn refusals(&self) -> u64 {
        self.refused.total()
    }

    /// Writes everything that is counted as it happens.
    pub fn expose(&self, to: &mut Exposition) {
        self.expose_messages(to);
        self.expose_work(to);
        self.expose_outside(to);
        to.counters(names::LOG_EVENTS, ["level"], &self.events, 1.0);
        to.gauge(names::UPTIME_SECONDS, self.uptime().as_secs_f64());
    }

    fn expose_messages(&self, to: &mut Exposition) {
        to.counters(names::MESSAGES_ACCEPTED, ["surface"], &self.accepted, 1.0);
        to.counters(names::MESSAGES_DUPLICATE, ["surface"], &self.duplicates, 1.0);
        to.counters(names::REFUSALS, ["surface", "reason"], &self.refused, 1.0);
        to.histogram(names::ACKNOWLEDGEMENT_SECONDS, &self.acknowledgement);
        to.counters(names::TURNS_STARTED, [], &self.turns_started, 1.0);
        to.counters(names::TURNS_ENDED, ["outcome"], &self.turns_ended, 1.0);
        to.histogram(names::TURN_DURATION_SECONDS, &self.turn_duration);
        to.histogram(names::FIRST_MODEL_REQUEST_SECONDS, &self.first_model_request);
    }

    fn expose_work(&self, to: &mut Exposition) {
        to.counters(names::CELL_LAUNCHES, ["role"], &self.launches, 1.0);
        to.counters(names::CELL_LAUNCH_FAILURES, ["role"], &self.launch_failures, 1.0);
        to.histogram(names::CELL_LAUNCH_SECONDS, &self.launch);
        to.counters(names::CELL_EXITS, ["role", "how"], &self.exits, 1.0);
        to.counters(names::TASKS_ENDED, ["state"], &self.tasks_ended, 1.0);
    }

    fn expose_outside(&self, to: &mut Exposition) {
        to.counters(names::MODEL_CALLS, ["level", "model", "status"], &self.calls, 1.0);
        to.histogram(names::MODEL_CALL_SECONDS, &self.call);
        to.counters(names::TOKENS, ["level", "model", "kind"], &self.tokens, 1.0);
        to.counters(names::SPEND_USD, ["level", "model"], &self.spend_nano, 1e9);
        to.counters(names::BUDGET_REFUSALS, ["budget"], &self.budget_refusals, 1.0);
        to.counters(names::LOOPS_STOPPED, ["sign"], &self.loops, 1.0);
        to.counters(names::TOKEN_SPIKES, [], &self.token_spikes, 1.0);
        to.counters(names::EGRESS_DECISIONS, ["outcome", "reason"], &self.egress, 1.0);
        to.counters(names::CONNECTOR_ERRORS, ["surface", "kind"], &self.connector_errors, 1.0);
        to.counters(names::POSTS, ["surface"], &self.posts, 1.0);
        to.counters(names::POST_EDITS, ["surface"], &self.post_edits, 1.0);
        to.counters(names::POST_WAITS, ["surface"], &self.post_waits, 1.0);
        to.counters(names::POST_FAILURES, ["surface", "reason"], &self.post_failures, 1.0);
    }
}

/// How a turn ended, as the operator judges it: what somebody wanted so, and limits that have lines of their own,
/// say nothing of how things are going.
fn answered_or_failed(error: Option<ErrorCode>) -> Option<Option<&'static str>> {
    match error {
        None => Some(None),
        Some(
            ErrorCode::Cancelled
            | ErrorCode::Continued
            | ErrorCode::Refused
            | ErrorCode::Forbidden
            | ErrorCode::OverBudget
            | ErrorCode::OverQuota
            | ErrorCode::ShuttingDown,
        ) => None,
        Some(failure) => Some(Some(failure.as_str())),
    }
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
