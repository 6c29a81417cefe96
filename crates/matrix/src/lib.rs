//! Matrix: a private Space per person with a room per chat, end-to-end encrypted.
//!
//! Owns: the bot accounts' sessions and keys, the rooms, and how Matrix events become messages and back.
//! Promises: an event is stored before the sync position moves past it; what is posted carries a transaction
//! id that is the same after a kill; no room is made, left or claimed on anything but our own state event.

#![recursion_limit = "256"]

mod bot;
mod host;
mod incoming;
mod outgoing;
mod rooms;
mod secrecy;
mod session;
mod sync;

pub use host::MatrixHost;

use cloister_protocol::surface::CommandSign;

/// The surface's name in the inbox and among identities.
pub const SURFACE: &str = "matrix";
/// What commands begin with: clients keep what begins with `/` to themselves.
pub const SIGN: CommandSign = CommandSign::Bang;
