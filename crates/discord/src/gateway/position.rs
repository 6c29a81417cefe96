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
    /// From here on channels are still to be asked that a server is yet to tell of; none: nothing was missed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) since: Option<u64>,
}

impl ShardPosition {
    /// No session yet.
    pub(super) const fn fresh(seen: u64) -> Self {
        Self { session: String::new(), resume_url: None, seq: 0, seen, since: None }
    }

    /// Nothing before this is missing.
    fn whole_up_to(&self) -> u64 {
        self.since.map_or(self.seen, |since| since.min(self.seen))
    }

    /// A session begins: channels are asked from so shortly before the last message, or from where they were
    /// still to be asked.
    pub(super) fn ask_again(&mut self, shortly: u64) -> u64 {
        let since = self.seen.saturating_sub(shortly);
        *self.since.insert(self.since.map_or(since, |before| before.min(since)))
    }
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
            let seen = self.of.values().map(ShardPosition::whole_up_to).min();
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
