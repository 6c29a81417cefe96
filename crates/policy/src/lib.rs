//! Decisions, as pure functions of what the control plane knows for certain.
//!
//! Owns: which tool a level may use, when a plan must be approved first, what of a claim the ledger
//! shows, where an executor may go. Promises: no I/O, no async, no clock; the same input gives the same decision.

mod completion;
pub mod egress;
mod risk;
mod tools;

pub use completion::not_shown;
pub use risk::{Risk, of_request};
pub use tools::{Decision, is_mutating, may_call};
