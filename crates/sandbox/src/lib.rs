//! The `native` cell backend: sandboxes made of kernel namespaces, on this machine.
//!
//! Owns: the launcher that builds a sandbox around an agent, and the backend that starts, limits,
//! watches and ends sandboxes. Promises: every layer of the launcher is in force or the launch is
//! refused; when a handle is dropped, or the control plane dies, no process of the sandbox is left.
//! Must not know: users, policy, what the agent does.

pub mod launcher;
mod memory;
mod native;
mod scheduling;
mod wire;

pub use memory::{Guarded, guard_memory};
pub use native::{NativeBackend, Options};
pub use scheduling::prefer_latency;
