//! Reading what Telegram has: asked for, or handed to us. How far it was read moves only past what is stored.

mod account;
mod helpers;
mod hook;
mod position;
pub(crate) mod wire;

pub(crate) use account::Account;
pub(crate) use hook::{Hook, Webhook};
