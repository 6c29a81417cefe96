//! Secrets at a door: which ones its task may use, the handles that stand for them in the sandbox, and
//! what must not come back.
//!
//! Promises: no value enters a sandbox or goes to a model. A handle is worth something at its own door
//! only, for the hosts its secret is bound to, in the one place that the binding names; anywhere else it
//! stops the request it is on.

mod encodings;
mod handle;
mod mask;
mod placing;
mod shelf;

pub(crate) use mask::{Mask, Masker};
pub(crate) use placing::{
    Borne, Fields, Going, Misplaced, find, nowhere, put, shown_headers, shown_query,
};
pub(crate) use shelf::{Now, SecretReach, Shelf};
