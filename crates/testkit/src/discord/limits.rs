//! Rate limits: a bucket for each route and channel, and one for everything a bot does.

use std::collections::HashMap;
use std::time::{Duration, Instant};

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
    /// A refusal said to come back then.
    refused_until: Option<Instant>,
}

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
    /// It was asked before the time that the last refusal named.
    pub(super) too_early: Option<Duration>,
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

    /// Counts a request. `route` has the channel in it where there is one.
    pub(super) fn take(&mut self, bot: Id, route: &str, kind: &str, exempt: bool) -> Standing {
        if !exempt {
            let global = self.global;
            let standing = self.count(bot, "global", global);
            if standing.refused.is_some() {
                return Standing { global: true, ..standing };
            }
        }
        let rate = match kind {
            "POST /channels/:id/messages" | "PATCH /channels/:id/messages/:id" => self.messages,
            _ => self.others,
        };
        self.count(bot, route, rate)
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

    /// From now on for this long, requests of a route are too early.
    pub(super) fn refuse(&mut self, bot: Id, route: &str, after: Duration) {
        let now = Instant::now();
        let bucket = self.known.entry((bot, route.to_owned())).or_insert(Bucket {
            began: now,
            used: 0,
            refused_until: None,
        });
        bucket.refused_until = Some(now + after);
    }

    fn count(&mut self, bot: Id, name: &str, rate: Rate) -> Standing {
        let now = Instant::now();
        let bucket = self.known.entry((bot, name.to_owned())).or_insert(Bucket {
            began: now,
            used: 0,
            refused_until: None,
        });
        let too_early = bucket.refused_until.and_then(|until| until.checked_duration_since(now));
        if now.duration_since(bucket.began) >= rate.per {
            (bucket.began, bucket.used) = (now, 0);
        }
        let reset_after = (bucket.began + rate.per).saturating_duration_since(now);
        let refused = (bucket.used >= rate.requests).then_some(reset_after);
        match refused {
            Some(after) => bucket.refused_until = Some(now + after),
            None => {
                bucket.used += 1;
                bucket.refused_until = None;
            }
        }
        Standing {
            bucket: fingerprint(name),
            limit: rate.requests,
            remaining: rate.requests.saturating_sub(bucket.used),
            reset_after,
            refused,
            global: false,
            // Clocks and headers are rounded.
            too_early: too_early.filter(|early| *early > Duration::from_millis(120)),
        }
    }
}

/// The opaque name of a bucket; the channel is not part of it.
fn fingerprint(route: &str) -> String {
    let route: String = route.chars().filter(|c| !c.is_ascii_digit()).collect();
    let hash = route.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}
