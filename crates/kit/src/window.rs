//! How often something may be done: so many times within a window that moves on. Pure: it is told the time.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

#[derive(Clone, Copy, Debug)]
pub struct Rule {
    pub most: usize,
    pub within: Duration,
}

/// The times at which it was done last.
#[derive(Debug, Default)]
pub struct Window(VecDeque<Instant>);

impl Window {
    /// How long until it may be done once more; zero: now.
    pub fn wait(&self, now: Instant, rule: Rule) -> Duration {
        let mut recent: Vec<Instant> =
            self.0.iter().copied().filter(|at| *at + rule.within > now).collect();
        recent.sort_unstable();
        let Some(over) = recent.len().checked_sub(rule.most) else { return Duration::ZERO };
        let until = recent.get(over).map(|at| *at + rule.within);
        until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }

    /// It is done now, whether or not it may be. As many are remembered as the rule allows.
    pub fn add(&mut self, at: Instant, rule: Rule) {
        self.0.push_back(at);
        while self.0.len() > rule.most {
            self.0.pop_front();
        }
    }

    /// One that was begun at `began` was answered only now.
    pub fn answered(&mut self, began: Instant, now: Instant) {
        if let Some(place) = self.0.iter().rposition(|at| *at == began)
            && let Some(at) = self.0.remove(place)
        {
            self.0.push_back(at.max(now));
        }
    }

    pub fn last(&self) -> Option<Instant> {
        self.0.back().copied()
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
