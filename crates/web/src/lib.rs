//! The control plane's HTTP: the pages, the public agent socket, files, sessions, and the admin API.
//!
//! Owns: routes, tokens on the wire, the mapping of errors to answers. Promises: nothing is answered
//! without the check that its route names; what a socket is sent is in the outbox before.

mod admin;
mod agent_socket;
mod auth;
mod caller;
mod chat_files;
mod health;
mod logins;
mod markdown;
mod metrics;
mod pages;
mod peer;
mod replay;
mod reply;
mod server;

pub use admin::admin_router;
pub use auth::{Operator, new_login_token};
pub use logins::LoginThrottle;
pub use peer::Peer;
pub use server::{State, local_router, public_router, serve};
