//! Discord: direct messages, channels and threads.
//!
//! Owns: the bots' sessions at the gateway, how Discord's events become messages and back. Promises: an event
//! is stored before the position moves past it; what a session lost is asked for again, channel by channel; an
//! interaction is acknowledged in time, and its token is in no log.

mod bot;
mod commands;
mod gateway;
mod host;
mod incoming;
mod interactions;
mod outgoing;
mod rest;
mod threads;
mod wire;

pub use host::DiscordHost;

/// The surface's name in the inbox and among identities.
pub const SURFACE: &str = "discord";
