//! When a request may be sent, by what Discord said with the answers before it. Pure: told the time.
//!
//! Every answer names the bucket that its request was counted in, how many more it takes and when it is full again.
//! A bucket counts for each channel, server or interaction on its own. Until its name is known, the route stands for
//! it, and one request at a time finds it out.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use tokio::time::Instant;

/// The longest that Discord may ask to wait.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
/// What a refusal lasts that does not say; it doubles.
const UNSAID_WAIT: Duration = Duration::from_secs(5);
const LONGEST_UNSAID: Duration = Duration::from_secs(60);
/// How soon is looked again whether an answer came that says how many more may be sent.
const SOON: Duration = Duration::from_millis(50);
/// Two ends of a window that are no further apart than this are one: answers take their time.
const SAME_WINDOW: Duration = Duration::from_millis(250);
/// How much a bot may do in a second, whatever it is: fewer than Discord's fifty, which it counts when they come.
const MOST_A_SECOND: usize = 45;
const SECOND: Duration = Duration::from_secs(1);
/// A request of which nothing was heard for so long is not under way any more.
const LOST: Duration = Duration::from_secs(660);
/// How many buckets are remembered.
const MOST_BUCKETS: usize = 10_000;

/// What is asked of Discord, as far as its limits are concerned.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Asked {
    /// The method and the address without what differs.
    route: String,
    /// Which channel, server or interaction. Not as it is written: the token of an interaction is in there.
    major: u64,
    bound: Bound,
}

/// Which limits for everything a request is bound by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Bound {
    All,
    /// Answers to interactions are not counted in the limit for everything that a bot does.
    ByToken,
    /// "I heard you" is due within three seconds, or never.
    Acknowledges,
}

impl Asked {
    /// `path`: without a leading slash.
    pub(super) fn of(method: &str, path: &str) -> Self {
        let path = path.split('?').next().unwrap_or_default();
        let parts: Vec<&str> = path.split('/').collect();
        let by_token = matches!(parts.first(), Some(&"webhooks" | &"interactions"));
        let route: Vec<&str> = parts
            .iter()
            .enumerate()
            .map(|(at, part)| match part {
                _ if at == 2 && by_token => ":token",
                part if part.bytes().all(|byte| byte.is_ascii_digit()) => ":id",
                part => part,
            })
            .collect();
        let mut hasher = DefaultHasher::new();
        parts.get(1).hash(&mut hasher);
        parts.get(2).filter(|_| by_token).hash(&mut hasher);
        let bound = match parts.first() {
            Some(&"interactions") => Bound::Acknowledges,
            Some(&"webhooks") => Bound::ByToken,
            Some(_) | None => Bound::All,
        };
        Self { route: format!("{method} {}", route.join("/")), major: hasher.finish(), bound }
    }
}

/// What the headers of an answer say about its bucket.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ToldLimits {
    pub(super) bucket: Option<String>,
    pub(super) limit: Option<u32>,
    pub(super) remaining: Option<u32>,
    pub(super) reset_after: Option<Duration>,
}

/// A refusal because of too many requests.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TooMany {
    pub(super) wait: Option<Duration>,
    pub(super) about: About,
}

/// What is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// What is counted together with the request.
    Bucket,
    /// All that is counted in the limit for everything that a bot does.
    Bot,
    /// Everything: no word of Discord's, but of what stands before it and does not want us at all.
    Everything,
}

/// A bucket, for one channel, server or interaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    name: String,
    major: u64,
}

#[derive(Debug)]
struct Bucket {
    /// Sent, and not answered yet.
    under_way: u32,
    /// When the last one was sent.
    left_at: Instant,
    standing: Standing,
}

#[derive(Debug, PartialEq)]
enum Standing {
    /// Nothing is known.
    Untried,
    /// Its answers name no limit.
    Free,
    Counted {
        limit: u32,
        remaining: u32,
        /// When it is full again; not known before the first answer of a window.
        full_at: Option<Instant>,
    },
}

/// Everything that is known about the limits of one bot.
#[derive(Debug, Default)]
pub(super) struct Limits {
    buckets: HashMap<Key, Bucket>,
    /// The bucket of each route, once an answer has named it.
    names: HashMap<String, String>,
    /// Until then nothing is sent that is counted in the limit for everything.
    all_until: Option<Instant>,
    /// Until then nothing is sent at all, except that an interaction was heard.
    shut_until: Option<Instant>,
    /// How many refusals in a row named no time.
    unsaid: u32,
    /// When the last requests were sent that are counted in the limit for everything.
    recent: VecDeque<Instant>,
}

impl Limits {
    /// Whether a request may be sent now, and under which key it is then counted; or how long it must wait.
    pub(super) fn leave(&mut self, asked: &Asked, now: Instant) -> Result<Key, Duration> {
        let closed = match asked.bound {
            Bound::All => self.all_until.max(self.shut_until),
            Bound::ByToken => self.shut_until,
            Bound::Acknowledges => None,
        };
        if let Some(until) = closed.filter(|until| now < *until) {
            return Err(until - now);
        }
        if asked.bound == Bound::All
            && let Some(wait) = self.too_many_now(now)
        {
            return Err(wait);
        }
        if self.buckets.len() >= MOST_BUCKETS {
            self.buckets.retain(|_, bucket| bucket.under_way > 0 || bucket.is_held(now));
        }
        let key = self.key(asked);
        let new = Bucket { under_way: 0, left_at: now, standing: Standing::Untried };
        let bucket = self.buckets.entry(key.clone()).or_insert(new);
        if bucket.left_at + LOST <= now {
            bucket.under_way = 0;
        }
        if asked.bound != Bound::Acknowledges {
            bucket.leave(now)?;
        }
        bucket.under_way += 1;
        bucket.left_at = now;
        if asked.bound == Bound::All {
            self.recent.push_back(now);
        }
        Ok(key)
    }

    /// How long until one more may be sent of whatever kind; none: now.
    fn too_many_now(&mut self, now: Instant) -> Option<Duration> {
        while self.recent.front().is_some_and(|sent| *sent + SECOND <= now) {
            self.recent.pop_front();
        }
        let oldest = self.recent.front().filter(|_| self.recent.len() >= MOST_A_SECOND)?;
        Some(*oldest + SECOND - now)
    }

    /// A request was answered, with whatever but a refusal because of too many.
    pub(super) fn answered(&mut self, asked: &Asked, key: &Key, told: &ToldLimits, now: Instant) {
        self.unsaid = 0;
        self.back(asked, key);
        let bucket = self.bucket(asked, key, (told.bucket.as_deref(), now));
        match (told.limit, told.remaining, told.reset_after) {
            (limit, Some(remaining), Some(after)) => {
                let limit = limit.unwrap_or(remaining.saturating_add(1)).max(1);
                bucket.count(limit, remaining, now + after.min(LONGEST_WAIT));
            }
            _ if bucket.standing == Standing::Untried => bucket.standing = Standing::Free,
            _ => {}
        }
    }

    /// A request was refused because of too many: how long is to be waited.
    pub(super) fn refused(
        &mut self,
        (asked, key): (&Asked, &Key),
        told: &ToldLimits,
        too_many: &TooMany,
        now: Instant,
    ) -> Duration {
        self.back(asked, key);
        let wait = match too_many.wait.or(told.reset_after) {
            Some(wait) => wait.clamp(Duration::from_millis(1), LONGEST_WAIT),
            None => {
                self.unsaid = self.unsaid.saturating_add(1);
                let doubled = 2_u32.saturating_pow(self.unsaid.saturating_sub(1));
                UNSAID_WAIT.saturating_mul(doubled).min(LONGEST_UNSAID)
            }
        };
        let until = now + wait;
        match too_many.about {
            About::Bot => self.all_until = self.all_until.max(Some(until)),
            About::Everything => self.shut_until = self.shut_until.max(Some(until)),
            About::Bucket => {
                let bucket = self.bucket(asked, key, (told.bucket.as_deref(), now));
                let limit = match bucket.standing {
                    Standing::Counted { limit, .. } => limit,
                    Standing::Untried | Standing::Free => told.limit.unwrap_or(1).max(1),
                };
                bucket.standing = Standing::Counted { limit, remaining: 0, full_at: Some(until) };
            }
        }
        wait
    }

    /// A request was given up, or its answer never came.
    pub(super) fn back(&mut self, asked: &Asked, key: &Key) {
        // Its bucket may have been named meanwhile.
        let key = if self.buckets.contains_key(key) { key.clone() } else { self.key(asked) };
        if let Some(bucket) = self.buckets.get_mut(&key) {
            bucket.under_way = bucket.under_way.saturating_sub(1);
        }
    }

    fn key(&self, asked: &Asked) -> Key {
        let name = self.names.get(&asked.route).unwrap_or(&asked.route);
        Key { name: name.clone(), major: asked.major }
    }

    /// The bucket that an answer is about, which may just have told its name.
    fn bucket(
        &mut self,
        asked: &Asked,
        key: &Key,
        (named, now): (Option<&str>, Instant),
    ) -> &mut Bucket {
        let mut key = key.clone();
        if let Some(name) = named.filter(|name| *name != key.name) {
            self.names.insert(asked.route.clone(), name.to_owned());
            let named = Key { name: name.to_owned(), major: asked.major };
            if let Some(old) = self.buckets.remove(&key) {
                let known = self.buckets.entry(named.clone());
                let under_way = old.under_way;
                known.or_insert(Bucket { under_way: 0, ..old }).under_way += under_way;
            }
            key = named;
        }
        let new = Bucket { under_way: 0, left_at: now, standing: Standing::Untried };
        self.buckets.entry(key).or_insert(new)
    }
}

impl Bucket {
    /// Counts one more request, or says how long it has to wait.
    fn leave(&mut self, now: Instant) -> Result<(), Duration> {
        let under_way = self.under_way;
        match &mut self.standing {
            Standing::Free => Ok(()),
            Standing::Untried if under_way == 0 => Ok(()),
            Standing::Untried => Err(SOON),
            Standing::Counted { limit, remaining, full_at } => {
                if full_at.is_some_and(|at| at <= now) {
                    *remaining = limit.saturating_sub(under_way);
                    *full_at = None;
                }
                match full_at {
                    _ if *remaining > 0 => {}
                    Some(at) => return Err(*at - now),
                    // An answer that is on its way says when.
                    None if under_way > 0 => return Err(SOON),
                    None => *remaining = 1,
                }
                *remaining -= 1;
                Ok(())
            }
        }
    }

    /// An answer says how many more may be sent, and until when. What left since is not counted in it.
    fn count(&mut self, limit: u32, told: u32, until: Instant) {
        let ours = match self.standing {
            Standing::Counted { remaining, full_at: None, .. } => Some((remaining, until)),
            Standing::Counted { remaining, full_at: Some(at), .. } if until <= at + SAME_WINDOW => {
                Some((remaining, at.max(until)))
            }
            Standing::Counted { .. } | Standing::Untried | Standing::Free => None,
        };
        let (remaining, until) = match ours {
            Some((remaining, until)) => (remaining.min(told), until),
            None => (told.saturating_sub(self.under_way), until),
        };
        self.standing = Standing::Counted { limit, remaining, full_at: Some(until) };
    }

    fn is_held(&self, now: Instant) -> bool {
        matches!(self.standing, Standing::Counted { full_at: Some(at), .. } if now < at)
    }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
