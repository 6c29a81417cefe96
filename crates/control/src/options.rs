//! The settings of control, declared beside their owner.

use std::time::Duration;

use cloister_protocol::Language;
use cloister_store::users::UserLimits;
use serde::Deserialize;

use crate::ports::Limits;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// `[cells]` of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CellOptions {
    /// Seconds without messages after which a cell stops.
    pub ttl_s: u64,
    /// Coordinators of one workspace at once; each chat that is talked in has its own.
    pub coordinators: usize,
    pub coordinator_memory_mb: u64,
    pub executor_memory_mb: u64,
    pub executor_processes: u32,
    /// Percent of one core for one executor.
    pub executor_cpu_percent: u32,
    /// Wall time of one executor.
    pub executor_wall_s: u64,
    pub tmp_mb: u64,
    pub open_files: u32,
    /// Executors at once on this machine, all users together.
    pub executors: usize,
    /// What a message does to the answer that the same person still waits for.
    pub second_message: SecondMessage,
    /// How a task's changes to files are kept apart.
    pub layers: Layering,
    /// Whether there is a provider of searches; said by who puts the parts together.
    #[serde(skip)]
    pub web_search: bool,
}

/// How a task's changes to the files of its chat are kept apart until they land.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layering {
    /// By folders over one another where the machine can, else on a copy.
    #[default]
    Auto,
    /// By folders over one another: where there are none, tasks that write do not start.
    Overlay,
    /// Each works on a copy, and what has changed is looked for afterwards.
    Copy,
}

/// What becomes of an answer that is under way when the same person writes again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecondMessage {
    /// It is finished first.
    Queue,
    /// It stops where it stands, and the new message is answered at once, with what is still owed of the first.
    #[default]
    Steer,
    /// It is stopped, as by `/cancel`.
    Interrupt,
}

impl SecondMessage {
    pub(crate) const ALL: [Self; 3] = [Self::Queue, Self::Steer, Self::Interrupt];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Steer => "steer",
            Self::Interrupt => "interrupt",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str().eq_ignore_ascii_case(text))
    }
}

impl Default for CellOptions {
    fn default() -> Self {
        Self {
            ttl_s: 3600,
            coordinators: 16,
            coordinator_memory_mb: 256,
            executor_memory_mb: 2048,
            executor_processes: 256,
            executor_cpu_percent: 100,
            executor_wall_s: 3600,
            tmp_mb: 512,
            open_files: 1024,
            executors: 64,
            second_message: SecondMessage::default(),
            layers: Layering::default(),
            web_search: false,
        }
    }
}

impl CellOptions {
    pub fn ttl(&self) -> Duration {
        Duration::from_secs(self.ttl_s)
    }

    pub(crate) fn coordinator_limits(&self) -> Limits {
        Limits {
            memory_bytes: self.coordinator_memory_mb * MIB,
            processes: 16,
            cpu_percent: 100,
            cpu_weight: 100,
            file_bytes: GIB,
            open_files: self.open_files,
            tmp_bytes: 8 * MIB,
            log_bytes: 64 << 10,
            wall: None,
        }
    }

    /// `room`: what the workspace may still grow by.
    pub fn executor_limits(&self, room: u64) -> Limits {
        Limits {
            memory_bytes: self.executor_memory_mb * MIB,
            processes: self.executor_processes,
            cpu_percent: self.executor_cpu_percent,
            // Coordinators go first: the agent answers while executors work.
            cpu_weight: 10,
            file_bytes: room,
            open_files: self.open_files,
            tmp_bytes: self.tmp_mb * MIB,
            log_bytes: 64 << 10,
            wall: Some(Duration::from_secs(self.executor_wall_s)),
        }
    }
}

/// `[users]` of the configuration: what a new user starts with.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UserOptions {
    pub quota_mb: u64,
    pub executors: u32,
    pub daily_budget_usd: f64,
    pub task_budget_usd: f64,
    /// Agents of one person or community at once, the first one among them. Counts for all of them from now on.
    pub agents: u32,
}

impl Default for UserOptions {
    fn default() -> Self {
        Self {
            quota_mb: 10 * 1024,
            executors: 5,
            daily_budget_usd: 5.0,
            task_budget_usd: 1.0,
            agents: 5,
        }
    }
}

impl UserOptions {
    pub fn limits(&self) -> UserLimits {
        UserLimits {
            quota_bytes: self.quota_mb * MIB,
            max_executors: self.executors,
            daily_budget: usd_to_nano(self.daily_budget_usd),
            task_budget: usd_to_nano(self.task_budget_usd),
        }
    }
}

/// `[work]` of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorkOptions {
    /// Model calls in one task before it is called a loop.
    pub max_steps: u32,
    /// Launches of one task without a new step before it fails.
    pub max_attempts: u32,
    /// Open tasks of one user.
    pub max_open_tasks: usize,
    /// Unanswered messages of one user before new ones are told to wait.
    pub max_unanswered: i64,
    pub max_upload_mb: u64,
    /// Seconds that a stop gives running turns to end.
    pub drain_s: u64,
}

impl Default for WorkOptions {
    fn default() -> Self {
        Self {
            max_steps: 60,
            max_attempts: 6,
            max_open_tasks: 200,
            max_unanswered: 200,
            max_upload_mb: 512,
            drain_s: 8,
        }
    }
}

/// `[files]` of the configuration: how long is kept what nobody may need any more.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FileOptions {
    /// Days that what a task did can be taken back, or kept though it did not get done.
    pub undo_days: Most,
    /// What a workspace may take for that, beside its files.
    pub undo_mb: Most,
    /// Days after which files of a chat are put away that nobody has used, in a chat that nobody has used.
    pub chat_days: Most,
}

impl Default for FileOptions {
    fn default() -> Self {
        Self { undo_days: Most::of(30), undo_mb: Most::of(2048), chat_days: Most::of(3) }
    }
}

/// A number of days or megabytes; 0, or `"never"`: there is no end to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "MostSaid")]
pub struct Most(Option<u32>);

#[derive(Deserialize)]
#[serde(untagged)]
enum MostSaid {
    Number(u32),
    Word(String),
}

impl Most {
    pub const fn of(number: u32) -> Self {
        Self(if number == 0 { None } else { Some(number) })
    }

    /// None: no end.
    pub const fn number(self) -> Option<u32> {
        self.0
    }
}

impl TryFrom<MostSaid> for Most {
    type Error = &'static str;

    fn try_from(said: MostSaid) -> Result<Self, Self::Error> {
        match said {
            MostSaid::Number(number) => Ok(Self::of(number)),
            MostSaid::Word(word) if word == "never" => Ok(Self(None)),
            MostSaid::Word(_) => Err("expected a whole number, not negative, or \"never\""),
        }
    }
}

/// `[gates]` of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GateOptions {
    /// Seconds that a request outside is held while a person is asked; then the task is parked.
    pub hold_s: u64,
    /// A task with others' content in it that changes more files than this says so, with the way back.
    pub many_files: usize,
    /// Requests outside of one person's tasks in a workspace, which are in the audit trail each: what leaves at once,
    /// and as how many a second after that.
    pub request_burst: u32,
    pub requests_per_second: f64,
    /// Denials that have an entry of their own; more are counted.
    pub denial_burst: u32,
    pub denials_per_second: f64,
}

impl Default for GateOptions {
    fn default() -> Self {
        Self {
            hold_s: 20,
            many_files: 20,
            request_burst: 5_000,
            requests_per_second: 5.0,
            denial_burst: 200,
            denials_per_second: 0.2,
        }
    }
}

/// `[surfaces]` of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SurfaceOptions {
    /// The language of who has chosen none, and of whom nothing is known.
    pub language: Language,
    /// What somebody is told whose account is nobody's here; without it, words of ours in their language.
    pub refusal: Option<String>,
    /// Seconds until the same account is told again.
    pub refusal_every_s: u64,
}

impl Default for SurfaceOptions {
    fn default() -> Self {
        Self { language: Language::En, refusal: None, refusal_every_s: 86_400 }
    }
}

/// `[limits]` of the configuration: what one person, and everybody together, may ask in a time.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitOptions {
    /// Messages that one person may send at once, and then per second.
    pub person_burst: u32,
    pub person_per_s: f64,
    /// The same for commands that must get through when messages do not: `/cancel`, `/status`, ….
    pub command_burst: u32,
    pub command_per_s: f64,
    /// Messages of everybody over one surface.
    pub surface_burst: u32,
    pub surface_per_s: f64,
    /// Files that one person may send at once, and then per second.
    pub upload_burst: u32,
    pub upload_per_s: f64,
    /// Files of one person on their way at the same time.
    pub uploads: usize,
    /// Agent sockets that one person may open at once, and then per second.
    pub connect_burst: u32,
    pub connect_per_s: f64,
    /// Open agent sockets of one person, and of everybody.
    pub person_sockets: usize,
    pub sockets: usize,
    /// Unanswered messages of everybody before new ones are told to wait.
    pub unanswered: i64,
}

impl Default for LimitOptions {
    fn default() -> Self {
        Self {
            person_burst: 60,
            person_per_s: 2.0,
            command_burst: 20,
            command_per_s: 1.0,
            surface_burst: 1000,
            surface_per_s: 200.0,
            upload_burst: 60,
            upload_per_s: 2.0,
            uploads: 32,
            connect_burst: 200,
            connect_per_s: 10.0,
            person_sockets: 64,
            sockets: 10_000,
            unanswered: 5_000,
        }
    }
}

pub fn usd_to_nano(usd: f64) -> i64 {
    // Saturating by the language; budgets beyond nine billion dollars are not worth an error.
    #[expect(clippy::cast_possible_truncation, reason = "float to int casts saturate")]
    let nano = (usd * 1e9).round() as i64;
    nano.max(0)
}

pub fn nano_to_usd(nano: i64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "shown to people, rounded anyway")]
    let usd = nano as f64 / 1e9;
    usd
}
