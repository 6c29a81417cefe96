//! Who holds how many connections. Those nobody logged in uses are strangers': they have a share of their own, in
//! all and per address, and when it is full the oldest of them makes room. So whoever comes always has the time to
//! say who they are, and those who are logged in have places that no stranger can take.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cloister_protocol::UserId;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::options::Shares;

/// How long a connection has to say who it is before it counts against its address.
const TIME_TO_SPEAK: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    /// By order of arrival, or of the last request.
    Stranger {
        order: u64,
        of: Option<IpAddr>,
    },
    Known(UserId),
}

struct Taken {
    holder: Holder,
    since: Instant,
    leave: CancellationToken,
}

#[derive(Default)]
struct All {
    next: u64,
    taken: HashMap<u64, Taken>,
    /// Order to place.
    strangers: BTreeMap<u64, u64>,
    addresses: HashMap<IpAddr, BTreeSet<u64>>,
    people: HashMap<UserId, usize>,
    known: usize,
}

impl All {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn add_stranger(&mut self, place: u64, of: Option<IpAddr>) -> Holder {
        let (order, of) = (self.number(), of.map(network));
        self.strangers.insert(order, place);
        if let Some(of) = of {
            self.addresses.entry(of).or_default().insert(order);
        }
        Holder::Stranger { order, of }
    }

    fn forget(&mut self, holder: Holder) {
        match holder {
            Holder::Stranger { order, of } => {
                self.strangers.remove(&order);
                let Some(of) = of else { return };
                let Some(own) = self.addresses.get_mut(&of) else { return };
                own.remove(&order);
                if own.is_empty() {
                    self.addresses.remove(&of);
                }
            }
            Holder::Known(user) => {
                self.known = self.known.saturating_sub(1);
                let Some(own) = self.people.get_mut(&user) else { return };
                *own = own.saturating_sub(1);
                if *own == 0 {
                    self.people.remove(&user);
                }
            }
        }
    }

    /// Sends away whoever has the place of this order; it counts no longer.
    fn send_away(&mut self, order: u64) {
        let Some(place) = self.strangers.get(&order).copied() else { return };
        if let Some(taken) = self.taken.remove(&place) {
            taken.leave.cancel();
            self.forget(taken.holder);
        }
    }

    /// Makes the strangers fit their share again.
    fn make_room(&mut self, shares: Shares, of: Option<IpAddr>, now: Instant) {
        let of = of.map(network);
        while let Some(own) = of.and_then(|of| self.addresses.get(&of))
            && own.len() > shares.per_address
            && let Some(oldest) = own.first().copied()
        {
            let place = self.strangers.get(&oldest).and_then(|place| self.taken.get(place));
            let spoke = |taken: &Taken| now.duration_since(taken.since) > TIME_TO_SPEAK;
            if !place.is_none_or(spoke) {
                break;
            }
            self.send_away(oldest);
        }
        while self.strangers.len() > shares.strangers
            && let Some((&oldest, _)) = self.strangers.first_key_value()
        {
            self.send_away(oldest);
        }
    }
}

/// The connections of one listener.
#[derive(Clone)]
pub(crate) struct Places {
    all: Arc<Mutex<All>>,
    shares: Shares,
}

impl Places {
    pub(crate) fn new(shares: Shares) -> Self {
        Self { all: Arc::default(), shares }
    }

    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for who has just come: nobody knows them yet.
    pub(crate) fn enter(&self, of: Option<IpAddr>) -> ConnectionPlace {
        let now = Instant::now();
        let leave = CancellationToken::new();
        let mut all = self.all();
        let number = all.number();
        let holder = all.add_stranger(number, of);
        all.taken.insert(number, Taken { holder, since: now, leave: leave.clone() });
        all.make_room(self.shares, of, now);
        drop(all);
        ConnectionPlace { seat: Seat { places: self.clone(), number, leave } }
    }
}

/// The right to one connection, until it is dropped.
pub(crate) struct ConnectionPlace {
    seat: Seat,
}

impl ConnectionPlace {
    pub(crate) fn seat(&self) -> &Seat {
        &self.seat
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let mut all = self.seat.places.all();
        if let Some(taken) = all.taken.remove(&self.seat.number) {
            all.forget(taken.holder);
        }
    }
}

/// A connection's place, as its requests know it.
#[derive(Clone)]
pub(crate) struct Seat {
    places: Places,
    number: u64,
    leave: CancellationToken,
}

impl Seat {
    /// Cancelled when somebody else needs the place.
    pub(crate) fn leave(&self) -> &CancellationToken {
        &self.leave
    }

    /// A request that nobody logged in sends.
    pub(crate) fn is_strangers(&self, of: Option<IpAddr>) {
        let now = Instant::now();
        let mut all = self.places.all();
        let Some(before) = all.taken.get(&self.number).map(|taken| taken.holder) else { return };
        all.forget(before);
        let holder = all.add_stranger(self.number, of);
        if let Some(taken) = all.taken.get_mut(&self.number) {
            taken.holder = holder;
        }
        all.make_room(self.places.shares, of, now);
    }

    /// A request of this person, whose session was looked at; false: they, or all, have too many.
    pub(crate) fn is_of(&self, user: UserId) -> bool {
        let mut all = self.places.all();
        let Some(before) = all.taken.get(&self.number).map(|taken| taken.holder) else {
            return false;
        };
        if before == Holder::Known(user) {
            return true;
        }
        let shares = self.places.shares;
        let own = all.people.get(&user).copied().unwrap_or_default();
        let full = all.known >= shares.known && !matches!(before, Holder::Known(_));
        if own >= shares.per_person || full {
            return false;
        }
        all.forget(before);
        all.known += 1;
        *all.people.entry(user).or_default() += 1;
        if let Some(taken) = all.taken.get_mut(&self.number) {
            taken.holder = Holder::Known(user);
        }
        true
    }
}

/// One household has a whole /64 of IPv6 addresses.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX))),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
#[path = "places_tests.rs"]
mod tests;
