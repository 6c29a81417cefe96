//! Logging in, the device, and its keys.

pub(crate) mod address;
pub(crate) mod credentials;
pub(crate) mod fault;
pub(crate) mod keys;
pub(crate) mod login;
mod store;
pub(crate) mod verification;
