//! Telegram: a topic per chat where the bot has topics, else one conversation that shows one chat at a time.
//!
//! Promises: an update is stored before Telegram is told that it was taken; the token is in no log, error or
//! argument; who is nobody, or writes in a group that is no context, reaches no agent.

mod bot;
mod host;
mod incoming;
mod outgoing;
mod session;
mod topics;
mod updates;

pub use host::TelegramHost;

/// The surface's name in the inbox and among identities.
pub const SURFACE: &str = "telegram";
