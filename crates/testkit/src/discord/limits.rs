//! Rate limits: a bucket for each route and channel, and one for everything a bot does.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::faults::Scope;
use super::state::Id;

/// So many requests in so much time.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    pub requests: u32,
    pub per: Duration,
}

impl Rate {
    pub const fn new(requests: u32, per: Duration) -> Self {
        Self { requests, per }
    }
}

struct Bucket {
    began: Instant,
    used: u32,
    /// An answer said that nothing more is taken before then.
    closed: Option<Closed>,
}

#[derive(Clone, Copy)]
struct Closed {
    told: Instant,
    until: Instant,
}

/// Clocks and headers are rounded.
const ROUNDED: Duration = Duration::from_millis(120);
/// What was on its way when it was told.
const ON_THE_WAY: Duration = Duration::from_millis(250);
/// The bucket of all that a bot does, and that of all that reaches the service at all.
const ALL: &str = "global";
const EDGE: &str = "edge";

pub(super) struct Buckets {
    messages: Rate,
    others: Rate,
    renames: Rate,
    global: Rate,
    known: HashMap<(Id, String), Bucket>,
}

impl Default for Buckets {
    fn default() -> Self {
        // Wide enough that tests do not wait for it; `real` is what Discord does.
        let quick = Rate::new(200, Duration::from_secs(1));
        let renames = Rate::new(2, Duration::from_secs(600));
        Self { messages: quick, others: quick, renames, global: quick, known: HashMap::new() }
    }
}

/// What the headers of an answer say.
pub(super) struct Standing {
    pub(super) bucket: String,
    pub(super) limit: u32,
    pub(super) remaining: u32,
    pub(super) reset_after: Duration,
    /// Refused for this long.
    pub(super) refused: Option<Duration>,
    pub(super) global: bool,
}

/// What a request is counted in.
#[derive(Clone, Copy)]
pub(super) struct Counted<'a> {
    pub(super) bot: Id,
    /// The route, with the channel in it where there is one.
    pub(super) bucket: &'a str,
    pub(super) by: By,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Bot,
    /// Interactions are answered outside of the limit for everything.
    Token,
    /// That it was heard is due at once, whatever was refused.
    Acknowledgement,
}

impl Buckets {
    /// As Discord limits: five messages in five seconds, fifty requests in one.
    pub(super) fn real(&mut self) {
        self.messages = Rate::new(5, Duration::from_secs(5));
        self.others = Rate::new(5, Duration::from_secs(2));
        self.global = Rate::new(50, Duration::from_secs(1));
        self.known.clear();
    }

    pub(super) fn messages(&mut self, rate: Rate) {
        self.messages = rate;
        self.known.clear();
    }

    pub(super) fn global(&mut self, rate: Rate) {
        self.global = rate;
        self.known.clear();
    }

    /// How long before it may a request comes: after an answer that said that nothing more is taken, or that
    /// refused.
    pub(super) fn early(&self, counted: Counted<'_>) -> Option<(&'static str, Duration)> {
        let Counted { bot, bucket, by } = counted;
        let now = Instant::now();
        let early = |bot: Id, name: &str| {
            let closed = self.known.get(&(bot, name.to_owned()))?.closed?;
            let early = closed.until.checked_duration_since(now)?;
            Some((early, closed.told)).filter(|(early, _)| *early > ROUNDED)
        };
        let not_new = |(early, told): (Duration, Instant)| {
            (now.duration_since(told) > ON_THE_WAY).then_some(early)
        };
        let everything = match by {
            By::Bot => early(bot, ALL).and_then(not_new),
            By::Token | By::Acknowledgement => None,
        };
        let edge = match by {
            By::Bot | By::Token => early(0, EDGE).and_then(not_new),
            By::Acknowledgement => None,
        };
        let own = early(bot, bucket).map(|(early, _)| ("of its bucket", early));
        let own = own.filter(|_| by != By::Acknowledgement);
        let everything = everything.map(|early| ("of everything", early));
        own.or(everything).or_else(|| edge.map(|early| ("of the edge", early)))
    }

    /// Counts a request.
    pub(super) fn take(&mut self, counted: Counted<'_>, kind: &str) -> Standing {
        let Counted { bot, bucket, by } = counted;
        if by == By::Bot {
            let global = self.global;
            let standing = self.count(bot, ALL, global);
            if standing.refused.is_some() {
                return Standing { global: true, ..standing };
            }
        }
        let rate = match kind {
            "POST /channels/:id/messages" | "PATCH /channels/:id/messages/:id" => self.messages,
            _ => self.others,
        };
        self.count(bot, bucket, rate)
    }

    /// Names and topics of a channel are changed twice in ten minutes and not more often.
    pub(super) fn rename(&self, renamed: &mut Vec<Instant>) -> Option<Duration> {
        let rate = self.renames;
        renamed.retain(|at| at.elapsed() < rate.per);
        if renamed.len() >= rate.requests as usize {
            return renamed.first().map(|at| rate.per.saturating_sub(at.elapsed()));
        }
        renamed.push(Instant::now());
        None
    }

    /// From now on for this long, what a refusal is about is too early.
    pub(super) fn refuse(&mut self, counted: Counted<'_>, scope: Scope, after: Duration) {
        let now = Instant::now();
        let key = match scope {
            Scope::User | Scope::Shared => (counted.bot, counted.bucket.to_owned()),
            Scope::Global => (counted.bot, ALL.to_owned()),
            Scope::Edge => (0, EDGE.to_owned()),
        };
        let bucket = self.known.entry(key).or_insert(Bucket { began: now, used: 0, closed: None });
        bucket.closed = Some(Closed { told: now, until: now + after });
    }

    fn count(&mut self, bot: Id, name: &str, rate: Rate) -> Standing {
        let now = Instant::now();
        let key = (bot, name.to_owned());
        let bucket = self.known.entry(key).or_insert(Bucket { began: now, used: 0, closed: None });
        if now.duration_since(bucket.began) >= rate.per {
            (bucket.began, bucket.used) = (now, 0);
        }
        let reset_after = (bucket.began + rate.per).saturating_duration_since(now);
        let refused = (bucket.used >= rate.requests).then_some(reset_after);
        if refused.is_none() {
            bucket.used += 1;
        }
        let closed = Closed { told: now, until: now + reset_after };
        // That the limit for everything is used up is told by a refusal alone.
        let told = refused.is_some() || bucket.used >= rate.requests && name != ALL;
        let known = bucket.closed.is_some_and(|known| known.until + ROUNDED >= closed.until);
        if told && !known {
            bucket.closed = Some(closed);
        }
        Standing {
            bucket: fingerprint(name),
            limit: rate.requests,
            remaining: rate.requests.saturating_sub(bucket.used),
            reset_after,
            refused,
            global: false,
        }
    }
}

/// The opaque name of a bucket; the channel is not part of it.
pub(super) fn fingerprint(route: &str) -> String {
    let route = route.split('#').next().unwrap_or_default();
    let hash = route.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}
