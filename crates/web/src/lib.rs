//! The control plane's HTTP: the pages, the public agent socket, files, sessions, and the admin API.
//!
//! Owns: routes, tokens on the wire, the mapping of errors to answers. Promises: nothing is answered
//! without the check that its route names; what a socket is sent is in the outbox before.

mod admin;
mod agent_socket;
mod auth;
mod caller;
mod chat_files;
mod client_frames;
mod connections;
#[cfg(test)]
mod fuzz_tests;
mod health;
mod hooks;
mod host;
mod language;
mod logins;
mod markdown;
mod math;
mod math_symbols;
mod metrics;
mod mtls;
mod multipart;
mod openapi;
mod pace;
mod pages;
mod peer;
mod recognise;
mod replay;
mod reply;
#[cfg(test)]
mod routing_tests;
mod server;
#[cfg(test)]
mod session_matrix_tests;
mod standing;
#[cfg(test)]
mod test_world;
mod waiting;

pub use admin::{admin_router, audit_report};
pub use auth::{Operator, new_login_token};
pub use connections::{ConnectionOptions, Network, Prompt, Serving, serve};
pub use logins::LoginThrottle;
pub use mtls::{Remote, RemoteOptions};
pub use openapi::openapi_text;
pub use pace::Turnstile;
pub use peer::Peer;
pub use server::{RENEW_HEADER, State, local_router, public_router};
