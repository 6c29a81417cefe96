//! What is handed over in full, and how far that allows the position to move: places finish in any order,
//! the position moves in order.

use std::collections::VecDeque;

#[derive(Debug)]
struct Open<P> {
    position: P,
    left: usize,
}

/// Which of what came; given out in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry(u64);

#[derive(Debug)]
pub(crate) struct Ledger<P> {
    /// The first of `open`.
    first: u64,
    open: VecDeque<Open<P>>,
}

impl<P> Default for Ledger<P> {
    fn default() -> Self {
        Self { first: 0, open: VecDeque::new() }
    }
}

impl<P> Ledger<P> {
    /// Something came that `parts` must be handed over of before `position` is reached.
    pub(crate) fn open(&mut self, position: P, parts: usize) -> Entry {
        // What waits for nothing but the same as the one before is reached with it: however long that takes,
        // only what is under way is held.
        let last = self.open.len().saturating_sub(1);
        if let Some(open) = self.open.back_mut().filter(|open| parts == 0 && open.left == 0) {
            open.position = position;
            return Entry(self.first.saturating_add(last as u64));
        }
        let entry = Entry(self.first.saturating_add(self.open.len() as u64));
        self.open.push_back(Open { position, left: parts });
        entry
    }

    /// A part was handed over.
    pub(crate) fn done(&mut self, entry: Entry) {
        let at = entry.0.checked_sub(self.first).and_then(|at| usize::try_from(at).ok());
        if let Some(open) = at.and_then(|at| self.open.get_mut(at)) {
            open.left = open.left.saturating_sub(1);
        }
    }

    /// How far everything is handed over, if that is further than when last asked.
    pub(crate) fn reached(&mut self) -> Option<P> {
        let mut reached = None;
        while self.open.front().is_some_and(|open| open.left == 0) {
            reached = self.open.pop_front().map(|open| open.position);
            self.first = self.first.saturating_add(1);
        }
        reached
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
