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
mod effect;
mod grant;
mod render;
mod template;

pub use answer::{AnswerError, Ballot, Settled, Tally, offered, remembered, tally};
pub use effect::{
    Action, Asker, AttachedFile, Digest, Effect, Mail, Rendered, Surroundings, TargetFile,
};
pub use grant::{Grant, GrantId, Reach};
pub use render::{Reading, visible, visible_bytes};
pub use template::Template;

use cloister_protocol::Answer;

use crate::class::Class;
use crate::engine::{Outcome, Verdict};
use crate::provenance::{Flow, Mark};

/// A passed gate: made only here, bound to one effect, used up by it.
#[derive(Debug, PartialEq, Eq)]
pub struct Pass {
    digest: Digest,
    grant: Option<GrantId>,
}

/// The effect is not the one that passed the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the action was changed after it passed the gate")]
pub struct ChangedAfterGate;

impl Pass {
    /// Lets the effect happen, if it is the one that passed. Says which grant it was by.
    pub fn spend(self, effect: &Effect) -> Result<Option<GrantId>, ChangedAfterGate> {
        if effect.digest() == self.digest { Ok(self.grant) } else { Err(ChangedAfterGate) }
    }

    pub const fn grant(&self) -> Option<GrantId> {
        self.grant
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

/// Decides one effect: by the engine's verdict, by provenance, by the grants of its asker.
pub fn decide(effect: &Effect, grants: &[Grant], verdict: &Verdict, flow: &Flow) -> Decision {
    let (class, people, reason) = match (&verdict.outcome, flow) {
        (Outcome::Deny { reason }, _) => return Decision::Deny { reason: reason.clone() },
        (Outcome::Allow, Flow::Run) => return run(effect, None),
        (Outcome::Allow, Flow::Ask { reason, .. }) => (Class::Outward, 1, reason.clone()),
        (Outcome::Ask { class, people, reason }, Flow::Run) => (*class, *people, reason.clone()),
        (Outcome::Ask { class, people, reason }, Flow::Ask { reason: flow, .. }) => {
            (*class, *people, format!("{reason}; {flow}"))
        }
    };
    let sources = match flow {
        Flow::Run => Vec::new(),
        Flow::Ask { sources, .. } => sources.clone(),
    };
    let untrusted = matches!(flow, Flow::Ask { .. });
    // A template says nothing about who is behind the request now, and two people's rule is about
    // each single time.
    let stands = |grant: &Grant| !untrusted || (class == Class::Middle && grant.remembers_one());
    let counts = |grant: &&Grant| grant.is_exact() || (people < 2 && stands(grant));
    if let Some(grant) = grants.iter().filter(counts).find(|grant| grant.covers(effect)) {
        return run(effect, Some(grant.id));
    }
    let mut rendered = effect.render(class, &reason);
    if let Some(template) = remembered(effect, class, people) {
        rendered.text.push_str(&kept_in_mind(&template));
    }
    let offered = offered(effect, class, people, untrusted);
    Decision::Ask(Box::new(Question { class, people, reason, sources, rendered, offered }))
}

/// What a yes means where it is remembered.
fn kept_in_mind(template: &Template) -> String {
    let what = template.describe();
    let mut lines = what.lines();
    let first = lines.next().unwrap_or_default();
    let more = if lines.next().is_some() { " …" } else { "" };
    format!(
        "remembered: once allowed, you are not asked again to {first}{more}: exactly this, in any task of \
         yours here, until you take it back with /grants\n"
    )
}

fn run(effect: &Effect, grant: Option<GrantId>) -> Decision {
    Decision::Run(Pass { digest: effect.digest(), grant })
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
