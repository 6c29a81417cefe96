//! A verdict, told to a person.

use std::collections::BTreeMap;
use std::fmt;

use super::load::PolicyKind;
use super::request::Request;
use super::{Engine, Outcome, PolicyId, Verdict};

/// A policy as a person finds it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownPolicy {
    pub id: PolicyId,
    pub file: String,
    pub line: usize,
    /// What it is: permit, forbid or ask.
    pub kind: &'static str,
    pub reason: String,
    pub text: String,
}

/// A verdict with everything that led to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    pub request: String,
    pub verdict: Verdict,
    /// The policies that decided.
    pub decided: Vec<ShownPolicy>,
    /// Where none did: the permits that speak of this action and did not apply.
    pub did_not_apply: Vec<ShownPolicy>,
}

impl Engine {
    pub fn explain(&self, request: &Request) -> Explanation {
        let verdict = self.decide_checked(request);
        let decided: Vec<_> = verdict.policies.iter().filter_map(|id| self.shown(id)).collect();
        let did_not_apply =
            if decided.is_empty() { self.permits_about(request.action) } else { Vec::new() };
        Explanation { request: request.to_string(), verdict, decided, did_not_apply }
    }

    /// Every policy in force, in the order of the files.
    pub fn policies(&self) -> Vec<ShownPolicy> {
        let mut ids: Vec<_> = self.meta.iter().map(|(id, meta)| (meta.rank, id)).collect();
        ids.sort_unstable_by_key(|(rank, _)| *rank);
        ids.into_iter().filter_map(|(_, id)| self.shown(id)).collect()
    }

    fn shown(&self, id: &PolicyId) -> Option<ShownPolicy> {
        let meta = self.meta.get(id)?;
        let kind = match meta.kind {
            PolicyKind::Permit => "permit",
            PolicyKind::Forbid => "forbid",
            PolicyKind::Ask { .. } => "ask",
        };
        Some(ShownPolicy {
            id: id.clone(),
            file: meta.file.clone(),
            line: meta.line,
            kind,
            reason: meta.reason.clone(),
            text: meta.text.clone(),
        })
    }

    /// The permits that speak of an action, in the order of the files.
    fn permits_about(&self, action: &str) -> Vec<ShownPolicy> {
        let Some(action) = self.actions.get(action) else { return Vec::new() };
        let sets = [&action.of_user, &action.of_coordinator, &action.of_executor];
        let policies = sets.into_iter().flat_map(|relevant| relevant.rules.policies());
        let ids = policies.map(|policy| PolicyId(policy.id().to_string()));
        let permits = ids.filter_map(|id| {
            let meta = self.meta.get(&id).filter(|meta| meta.kind == PolicyKind::Permit)?;
            Some((meta.rank, id))
        });
        let sorted: BTreeMap<usize, PolicyId> = permits.collect();
        sorted.values().filter_map(|id| self.shown(id)).collect()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Outcome::Allow => f.write_str("allow"),
            Outcome::Ask { class, people, reason } => {
                let who = if *people > 1 { ", two people" } else { "" };
                write!(f, "ask ({class}{who}): {reason}")
            }
            Outcome::Deny { reason } => write!(f, "deny: {reason}"),
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.request)?;
        writeln!(f, "{}", self.verdict)?;
        for policy in &self.decided {
            writeln!(f, "  {} {} ({}:{})", policy.kind, policy.id, policy.file, policy.line)?;
            for line in policy.text.lines().filter(|line| !line.starts_with('@')) {
                writeln!(f, "    {line}")?;
            }
        }
        if !self.did_not_apply.is_empty() {
            writeln!(f, "  these could have allowed it, and their conditions do not hold:")?;
        }
        for policy in &self.did_not_apply {
            writeln!(f, "    {} ({}:{})", policy.id, policy.file, policy.line)?;
        }
        Ok(())
    }
}
