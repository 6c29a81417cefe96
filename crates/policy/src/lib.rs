//! Decisions, as pure functions of what the control plane knows for certain.
//!
//! Owns: who may do what, which tool a level may use, how risky a command is, when a person is asked
//! and what their answer covers, where content came from and where it may go, when a plan must be
//! approved first, what of a claim the ledger shows, which files a person's own programs run, where an executor may go, how far each request of a cell
//! reaches. Promises: no I/O, no
//! async, no clock; the same input gives the same decision.
//!
//! Without the feature `engine` it is what connectors need of it: how text is shown.

mod bits;
mod class;
mod completion;
pub mod egress;
#[cfg(feature = "engine")]
pub mod engine;
pub mod gate;
mod interpreted;
mod legible;
mod links;
mod looping;
pub mod outgoing;
pub mod provenance;
#[cfg(feature = "engine")]
pub mod reach;
mod risk;
pub mod shell;
mod tools;

pub use class::{Class, ParseClassError, Rated};
pub use completion::{not_shown, not_shown_beside};
pub use interpreted::{Interpreted, Moment, interpreted, interpreted_link};
pub use legible::{is_hidden, legible};
pub use links::link_place;
pub use looping::{Looping, MOST_REPEATS, ended_in_circles, looping};
pub use risk::{Risk, of_request};
pub use tools::{Decision, is_mutating, may_call};
