//! When a task goes round in circles, by its ledger.
//!
//! An agent stops itself at fewer repetitions, if it is honest; this is what holds if it is not.

use std::collections::HashMap;
use std::fmt;

use cloister_protocol::link::{Call, Step};

/// The same call with the same result this often is a loop.
pub const MOST_REPEATS: usize = 6;
/// An agent that stops itself does so here.
const TELLING: usize = 4;

/// A call that came again and again, and brought nothing new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looping {
    pub tool: String,
    pub times: usize,
}

impl fmt::Display for Looping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tool, times } = self;
        write!(f, "it was stopped: the same call of {tool} came {times} times with the same result")
    }
}

/// The loop that a ledger shows, if it has to be stopped.
pub fn looping(ledger: &[Step]) -> Option<Looping> {
    repeated(ledger).filter(|found| found.times >= MOST_REPEATS)
}

/// Whether a task that ended without success went round in circles before.
pub fn ended_in_circles(ledger: &[Step]) -> bool {
    repeated(ledger).is_some_and(|found| found.times >= TELLING)
}

/// The call that was repeated most.
fn repeated(ledger: &[Step]) -> Option<Looping> {
    let mut calls: HashMap<&str, &Call> = HashMap::new();
    let mut seen: HashMap<(&str, &str, &str), usize> = HashMap::new();
    for step in ledger {
        match step {
            Step::Answer { calls: asked, .. } => {
                calls.extend(asked.iter().map(|call| (call.id.as_str(), call)));
            }
            Step::Call { .. } => {}
            Step::Result { call, outcome } => {
                let Some(call) = calls.get(call.as_str()) else { continue };
                let key = (call.name.as_str(), call.arguments.trim(), outcome.output.as_str());
                *seen.entry(key).or_default() += 1;
            }
        }
    }
    let most = seen.into_iter().max_by_key(|(_, times)| *times);
    most.map(|((tool, _, _), times)| Looping { tool: tool.to_owned(), times })
}

#[cfg(test)]
#[path = "looping_tests.rs"]
mod tests;
