//! What goes out is counted and bounded: per door, and per user and day.
//!
//! Bounds are held in memory, and written to the database a moment later, off the way of requests.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cloister_control::books::{StoreError, Traffic};
use cloister_control::{Books, Clock};
use cloister_policy::egress::Host;
use cloister_protocol::{UserId, with_causes};
use tokio::time::{MissedTickBehavior, interval};

const FLUSH_EVERY: Duration = Duration::from_secs(2);

pub(super) struct Accounts {
    books: Books,
    user_day_bytes: u64,
    users: Mutex<HashMap<UserId, Arc<TrafficAccount>>>,
    /// Held while something is written, so that whoever flushes last knows that all is.
    writing: tokio::sync::Mutex<()>,
}

/// What one user moves.
pub(super) struct TrafficAccount {
    limit: u64,
    today: Mutex<Today>,
    unwritten: Mutex<HashMap<Host, Traffic>>,
}

struct Today {
    day: String,
    sent: u64,
}

/// Nothing more may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OverBudget {
    Door(u64),
    User(u64),
}

impl Accounts {
    pub(super) fn new(books: Books, user_day_bytes: u64) -> Self {
        Self {
            books,
            user_day_bytes,
            users: Mutex::default(),
            writing: tokio::sync::Mutex::default(),
        }
    }

    /// The account of a user, which all doors of theirs share.
    pub(super) async fn of(&self, user: UserId) -> Result<Arc<TrafficAccount>, StoreError> {
        if let Some(account) = self.lock().get(&user) {
            return Ok(Arc::clone(account));
        }
        let day = Clock.today();
        let sent = self.books.egress_today(user).await?.bytes_out;
        let today = Today { day, sent: u64::try_from(sent).unwrap_or(0) };
        let account = TrafficAccount {
            limit: self.user_day_bytes,
            today: Mutex::new(today),
            unwritten: Mutex::default(),
        };
        // Another door may have been faster; what it has counted already must not be lost.
        Ok(Arc::clone(self.lock().entry(user).or_insert_with(|| Arc::new(account))))
    }

    /// Writes what was counted, again and again.
    pub(super) async fn run(self: Arc<Self>) {
        let mut tick = interval(FLUSH_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            self.flush().await;
        }
    }

    pub(super) async fn flush(&self) {
        let _one_at_a_time = self.writing.lock().await;
        let accounts: Vec<_> =
            self.lock().iter().map(|(user, account)| (*user, Arc::clone(account))).collect();
        for (user, account) in accounts {
            for (host, traffic) in account.take_unwritten() {
                let added = self.books.add_egress_usage(user, host.as_str(), traffic).await;
                if let Err(error) = added {
                    tracing::error!(error = with_causes(&error), %user, "what went out could not be counted; it is tried again");
                    account.add(&host, traffic);
                }
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<UserId, Arc<TrafficAccount>>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TrafficAccount {
    fn spend(&self, bytes: u64) -> Result<(), OverBudget> {
        let mut today = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        let day = Clock.today();
        if today.day != day {
            *today = Today { day, sent: 0 };
        }
        let sent = today.sent.saturating_add(bytes);
        if sent > self.limit {
            return Err(OverBudget::User(self.limit));
        }
        today.sent = sent;
        Ok(())
    }

    pub(super) fn add(&self, host: &Host, traffic: Traffic) {
        let mut unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = unwritten.entry(host.clone()).or_default();
        sum.requests += traffic.requests;
        sum.bytes_out += traffic.bytes_out;
        sum.bytes_in += traffic.bytes_in;
    }

    fn take_unwritten(&self) -> HashMap<Host, Traffic> {
        std::mem::take(&mut *self.unwritten.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What one door may still send.
pub(super) struct Meter {
    door_bytes: u64,
    sent: AtomicU64,
    account: Arc<TrafficAccount>,
}

impl Meter {
    pub(super) fn new(door_bytes: u64, account: Arc<TrafficAccount>) -> Self {
        Self { door_bytes, sent: AtomicU64::new(0), account }
    }

    /// Takes the bytes off both budgets, before they are sent.
    pub(super) fn spend(&self, bytes: u64) -> Result<(), OverBudget> {
        let sent = self.sent.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if sent > self.door_bytes {
            self.sent.fetch_sub(bytes, Ordering::Relaxed);
            return Err(OverBudget::Door(self.door_bytes));
        }
        self.account.spend(bytes).inspect_err(|_over| {
            self.sent.fetch_sub(bytes, Ordering::Relaxed);
        })
    }
}

/// What one request moves; counted when it is over, however it ends.
pub(super) struct Tally {
    pub(super) meter: Arc<Meter>,
    pub(super) host: Host,
    pub(super) sent: AtomicU64,
    pub(super) received: AtomicU64,
}

impl Tally {
    pub(super) fn new(meter: Arc<Meter>, host: Host) -> Self {
        Self { meter, host, sent: AtomicU64::new(0), received: AtomicU64::new(0) }
    }

    pub(super) fn send(&self, bytes: u64) -> Result<(), OverBudget> {
        self.meter.spend(bytes)?;
        self.sent.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        let count = |counter: &AtomicU64| {
            i64::try_from(counter.load(Ordering::Relaxed)).unwrap_or(i64::MAX)
        };
        let traffic =
            Traffic { requests: 1, bytes_out: count(&self.sent), bytes_in: count(&self.received) };
        self.meter.account.add(&self.host, traffic);
    }
}
