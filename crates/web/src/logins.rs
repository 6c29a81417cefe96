//! Slows down guessing: failed logins are counted per address and in all, in bounded memory.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time in which failures are counted.
const WINDOW: Duration = Duration::from_secs(60);
const PER_ADDRESS: u32 = 10;
/// Over all addresses: a guess from many places is slowed down too.
const IN_ALL: u32 = 200;
/// Addresses that are remembered at once; beyond, only the count of all holds.
const MAX_ADDRESSES: usize = 4096;

#[derive(Clone, Copy)]
struct Failures {
    since: Instant,
    count: u32,
}

impl Failures {
    fn new(now: Instant) -> Self {
        Self { since: now, count: 0 }
    }

    fn over(&self, now: Instant) -> bool {
        now.duration_since(self.since) > WINDOW
    }

    fn add(&mut self, now: Instant) {
        if self.over(now) {
            *self = Self::new(now);
        }
        self.count = self.count.saturating_add(1);
    }

    fn wait(&self, most: u32, now: Instant) -> Option<Duration> {
        let waits = !self.over(now) && self.count >= most;
        waits.then(|| WINDOW.saturating_sub(now.duration_since(self.since)))
    }
}

struct Counts {
    all: Failures,
    addresses: HashMap<IpAddr, Failures>,
}

/// The failed logins of the last minute.
#[derive(Clone)]
pub struct LoginThrottle {
    counts: Arc<Mutex<Counts>>,
}

impl Default for LoginThrottle {
    fn default() -> Self {
        let counts = Counts { all: Failures::new(Instant::now()), addresses: HashMap::new() };
        Self { counts: Arc::new(Mutex::new(counts)) }
    }
}

impl LoginThrottle {
    /// How long this address must wait before it may try again; none if it may now.
    pub(crate) fn wait(&self, address: Option<IpAddr>) -> Option<Duration> {
        self.wait_at(address, Instant::now())
    }

    /// Counts an attempt that failed.
    pub(crate) fn failed(&self, address: Option<IpAddr>) {
        self.failed_at(address, Instant::now());
    }

    fn wait_at(&self, address: Option<IpAddr>, now: Instant) -> Option<Duration> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let own = address
            .and_then(|ip| counts.addresses.get(&network(ip)))
            .and_then(|failures| failures.wait(PER_ADDRESS, now));
        own.or_else(|| counts.all.wait(IN_ALL, now))
    }

    fn failed_at(&self, address: Option<IpAddr>, now: Instant) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.all.add(now);
        let Some(network) = address.map(network) else { return };
        if counts.addresses.len() >= MAX_ADDRESSES {
            counts.addresses.retain(|_, failures| !failures.over(now));
        }
        if counts.addresses.len() < MAX_ADDRESSES || counts.addresses.contains_key(&network) {
            counts.addresses.entry(network).or_insert_with(|| Failures::new(now)).add(now);
        }
    }
}

/// One household has a whole /64 of IPv6 addresses.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => {
            let prefix = v6.to_bits() & !u128::from(u64::MAX);
            IpAddr::V6(std::net::Ipv6Addr::from_bits(prefix))
        }
    }
}

#[cfg(test)]
#[path = "logins_tests.rs"]
mod tests;
