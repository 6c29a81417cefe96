//! Hearing what Discord says, and how far it was heard.
//!
//! A session that ends is resumed from the last event that is stored; where Discord has forgotten it, each
//! channel is asked for what was said since. Either way nothing is counted as heard before it is stored.

mod account;
mod backfill;
mod connection;
mod dial;
mod events;
mod handover;
mod helpers;
mod position;
mod refusals;
mod servers;
mod shard;
mod turns;

pub(super) use account::Account;
pub(super) use events::Event;

/// What the bot asks to hear: which servers and channels there are, what is written in channels and directly,
/// and the words themselves, which the developer portal must allow.
const INTENTS: u64 = GUILDS | GUILD_MESSAGES | DIRECT_MESSAGES | MESSAGE_CONTENT;
const GUILDS: u64 = 1;
const GUILD_MESSAGES: u64 = 1 << 9;
const DIRECT_MESSAGES: u64 = 1 << 12;
const MESSAGE_CONTENT: u64 = 1 << 15;

/// How far our clock may be ahead of Discord's.
const CLOCKS_DIFFER_MS: i64 = 5 * 60 * 1000;

/// Where a bot begins that has heard nothing yet.
fn begins_at(now_ms: i64) -> u64 {
    super::wire::snowflake_at(now_ms.saturating_sub(CLOCKS_DIFFER_MS))
}

/// The position of a bot that has heard nothing yet.
pub(super) fn fresh_position(now_ms: i64) -> String {
    position::Position::fresh(begins_at(now_ms)).to_json()
}
