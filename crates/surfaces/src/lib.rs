//! Telegram and Discord: bot accounts that people write to.
//!
//! Owns: how their events become messages and back. Promises: what is heard is stored before it is
//! acknowledged; what is said goes out once where the platform can tell, and is announced as a possible
//! repetition where it can't; a token is in no log, error or argument.

pub mod discord;
mod download;
pub mod telegram;
