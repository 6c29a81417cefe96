//! How long a model is waited for: by what kind it is, by what it did before, or as the operator says.
//!
//! Slow is not broken. A model on the same machine may read a long prompt for minutes; one that reasons says nothing
//! until it has thought; of what runs in a data centre two minutes of silence are an outage, and the next model's turn.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use cloister_control::books::Model;
use cloister_policy::egress::address_is_public;
use cloister_protocol::ModelSettings;
use url::{Host, Url};

use crate::options::UpstreamOptions;

/// How many times its slowest beginning a model is waited for.
const TIMES_SLOWEST: u32 = 3;
/// How often in a row the time for a model that did not begin within it is doubled.
const MOST_DOUBLED: u32 = 2;
/// How long an answer that has begun may say nothing while its connection is kept open: so many times as long as the
/// connection itself may be silent, …
const TIMES_IDLE: u32 = 3;
/// … but no longer than this, or than that.
const MOST_WORDLESS: Duration = Duration::from_secs(600);
/// By how much more than what is known a beginning must be slower to be kept.
const WORTH_KEEPING: f64 = 1.2;
/// Models whose beginnings are remembered at once.
const MOST_REMEMBERED: usize = 1_000;

/// Parts of what providers call their models that reason before they answer.
const REASONING: [&str; 12] = [
    "reason",
    "think",
    "deepseek-r",
    "qwq",
    "magistral",
    "gpt-5",
    "gpt-oss",
    "grok-4",
    "glm-4.5",
    "glm-4.6",
    "kimi-k2",
    "minimax-m",
];

/// What makes a model slow to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ModelKind {
    /// It runs on a machine of the operator.
    Local,
    /// It thinks before it answers.
    Reasoning,
    Ordinary,
}

/// How long one call of a model is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waits {
    /// Until the first word, thought or call.
    pub(crate) first_byte: Duration,
    /// Between two pieces of an answer that has begun, of whichever kind.
    pub(crate) idle: Duration,
}

impl Waits {
    /// Between two pieces of an answer that say something.
    pub(crate) fn wordless(self) -> Duration {
        (self.idle * TIMES_IDLE).min(MOST_WORDLESS).max(self.idle)
    }
}

/// How long a model took to begin, or did not.
#[derive(Clone, Copy, Default)]
struct Beginnings {
    slowest: Duration,
    /// How often in a row it did not begin in time.
    late: u32,
}

/// What is known of how slow models are.
pub(crate) struct Patience {
    first_byte: Option<Duration>,
    idle: Option<Duration>,
    most: Duration,
    seen: Mutex<BTreeMap<String, Beginnings>>,
}

impl Patience {
    pub(crate) fn new(options: &UpstreamOptions) -> Self {
        let (first_byte, idle, most) = (options.first_byte, options.idle, options.total);
        Self { first_byte, idle, most, seen: Mutex::default() }
    }

    pub(crate) fn with(&self, model: &Model) -> Waits {
        let usual = ModelKind::of(model).waits();
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let Beginnings { slowest, late } = seen.get(&key(model)).copied().unwrap_or_default();
        let learnt = slowest.max(kept(model)) * TIMES_SLOWEST;
        let learnt = usual.first_byte.max(learnt) * 2_u32.pow(late.min(MOST_DOUBLED));
        let set = |seconds: Option<u32>| seconds.map(|s| Duration::from_secs(s.into()));
        let ModelSettings { first_byte_seconds, idle_seconds, .. } = model.settings;
        let first_byte = || self.first_byte.unwrap_or(learnt).min(self.most);
        let idle = || self.idle.unwrap_or(usual.idle).min(self.most);
        Waits {
            first_byte: set(first_byte_seconds).unwrap_or_else(first_byte),
            idle: set(idle_seconds).unwrap_or_else(idle),
        }
    }

    /// A model began its answer after this long. Says how many milliseconds that is if they are to be kept for the time
    /// after a restart: they change how long it is waited for.
    pub(crate) fn began(&self, model: &Model, after: Duration) -> Option<u32> {
        self.change(model, |seen| {
            let before = seen.slowest.max(kept(model));
            *seen = Beginnings { slowest: after.max(seen.slowest), late: 0 };
            let matters = after * TIMES_SLOWEST > ModelKind::of(model).waits().first_byte;
            let slower = after > before.mul_f64(WORTH_KEEPING);
            (matters && slower).then(|| u32::try_from(after.as_millis()).unwrap_or(u32::MAX))
        })
    }

    /// A model did not begin within the time it was given: it gets more, so that one that is only slow can answer at
    /// all. One that is dead costs that once or twice, and nothing any more once it begins again.
    pub(crate) fn was_late(&self, model: &Model) {
        self.change(model, |seen| seen.late = seen.late.saturating_add(1).min(MOST_DOUBLED));
    }

    fn change<T>(&self, model: &Model, change: impl FnOnce(&mut Beginnings) -> T) -> T {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= MOST_REMEMBERED && !seen.contains_key(&key(model)) {
            seen.clear();
        }
        change(seen.entry(key(model)).or_default())
    }
}

/// The same name may be somebody else's own model, or another one by now.
fn key(model: &Model) -> String {
    format!("{} {} {}", model.name, model.base_url, model.model)
}

/// Its slowest beginning before the start.
fn kept(model: &Model) -> Duration {
    Duration::from_millis(model.profile.slowest_ms.unwrap_or_default().into())
}

impl ModelKind {
    fn of(model: &Model) -> Self {
        if is_local(&model.base_url) {
            return Self::Local;
        }
        let id = model.model.to_ascii_lowercase();
        let short = id.rsplit('/').next().unwrap_or_default();
        let o_series =
            short.strip_prefix('o').is_some_and(|rest| rest.starts_with(['1', '3', '4']));
        let reasons = model.profile.reasoning.is_some();
        if reasons || o_series || REASONING.iter().any(|part| id.contains(part)) {
            Self::Reasoning
        } else {
            Self::Ordinary
        }
    }

    fn waits(self) -> Waits {
        let (first_byte, idle) = match self {
            Self::Local => (600, 120),
            Self::Reasoning => (300, 120),
            Self::Ordinary => (120, 60),
        };
        Waits { first_byte: Duration::from_secs(first_byte), idle: Duration::from_secs(idle) }
    }
}

/// An address that no provider on the internet has, or a name that only a network of one's own knows.
pub(super) fn is_local(base_url: &str) -> bool {
    let Ok(url) = Url::parse(base_url) else { return false };
    match url.host() {
        Some(Host::Ipv4(address)) => address_is_public(IpAddr::V4(address)).is_err(),
        Some(Host::Ipv6(address)) => address_is_public(IpAddr::V6(address)).is_err(),
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            let own = [".localhost", ".local", ".lan", ".internal", ".home.arpa"];
            !name.contains('.') || own.iter().any(|end| name.ends_with(end))
        }
        None => false,
    }
}

#[cfg(test)]
#[path = "patience_tests.rs"]
mod tests;
