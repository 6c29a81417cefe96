//! The decision about one effect.

use super::{
    Decision, Effect, Grant, Pass, PassedBy, Question, Reach, Template, offered, remembered,
};
use crate::class::Class;
use crate::engine::{Outcome, Verdict};
use crate::provenance::Flow;

/// Decides one effect: by the engine's verdict, by provenance, by the grants of its asker.
pub fn decide(effect: &Effect, grants: &[Grant], verdict: &Verdict, flow: &Flow) -> Decision {
    let (class, people, reason) = match (&verdict.outcome, flow) {
        (Outcome::Deny { reason }, _) => return Decision::Deny { reason: reason.clone() },
        (Outcome::Allow, Flow::Run) => return run(effect, PassedBy::Policy),
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
        let once = matches!(grant.reach, Reach::Once { .. });
        return run(effect, PassedBy::Grant { id: grant.id, once });
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
         this chat, until you take it back with /grants\n"
    )
}

fn run(effect: &Effect, by: PassedBy) -> Decision {
    Decision::Run(Pass { digest: effect.digest(), by })
}
