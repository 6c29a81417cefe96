//! The gate before an action.
//!
//! Owns: what an effect is, how it is shown and hashed; which grants cover it; which answers a person
//! can give and what they come to. Promises: an answer is bound to the exact effect that was seen; a
//! grant for once or for a task covers no other byte; a grant helps only the tasks of the person it is
//! for; a standing grant is not consulted where untrusted content is behind the request, unless it is
//! for that very action and the action is of the middle class; no grant lifts a denial.
//!
//! *Safe* runs. *Middle* is asked once and then remembered: a plain yes stands for the same action to
//! the byte, in every task of that person there, until it is taken back. *Destructive* and *outward* are
//! asked every time, unless a standing grant covers exactly this template.

mod answer;
#[cfg(feature = "engine")]
mod decide;
mod effect;
mod grant;
mod plan;
mod render;
mod template;

pub use answer::{Tally, offered, remembered, tally};
#[cfg(feature = "engine")]
pub use decide::decide;
pub use effect::{
    Action, Asker, AttachedFile, Digest, Effect, Mail, Rendered, Surroundings, TargetFile,
};
pub use grant::{Grant, GrantId, Reach};
pub use render::{Reading, visible, visible_bytes};
pub use template::Template;

use cloister_protocol::Answer;

use crate::class::Class;
use crate::provenance::Mark;

/// A passed gate: made only here, bound to one effect, used up by it.
#[derive(Debug, PartialEq, Eq)]
pub struct Pass {
    digest: Digest,
    by: PassedBy,
}

/// Why something passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassedBy {
    /// Nobody had to be asked.
    Policy,
    /// A person has allowed it; `once`: this one time.
    Grant { id: GrantId, once: bool },
    /// It stands in a plan that a person has approved.
    Plan,
}

/// The effect is not the one that passed the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the action was changed after it passed the gate")]
pub struct ChangedAfterGate;

impl Pass {
    /// Lets the effect happen, if it is the one that passed.
    pub fn clear(self, effect: Effect) -> Result<Cleared, ChangedAfterGate> {
        if effect.digest() == self.digest {
            Ok(Cleared { effect, by: self.by })
        } else {
            Err(ChangedAfterGate)
        }
    }
}

/// An effect that has passed the gate. There is no other way to one than to be judged, and no second one of it:
/// whatever acts takes it, and does what it says.
///
/// ```
/// use cloister_policy::gate::{Cleared, Effect};
/// fn act(leave: Cleared) -> Effect { leave.into_effect() }
/// ```
///
/// Nobody else makes one:
///
/// ```compile_fail
/// use cloister_policy::gate::{Cleared, Effect, PassedBy};
/// fn made(effect: Effect) -> Cleared { Cleared { effect, by: PassedBy::Policy } }
/// ```
///
/// It is not copied, and not used twice:
///
/// ```compile_fail
/// use cloister_policy::gate::Cleared;
/// fn copied(leave: &Cleared) -> Cleared { Clone::clone(leave) }
/// ```
///
/// ```compile_fail
/// use cloister_policy::gate::{Cleared, Effect};
/// fn twice(leave: Cleared) -> (Effect, Effect) { (leave.into_effect(), leave.into_effect()) }
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Cleared {
    effect: Effect,
    by: PassedBy,
}

impl Cleared {
    pub const fn effect(&self) -> &Effect {
        &self.effect
    }

    pub const fn by(&self) -> PassedBy {
        self.by
    }

    /// Whether a person was asked about it.
    pub const fn was_asked(&self) -> bool {
        !matches!(self.by, PassedBy::Policy)
    }

    /// The effect, for whoever brings it about: the leave is used up.
    pub fn into_effect(self) -> Effect {
        self.effect
    }
}

/// What a person must be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub class: Class,
    /// How many different people must allow it.
    pub people: u8,
    pub reason: String,
    /// The untrusted sources behind it, where that is why it is asked.
    pub sources: Vec<Mark>,
    pub rendered: Rendered,
    pub offered: Vec<Answer>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Decision {
    Run(Pass),
    Ask(Box<Question>),
    Deny { reason: String },
}

#[cfg(test)]
#[cfg(feature = "engine")]
#[path = "gate_tests.rs"]
mod tests;
