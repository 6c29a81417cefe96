//! The agent as the control plane sees it: the real program behind a door played by the test.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on fails")]

mod coordinator;
mod door;
mod executor;
mod network;
mod pictures;
mod small;
mod thinking;
mod too_long;
