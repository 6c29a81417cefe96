//! How far a bot has read: for each shard the session that can be resumed, and the last message that was
//! stored, from which on channels are asked where a session is lost. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// As it is kept with the connector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    /// How many shards there were: a session belongs to one of so many.
    #[serde(default)]
    pub(super) shards: u32,
    /// Everything up to this snowflake is stored, whichever shard it came by.
    #[serde(default)]
    pub(super) seen: u64,
    #[serde(default)]
    pub(super) of: BTreeMap<u32, ShardPosition>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ShardPosition {
    pub(super) session: String,
    pub(super) resume_url: Option<String>,
    pub(super) seq: u64,
    /// Everything up to this snowflake that came by this shard is stored.
    pub(super) seen: u64,
}

impl Position {
    /// Nothing was read yet; nothing before now is asked for.
    pub(super) const fn fresh(now: u64) -> Self {
        Self { shards: 0, seen: now, of: BTreeMap::new() }
    }

    /// Reads what was kept; what can't be read, or is not there, begins now.
    pub(super) fn read(kept: Option<&str>, now: u64) -> Self {
        kept.and_then(|kept| serde_json::from_str(kept).ok()).unwrap_or_else(|| Self::fresh(now))
    }

    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The same for another number of shards: no session of before fits, and what each has seen, all have.
    pub(super) fn for_shards(mut self, shards: u32) -> Self {
        if self.shards != shards {
            let seen = self.of.values().map(|of| of.seen).min();
            self.seen = seen.unwrap_or(self.seen);
            self.shards = shards;
            self.of.clear();
        }
        self
    }

    /// From where on a shard must ask for what it missed.
    pub(super) fn seen_by(&self, shard: u32) -> u64 {
        self.of.get(&shard).map_or(self.seen, |of| of.seen)
    }

    /// Where a shard can go on, if it can.
    pub(super) fn session_of(&self, shard: u32) -> Option<&ShardPosition> {
        self.of.get(&shard).filter(|of| !of.session.is_empty())
    }
}

#[cfg(test)]
#[path = "position_tests.rs"]
mod tests;
