//! How fast a bot may send: per private chat, per group and in all, as the Bots FAQ says.
//!
//! Whoever sends too fast is told to wait; whoever does not wait is complained about. A bot that has started
//! anew does not know what it was told, so it may ask once more.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::state::ChatKey;

/// What is under way when the first refusal is sent may still come.
const UNDER_WAY: Duration = Duration::from_millis(300);

/// So many at once, and then so many per second.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    pub burst: f64,
    pub per_s: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct Pacing {
    pub private: Rate,
    pub group: Rate,
    pub overall: Rate,
}

impl Pacing {
    /// What Telegram says: one message a second in a chat, short bursts tolerated; twenty a minute in a group;
    /// thirty a second in all.
    pub const fn real() -> Self {
        Self {
            private: Rate { burst: 5.0, per_s: 1.0 },
            group: Rate { burst: 20.0, per_s: 20.0 / 60.0 },
            overall: Rate { burst: 30.0, per_s: 30.0 },
        }
    }

    /// One a second and not one more.
    pub const fn strict() -> Self {
        Self { private: Rate { burst: 1.0, per_s: 1.0 }, ..Self::real() }
    }
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    at: Instant,
    waits: Option<Told>,
}

/// Told to wait.
#[derive(Clone, Copy, Debug)]
struct Told {
    at: Instant,
    until: Instant,
    /// Which of the bot's lives was told.
    life: u64,
}

impl Bucket {
    fn refilled(&mut self, rate: Rate, now: Instant) -> bool {
        let gained = now.duration_since(self.at).as_secs_f64() * rate.per_s;
        self.tokens = (self.tokens + gained).min(rate.burst);
        self.at = now;
        self.tokens >= 1.0
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pace {
    Fine,
    /// In seconds; and whether it was told before and did not wait.
    TooFast {
        retry_after: u64,
        ignored: bool,
    },
}

#[derive(Debug)]
pub(super) struct Paces {
    pub(super) pacing: Pacing,
    chats: HashMap<(i64, Option<ChatKey>), Bucket>,
    lives: HashMap<i64, u64>,
}

impl Paces {
    pub(super) fn new(pacing: Pacing) -> Self {
        Self { pacing, chats: HashMap::new(), lives: HashMap::new() }
    }

    /// The bot asks who it is: it has started, and what was told before is forgotten.
    pub(super) fn starts(&mut self, bot: i64) {
        *self.lives.entry(bot).or_default() += 1;
    }

    /// One more message of a bot in a chat.
    pub(super) fn send(&mut self, bot: i64, chat: ChatKey) -> Pace {
        let rate = match chat {
            ChatKey::Private { .. } => self.pacing.private,
            ChatKey::Group(_) => self.pacing.group,
        };
        match self.take(bot, None, self.pacing.overall) {
            Pace::Fine => self.take(bot, Some(chat), rate),
            too_fast @ Pace::TooFast { .. } => too_fast,
        }
    }

    fn take(&mut self, bot: i64, chat: Option<ChatKey>, rate: Rate) -> Pace {
        let now = Instant::now();
        let life = self.lives.get(&bot).copied().unwrap_or_default();
        let full = || Bucket { tokens: rate.burst, at: now, waits: None };
        let bucket = self.chats.entry((bot, chat)).or_insert_with(full);
        let enough = bucket.refilled(rate, now);
        if let Some(told) = &mut bucket.waits
            && now < told.until
        {
            let retry_after = seconds(told.until - now);
            let ignored = told.life == life && now.duration_since(told.at) > UNDER_WAY;
            if told.life != life {
                *told = Told { at: now, life, ..*told };
            }
            return Pace::TooFast { retry_after, ignored };
        }
        if enough {
            bucket.tokens -= 1.0;
            bucket.waits = None;
            return Pace::Fine;
        }
        let missing = Duration::from_secs_f64(((1.0 - bucket.tokens) / rate.per_s).max(0.0));
        let retry_after = seconds(missing);
        bucket.waits = Some(Told { at: now, until: now + missing, life });
        Pace::TooFast { retry_after, ignored: false }
    }
}

/// Telegram tells whole seconds, never none.
fn seconds(wait: Duration) -> u64 {
    let whole = wait.as_secs();
    if wait > Duration::from_secs(whole) || whole == 0 { whole + 1 } else { whole }
}
