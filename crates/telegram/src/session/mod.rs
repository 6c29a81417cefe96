//! The way to Telegram: requests with an end, and what a failed one means.

pub(crate) mod api;
pub(crate) mod fault;
pub(crate) mod methods;

pub(crate) use api::{Api, Me};
pub(crate) use fault::Fault;
