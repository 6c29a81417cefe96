//! What one door refused: the last of it for the agent, each kind once for the audit trail and the
//! person, all of it counted.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use super::stopped::Denied;

/// The newest refusals that are kept for the agent.
const KEPT: usize = 100;
/// Kinds (host and reason) that are audited one by one; a cell that tries more is only counted.
const AUDITED_KINDS: usize = 200;
/// Kinds that a person hears of.
const TOLD_KINDS: usize = 20;

#[derive(Default)]
pub(super) struct Refusals {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: u64,
    newest: VecDeque<Entry>,
    kinds: HashMap<(String, String), u64>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Entry {
    seq: u64,
    host: String,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

/// The answer of `/egress/refusals`.
#[derive(Debug, Serialize)]
pub(super) struct Listing {
    last: u64,
    refusals: Vec<Entry>,
}

/// Who hears of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hearers {
    pub(super) audit: bool,
    pub(super) person: bool,
}

impl Refusals {
    pub(super) fn add(&self, denied: &Denied) -> Hearers {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.last += 1;
        let entry = Entry {
            seq: state.last,
            host: denied.host.clone(),
            reason: denied.reason.clone(),
            fix: denied.remedy(),
        };
        state.newest.push_back(entry);
        if state.newest.len() > KEPT {
            state.newest.pop_front();
        }
        let kind = (denied.host.clone(), denied.reason.clone());
        if let Some(count) = state.kinds.get_mut(&kind) {
            *count += 1;
            return Hearers { audit: false, person: false };
        }
        let known = state.kinds.len();
        if known < AUDITED_KINDS {
            state.kinds.insert(kind, 1);
        }
        Hearers { audit: known < AUDITED_KINDS, person: known < TOLD_KINDS }
    }

    pub(super) fn after(&self, seq: u64) -> Listing {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let refusals = state.newest.iter().filter(|entry| entry.seq > seq).cloned().collect();
        Listing { last: state.last, refusals }
    }

    /// How many there were, and of what most; none if there were none.
    pub(super) fn summary(&self) -> Option<String> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.last == 0 {
            return None;
        }
        let mut kinds: Vec<_> = state.kinds.iter().collect();
        kinds.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
        let most = kinds.iter().take(20).map(|((host, _reason), count)| format!("{host} x{count}"));
        let most = most.collect::<Vec<_>>().join(", ");
        Some(format!("{} refusals: {most}", state.last))
    }
}
