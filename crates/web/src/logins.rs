//! Slows down guessing: failed logins are counted per address, in bounded memory.
//!
//! Promises: only what did not work is told to wait. A link or token that works is looked at first, so nobody keeps
//! anybody else out, also not from the same address: a token of 256 bits is safe because it can't be guessed.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time in which failures are counted.
const WINDOW: Duration = Duration::from_secs(60);
const PER_ADDRESS: u32 = 10;
/// Addresses that are remembered at once.
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

/// The failed logins of the last minute.
#[derive(Clone, Default)]
pub struct LoginThrottle {
    addresses: Arc<Mutex<HashMap<IpAddr, Failures>>>,
}

impl LoginThrottle {
    /// How long this address is to wait already, for what writes an audit entry each time that it fails.
    pub(crate) fn wait(&self, address: Option<IpAddr>) -> Option<Duration> {
        let addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        addresses.get(&network(address?))?.wait(PER_ADDRESS, Instant::now())
    }

    /// Counts an attempt that failed: how long this address is to wait before its next, if it tried too often.
    pub(crate) fn failed(&self, address: Option<IpAddr>) -> Option<Duration> {
        self.failed_at(address, Instant::now())
    }

    fn failed_at(&self, address: Option<IpAddr>, now: Instant) -> Option<Duration> {
        let network = address.map(network)?;
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(wait) = addresses.get(&network).and_then(|known| known.wait(PER_ADDRESS, now)) {
            return Some(wait);
        }
        if addresses.len() >= MAX_ADDRESSES {
            addresses.retain(|_, failures| !failures.over(now));
        }
        if addresses.len() < MAX_ADDRESSES || addresses.contains_key(&network) {
            addresses.entry(network).or_insert_with(|| Failures::new(now)).add(now);
        }
        None
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
