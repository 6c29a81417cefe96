//! Who has the database in hand, who waits for it, and since when.
//!
//! Promises: looking costs no connection and waits for nobody; whoever waits is counted, and too many are
//! refused rather than kept.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::pulse::Platform;
use crate::trouble::Trouble;

/// How many may wait for a reader, or for the writer, at the same time.
pub(crate) const MOST_WAITING: usize = 4_096;

/// The line of ours that wants something of the database.
pub(crate) type CallSite = &'static Location<'static>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldKind {
    Reader,
    Writer,
}

impl HoldKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Writer => "writer",
        }
    }
}

/// Somebody who has a connection of the database in hand, or waits for one.
#[derive(Clone, Debug)]
pub struct Hold {
    /// Its own, as long as this process runs.
    pub number: u64,
    pub kind: HoldKind,
    /// Where in our source: `waiting.rs:128`.
    pub place: String,
    /// It waits for its turn, and holds nothing.
    pub waits: bool,
    /// Of a writer, with those before it who were shut out as it is: one after the other gives up, and the database is
    /// no freer for that.
    pub since: Duration,
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let does = if self.waits { "waits for" } else { "holds" };
        let what = match self.kind {
            HoldKind::Reader => "a reader",
            HoldKind::Writer => "the writer",
        };
        write!(f, "{} {does} {what} for {} s", self.place, self.since.as_secs())
    }
}

#[derive(Debug, Default)]
pub(crate) struct Holds {
    known: Mutex<KnownHolds>,
}

#[derive(Debug, Default)]
struct KnownHolds {
    next: u64,
    open: BTreeMap<u64, OpenHold>,
    waiting_to_read: usize,
    waiting_to_write: usize,
    /// Since when nobody whose turn it was could write, if that is so: another program has the database.
    shut_out: Option<Instant>,
    /// Something of the file was found damaged. It does not heal by itself: that is so until the next start.
    damaged: bool,
    /// What kept the last write from the disk; none: it got there.
    unwritten: Option<Trouble>,
}

impl KnownHolds {
    fn waiting(&mut self, kind: HoldKind) -> &mut usize {
        match kind {
            HoldKind::Reader => &mut self.waiting_to_read,
            HoldKind::Writer => &mut self.waiting_to_write,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct OpenHold {
    kind: HoldKind,
    place: CallSite,
    waits: bool,
    since: Instant,
    /// It had its turn and could do nothing.
    shut_out: bool,
}

/// Being in the books; dropped, it is out of them.
#[derive(Debug)]
pub(crate) struct Ticket {
    holds: Arc<Holds>,
    number: u64,
}

impl Holds {
    /// Queues up; none: too many wait already.
    pub(crate) fn wait(self: &Arc<Self>, kind: HoldKind, place: CallSite) -> Option<Ticket> {
        let mut known = self.known();
        let waiting = known.waiting(kind);
        if *waiting >= MOST_WAITING {
            return None;
        }
        *waiting += 1;
        let number = known.next;
        known.next += 1;
        let since = Instant::now();
        known.open.insert(number, OpenHold { kind, place, waits: true, since, shut_out: false });
        Some(Ticket { holds: Arc::clone(self), number })
    }

    /// Those who have waited or held for at least this long, the longest first.
    pub(crate) fn longer_than(&self, limit: Duration) -> Vec<Hold> {
        let known = self.known();
        let mut found: Vec<Hold> =
            known.open.iter().map(|(number, open)| open.told(*number)).collect();
        drop(known);
        found.retain(|hold| hold.since >= limit);
        found.sort_by_key(|hold| (hold.waits, std::cmp::Reverse(hold.since)));
        found
    }

    /// What is wrong with the database, as those who had it in hand were told.
    pub(crate) fn trouble(&self) -> Option<Trouble> {
        let known = self.known();
        if known.damaged { Some(Trouble::Damaged) } else { known.unwritten }
    }

    fn known(&self) -> MutexGuard<'_, KnownHolds> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenHold {
    fn told(&self, number: u64) -> Hold {
        let file = self.place.file();
        let file = file.rsplit_once("src/").map_or(file, |(_, file)| file);
        Hold {
            number,
            kind: self.kind,
            place: format!("{file}:{}", self.place.line()),
            waits: self.waits,
            since: self.since.elapsed(),
        }
    }
}

impl Ticket {
    /// Its turn has come.
    pub(crate) fn has_turn(&self) {
        let mut known = self.holds.known();
        let shut_out = known.shut_out;
        if let Some(open) = known.open.get_mut(&self.number)
            && open.waits
        {
            let before = shut_out.filter(|_| open.kind == HoldKind::Writer);
            (open.waits, open.since) = (false, before.unwrap_or_else(Instant::now));
            let kind = open.kind;
            *known.waiting(kind) -= 1;
        }
    }

    /// What it asked for went wrong: if the fault is the database's or the disk's, it is put into the books.
    pub(crate) fn failed(&self, error: &sqlx::Error) {
        let Some(trouble) = Trouble::of(error) else { return };
        let mut known = self.holds.known();
        let writes = known.open.get(&self.number).is_some_and(|open| open.kind == HoldKind::Writer);
        match trouble {
            Trouble::Damaged => known.damaged = true,
            Trouble::Full | Trouble::ReadOnly | Trouble::Disk if writes => {
                known.unwritten = Some(trouble);
            }
            // A reader that finds no room says nothing of what is written.
            Trouble::Full | Trouble::ReadOnly | Trouble::Disk => {}
        }
    }

    /// What it wrote is on the disk.
    pub(crate) fn has_written(&self) {
        self.holds.known().unwritten = None;
    }

    /// Another program has the database, and kept it for longer than was waited for.
    pub(crate) fn is_shut_out(&self) {
        if let Some(open) = self.holds.known().open.get_mut(&self.number) {
            open.shut_out = true;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut known = self.holds.known();
        let Some(open) = known.open.remove(&self.number) else { return };
        if open.waits {
            *known.waiting(open.kind) -= 1;
        } else if open.kind == HoldKind::Writer {
            known.shut_out = open.shut_out.then_some(open.since);
        }
    }
}

impl Platform {
    /// Who has held a connection, or waited for one, for longer than this. It does not touch the database.
    pub fn held_longer_than(&self, limit: Duration) -> Vec<Hold> {
        self.store.holds().longer_than(limit)
    }

    /// What is wrong with the database, as far as anybody ran into it since the start. It does not touch the database.
    pub fn trouble(&self) -> Option<Trouble> {
        self.store.holds().trouble()
    }
}

#[cfg(test)]
#[path = "holds_tests.rs"]
mod tests;
