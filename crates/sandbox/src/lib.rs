//! The `native` cell backend: sandboxes made of kernel namespaces, on this machine.
//!
//! Owns: the backend that starts, limits, watches and ends sandboxes; each is built by a launcher. Promises: every layer of the launcher is in force or the launch is
//! refused; when a handle is dropped, or the control plane dies, no process of the sandbox is left.
//! Must not know: users, policy, what the agent does.

mod memory;
mod native;
mod text;

pub use cloister_launcher as launcher;
pub use cloister_launcher::prefer_latency;
pub use memory::{Guarded, guard_memory};
pub use native::{NativeBackend, Options};
pub use text::give_back_program;
