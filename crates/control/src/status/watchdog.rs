//! Who holds the database, when it takes too long.
//!
//! Promises: looking needs no connection and waits for nobody, so it also works while everything that needs
//! the database stands still.

use std::collections::BTreeMap;
use std::time::Duration;

use cloister_store::Hold;

use crate::crew::Rounds;
use crate::status::Status;

/// Nothing of ours needs the database for that long at a stretch.
const TOO_LONG: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How many of those who hold something are named in one sentence.
const MOST_NAMED: usize = 8;

impl Status {
    /// Who holds the database for too long, or waits for it; those who hold it first.
    pub(crate) fn held_too_long(&self) -> Vec<Hold> {
        self.control.store().platform().held_longer_than(TOO_LONG)
    }

    /// Says who holds it, once each, and when it is free again.
    pub(crate) async fn watch_holds(&self, rounds: &Rounds) {
        let mut told = ToldHolders::default();
        loop {
            rounds.begins(LOOK_EVERY);
            tokio::select! {
                () = self.control.inner.stop.cancelled() => return,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            told.tell(&self.held_too_long());
        }
    }
}

/// What the log has of those who hold something.
#[derive(Debug, Default)]
struct ToldHolders {
    holders: BTreeMap<u64, String>,
    waiting: bool,
}

impl ToldHolders {
    fn tell(&mut self, held: &[Hold]) {
        let still: BTreeMap<u64, &Hold> =
            held.iter().filter(|hold| !hold.waits).map(|hold| (hold.number, hold)).collect();
        for (number, hold) in &still {
            if self.holders.insert(*number, hold.place.clone()).is_none() {
                let (kind, place) = (hold.kind.as_str(), &hold.place);
                let seconds = hold.since.as_secs();
                tracing::warn!(kind, place, seconds, "the database is held for too long");
            }
        }
        self.holders.retain(|number, place| {
            let held = still.contains_key(number);
            if !held {
                tracing::info!(place, "the database is let go of again");
            }
            held
        });
        let waiting = held.iter().any(|hold| hold.waits);
        if waiting && !self.waiting {
            let held = in_words(held);
            tracing::warn!(held, "some wait for the database for too long");
        }
        self.waiting = waiting;
    }
}

/// Those who hold something by name, and how many wait for it.
pub(crate) fn in_words(held: &[Hold]) -> String {
    let (waiting, holding): (Vec<&Hold>, Vec<&Hold>) = held.iter().partition(|hold| hold.waits);
    let mut words: Vec<String> = holding.iter().take(MOST_NAMED).map(ToString::to_string).collect();
    if let Some(left) = holding.len().checked_sub(MOST_NAMED).filter(|left| *left > 0) {
        words.push(format!("{left} more hold something"));
    }
    if let Some(first) = waiting.first() {
        let seconds = first.since.as_secs();
        words.push(format!("{} wait, the first ({}) for {seconds} s", waiting.len(), first.place));
    }
    words.join("; ")
}

#[cfg(test)]
#[path = "watchdog_tests.rs"]
mod tests;
