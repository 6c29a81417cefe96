//! Which turn runs when: in each chat one at a time and in order, over all chats a limited number.
//! Pure.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// Orders jobs `J` of chats `C`.
pub(super) struct Schedule<C, J> {
    limit: usize,
    running: usize,
    chats: HashMap<C, ChatQueue<J>>,
    /// Chats with something to run and nothing running, longest waiting first.
    ready: VecDeque<C>,
}

struct ChatQueue<J> {
    waiting: VecDeque<J>,
    busy: bool,
}

impl<C: Copy + Eq + Hash, J> Schedule<C, J> {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, running: 0, chats: HashMap::new(), ready: VecDeque::new() }
    }

    pub(super) fn add(&mut self, chat: C, job: J) {
        let line = self
            .chats
            .entry(chat)
            .or_insert_with(|| ChatQueue { waiting: VecDeque::new(), busy: false });
        line.waiting.push_back(job);
        if !line.busy && line.waiting.len() == 1 {
            self.ready.push_back(chat);
        }
    }

    /// The next job to start now, if any.
    pub(super) fn next(&mut self) -> Option<J> {
        if self.running >= self.limit {
            return None;
        }
        let chat = self.ready.pop_front()?;
        let line = self.chats.get_mut(&chat)?;
        let job = line.waiting.pop_front()?;
        line.busy = true;
        self.running += 1;
        Some(job)
    }

    pub(super) fn finished(&mut self, chat: C) {
        let Some(line) = self.chats.get_mut(&chat).filter(|line| line.busy) else { return };
        line.busy = false;
        self.running -= 1;
        if line.waiting.is_empty() {
            self.chats.remove(&chat);
        } else {
            self.ready.push_back(chat);
        }
    }
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
