//! Chaos: a scripted load of many users and chats on the real product, in which the control plane,
//! agents and launchers are killed at random points; in the end every promise is counted.
//!
//! The load and the plan of kills follow from the seed alone. What a kill hits depends on how fast
//! the machine is, so a seed that failed once may need a few runs to fail again.

pub mod landings;
mod load;
mod plan;
pub mod rooms;
mod script;
mod verdict;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cloister_protocol::ChatId;
use rusqlite::{Connection, OpenFlags};
use rustix::process::Signal;
use tokio::sync::{broadcast, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

pub use plan::Victim;
pub use verdict::Verdict;

use crate::random;
use crate::stack::{Stack, StackError, processes};
use crate::{ModelServer, model_server::Received};
use load::{Phase, Talker, Told};
use plan::{Kill, Moment};
use script::Seen;

/// Budgets are not what is tested here, few executors at once keep a small machine responsive, and
/// cells that soon stop for want of work race with the next message.
const CONFIG: &str = "[users]\ndaily_budget_usd = 1000000.0\ntask_budget_usd = 100000.0\nexecutors = 3\n\
                      [cells]\nexecutors = 12\nttl_s = 1\n";
/// How long to wait for a frame of the wanted kind, or for a victim to turn up.
const MOMENT_TIME: Duration = Duration::from_millis(1500);
const VICTIM_TIME: Duration = Duration::from_millis(1500);
const POLL: Duration = Duration::from_millis(100);
/// Unanswered messages and open tasks, for each chat, above which nothing new is said.
const OPEN_PER_CHAT: u32 = 4;
/// Nothing must be open for this long before the load counts as drained.
const QUIET_TIME: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub seed: u64,
    pub kills: usize,
    pub users: usize,
    /// Chats of each user.
    pub chats: u32,
    /// After this no more is killed, however many kills are left.
    pub time: Duration,
    /// How long everything may take to be answered after the last kill.
    pub drain: Duration,
}

#[derive(Debug, thiserror::Error)]
pub enum ChaosError {
    #[error("the model server did not start")]
    Model(#[source] std::io::Error),
    #[error(transparent)]
    Stack(#[from] StackError),
    #[error("what is left could not be read: {0}")]
    Verdict(String),
    #[error("it broke off: {source}\ndata and log are in {}", kept.display())]
    BrokenOff { kept: PathBuf, source: Box<ChaosError> },
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    pub options: Options,
    pub kills: BTreeMap<Victim, usize>,
    pub verdict: Verdict,
    /// Everything was answered in time after the last kill.
    pub drained: bool,
    /// What was wrong with the requests to the model.
    pub violations: Vec<String>,
    /// Where data and log are, if something was wrong.
    pub kept: Option<PathBuf>,
}

impl Outcome {
    pub fn holds(&self) -> bool {
        self.verdict.holds() && self.drained && self.violations.is_empty()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { options, kills, verdict, .. } = self;
        let of = |victim| kills.get(&victim).copied().unwrap_or(0);
        write!(
            f,
            "chaos: seed={} kills={} (control={} coordinator={} executor={} launcher={}) messages={} lost={} \
             doubled={} failed={} tasks={} vanished={} repeated_unreported={} unknown_reported={} integrity={}",
            options.seed,
            kills.values().sum::<usize>(),
            of(Victim::Control),
            of(Victim::Coordinator),
            of(Victim::Executor),
            of(Victim::Launcher),
            verdict.messages,
            verdict.lost,
            verdict.doubled,
            verdict.failed,
            verdict.tasks,
            verdict.vanished,
            verdict.repeated_unreported,
            verdict.unknown_reported,
            if verdict.broken_databases == 0 { "ok" } else { "broken" },
        )
    }
}

/// Runs the load, kills by plan, and counts.
pub async fn run(options: Options) -> Result<Outcome, ChaosError> {
    let seen = Arc::new(Seen::default());
    let rule = Arc::clone(&seen);
    let model = ModelServer::builder()
        .seed(options.seed)
        .keep(0)
        .rule(move |received: &Received| rule.reply(received))
        .start()
        .await
        .map_err(ChaosError::Model)?;
    let mut stack = Stack::builder().config(CONFIG).start().await?;
    stack.use_model(&model).await?;
    let outcome = run_on(&mut stack, options, (&model, &seen)).await;
    match outcome {
        Ok(mut outcome) if !outcome.holds() => {
            outcome.kept = Some(stack.keep());
            Ok(outcome)
        }
        Ok(outcome) => Ok(outcome),
        Err(error) => Err(ChaosError::BrokenOff { kept: stack.keep(), source: Box::new(error) }),
    }
}

async fn run_on(
    stack: &mut Stack,
    options: Options,
    (model, seen): (&ModelServer, &Seen),
) -> Result<Outcome, ChaosError> {
    let (phase, phases) = watch::channel(Phase::Talk);
    let (moments, _) = broadcast::channel(256);
    let (mut talkers, waiting) = start_load(stack, options, &phases, &moments).await?;

    let kills = strike(stack, options, &moments, &phase).await?;
    phase.send_replace(Phase::Listen);
    let drained = drain(stack, &waiting, options.drain).await;
    phase.send_replace(Phase::Leave);
    let mut told: Vec<Told> = Vec::new();
    while let Some(talker) = talkers.join_next().await {
        told.extend(talker.ok());
    }
    stack.stop().await?;
    let verdict = verdict::count(stack.data(), &told, &seen.delegated())
        .map_err(|error| ChaosError::Verdict(error.to_string()))?;
    let violations = model.violations();
    Ok(Outcome { options, kills, verdict, drained, violations, kept: None })
}

type Load = (JoinSet<Told>, Vec<Arc<AtomicUsize>>);

async fn start_load(
    stack: &Stack,
    options: Options,
    phases: &watch::Receiver<Phase>,
    moments: &broadcast::Sender<Moment>,
) -> Result<Load, ChaosError> {
    let mut talkers = JoinSet::new();
    let mut waiting = Vec::new();
    for number in 0..options.users {
        let user = format!("u{number}");
        stack.cli_ok(&["user", "add", &user]).await?;
        for _ in 1..options.chats {
            stack.cli_ok(&["chats", "new", "--user", &user]).await?;
        }
        let session = stack.session(&user).await?;
        for chat in 1..=options.chats {
            let moments = moments.clone();
            let watcher = Arc::new(move |frame: &_| {
                if let Some(moment) = Moment::of(frame) {
                    // Nobody may be waiting for one.
                    drop(moments.send(moment));
                }
            });
            let client = stack.client(&session, ChatId::from_number(chat)).watched_by(watcher);
            let count = Arc::new(AtomicUsize::new(0));
            waiting.push(Arc::clone(&count));
            talkers.spawn(Talker::new(client, options.seed, phases.clone(), count).run());
        }
    }
    Ok((talkers, waiting))
}

/// Kills by plan, until it is done or the time is up.
async fn strike(
    stack: &mut Stack,
    options: Options,
    moments: &broadcast::Sender<Moment>,
    phase: &watch::Sender<Phase>,
) -> Result<BTreeMap<Victim, usize>, ChaosError> {
    let until = Instant::now() + options.time;
    let chats = u32::try_from(options.users).unwrap_or(u32::MAX).saturating_mul(options.chats);
    let most_open = chats.saturating_mul(OPEN_PER_CHAT);
    let mut killed: BTreeMap<Victim, usize> = BTreeMap::new();
    for kill in plan::plan(options.seed, options.kills) {
        if Instant::now() >= until || killed.values().sum::<usize>() >= options.kills {
            break;
        }
        let too_much = open_work(stack).is_some_and(|open| open > most_open);
        phase.send_replace(if too_much { Phase::Listen } else { Phase::Talk });
        if let Some(wanted) = kill.after {
            let mut moments = moments.subscribe();
            let seen = async { while moments.recv().await.is_ok_and(|moment| moment != wanted) {} };
            // Whether it came or not, the plan goes on.
            timeout(MOMENT_TIME, seen).await.unwrap_or_default();
        }
        sleep(kill.delay).await;
        let (victim, times) = strike_once(stack, kill).await?;
        *killed.entry(victim).or_default() += times;
    }
    Ok(killed)
}

/// Kills the victim, or the control plane if there is no such victim for long.
async fn strike_once(stack: &mut Stack, kill: Kill) -> Result<(Victim, usize), ChaosError> {
    let kind = match kill.victim {
        Victim::Control => None,
        Victim::Coordinator => Some(processes::Kind::Coordinator),
        Victim::Executor => Some(processes::Kind::Executor),
        Victim::Launcher => Some(processes::Kind::Launcher),
    };
    let until = Instant::now() + VICTIM_TIME;
    while let (Some(kind), Some(pid)) = (kind, stack.pid()) {
        let mut found = processes::below(pid);
        found.retain(|process| process.kind == kind);
        let count = u64::try_from(found.len()).unwrap_or(1).max(1);
        let index = usize::try_from(kill.choice % count).unwrap_or(0);
        if found.get(index).is_some_and(|p| processes::signal(p.pid, Signal::KILL)) {
            return Ok((kill.victim, 1));
        }
        if Instant::now() >= until {
            break;
        }
        sleep(Duration::from_millis(5)).await;
    }
    stack.kill().await?;
    sleep(kill.down).await;
    if let Some(after) = kill.false_start {
        stack.false_start(after).await?;
    }
    stack.restart().await?;
    if kill.orderly {
        stack.restart().await?;
    }
    Ok((Victim::Control, if kill.false_start.is_some() { 2 } else { 1 }))
}

/// Waits until nothing is unanswered and no task is open.
async fn drain(stack: &Stack, waiting: &[Arc<AtomicUsize>], within: Duration) -> bool {
    let until = Instant::now() + within;
    let mut quiet_since = None;
    while Instant::now() < until {
        let open = waiting.iter().any(|count| count.load(Ordering::Relaxed) > 0)
            || open_work(stack).is_none_or(|open| open > 0);
        if open {
            quiet_since = None;
        } else if quiet_since.get_or_insert_with(Instant::now).elapsed() >= QUIET_TIME {
            return true;
        }
        sleep(POLL).await;
    }
    false
}

/// Messages without an answer and tasks without an end.
fn open_work(stack: &Stack) -> Option<u32> {
    let path = stack.data().join("cloister.db");
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    db.busy_timeout(Duration::from_secs(2)).ok()?;
    let open = "SELECT (SELECT count(*) FROM inbox WHERE state <> 'answered') \
                + (SELECT count(*) FROM tasks WHERE state IN ('queued', 'running', 'waiting'))";
    db.query_row(open, [], |row| row.get(0)).ok()
}
