//! Egress through real doors into a fake internet that records every name, every dial and every byte.

mod client;
mod escapes;
mod fetch;
mod gate;
mod git;
mod internet;
mod limits;
mod proxy;
mod rebuilt;
mod search;
mod secrets;
mod variants;
mod world;
