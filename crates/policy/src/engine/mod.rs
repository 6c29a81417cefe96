//! Who may do what.
//!
//! Owns: the schema of requests, the default policies, and what they decide together with those of
//! an operator. Policies are Cedar's, as data: what no permit names is denied, and a forbid wins over
//! every permit.
//!
//! Cedar knows two answers, and we need three. An *ask* is a forbid with `@ask("class")`: it holds
//! until a person has answered. So a decision takes two questions. Do the permits and plain forbids
//! allow the request? If not, it is denied. Do asks apply to it? If so, it is held, for the greatest
//! class and the greatest number of people that any of them demands. It follows that an ask or a
//! forbid more never widens anything, that a permit more never removes an ask, and that what was
//! asked can only be answered by a person (or by a grant, which is a person's earlier answer).
//!
//! Promises: the same request and policies give the same verdict; a policy that fails to evaluate
//! denies, because Cedar would leave out a forbid that fails; a verdict names the policies it comes
//! from. A verdict that was given before is given again without asking Cedar, to requests that no policy
//! could tell apart (`sketch`); it goes with the engine.

mod action;
mod cache;
mod cases;
mod entities;
mod explain;
mod load;
mod manifest;
mod place;
mod request;
mod sketch;

use std::collections::{HashMap, HashSet};
use std::fmt;

use cedar_policy::{Authorizer, Decision, Response, Schema};
use cloister_protocol::with_causes;

pub use action::{
    CellCall, ChatCall, ContextCall, DomainCall, MailboxCall, ModelCall, PlatformCall, Proposal,
    SecretCall, SkillCall, ToolCall, WorkspaceCall,
};
pub use cases::{Case, DescribeError, Described, Expected, Failure};
pub use explain::{Explanation, ShownPolicy};
pub use load::{DEFAULT_POLICIES, PolicyError, PolicyErrors, Source};
pub use manifest::{ContextLists, Manifest, Names};
pub use place::{Assignment, Ownership, ParseRoleError, Person, Place, Role, Scope};
pub use request::{Assigned, Bounds, Cell, CellAsk, FetchKind, Known, Part, Request};

use crate::class::Class;
use cache::Remembered;
use entities::{Question, TranslateError, Types, translate};
use load::{KnownAction, Loaded, Meta, PolicyKind, Relevant};
use request::Principal;
use sketch::{Key, Sketch, Uid};

/// The `@id` of a policy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyId(String);

impl PolicyId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PolicyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Allow,
    /// A person must answer first; `people` of them, and different ones.
    Ask {
        class: Class,
        people: u8,
        reason: String,
    },
    Deny {
        reason: String,
    },
}

/// What was decided, and which policies said so, in the order of the files. Only an engine makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    pub outcome: Outcome,
    pub policies: Vec<PolicyId>,
}

impl Verdict {
    fn deny(reason: impl Into<String>, policies: Vec<PolicyId>) -> Self {
        Self { outcome: Outcome::Deny { reason: reason.into() }, policies }
    }
}

/// A verdict, and whether policies gave it: one that is owed to a failure is not remembered.
enum Judged {
    Decided(Verdict),
    Failed(Verdict),
}

/// Decides, by a fixed set of policies. Changing policies is making another engine.
pub struct Engine {
    authorizer: Authorizer,
    types: Types,
    schema: Schema,
    actions: HashMap<&'static str, KnownAction>,
    meta: HashMap<PolicyId, Meta>,
    /// The entities that policies name.
    spelled_out: HashSet<Uid>,
    remembered: Remembered,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("policies", &self.meta.len()).finish_non_exhaustive()
    }
}

impl Engine {
    /// The default policies together with an operator's.
    pub fn new(operator: &[Source<'_>]) -> Result<Self, PolicyErrors> {
        Self::with_policies(DEFAULT_POLICIES, operator)
    }

    /// These policies, and no others; only those that are given are validated.
    fn with_policies(
        shipped: &[Source<'static>],
        given: &[Source<'_>],
    ) -> Result<Self, PolicyErrors> {
        let types = Types::new().map_err(|error| load::one(load::SCHEMA_FILE, &error))?;
        let Loaded { schema, actions, meta, literals } =
            load::load(shipped, given, &all_actions())?;
        let spelled_out = literals.iter().filter_map(|uid| types.known(uid)).collect();
        let (authorizer, remembered) = (Authorizer::new(), Remembered::default());
        Ok(Self { authorizer, types, schema, actions, meta, spelled_out, remembered })
    }

    /// Whether an operator's policies could be used, and what is wrong if not.
    pub fn check(operator: &[Source<'_>]) -> Result<(), PolicyErrors> {
        Self::new(operator).map(|_| ())
    }

    pub fn decide(&self, request: &Request) -> Verdict {
        let sketch = Sketch::of(request);
        let key = Key::of(request.action, &sketch, &self.spelled_out);
        if let Some(verdict) = self.remembered.get(&key) {
            return verdict;
        }
        match self.judge(request, &sketch, None) {
            Ok(Judged::Decided(verdict)) => {
                self.remembered.keep(key, &verdict);
                verdict
            }
            Ok(Judged::Failed(verdict)) => verdict,
            Err(error) => cannot_be_judged(&error),
        }
    }

    /// The same, without looking whether it was decided before.
    pub fn decide_anew(&self, request: &Request) -> Verdict {
        self.judged(request, None)
    }

    /// The same, for what people type: checked against the schema on the way.
    fn decide_checked(&self, request: &Request) -> Verdict {
        self.judged(request, Some(&self.schema))
    }

    fn judged(&self, request: &Request, checked: Option<&Schema>) -> Verdict {
        match self.judge(request, &Sketch::of(request), checked) {
            Ok(Judged::Decided(verdict) | Judged::Failed(verdict)) => verdict,
            Err(error) => cannot_be_judged(&error),
        }
    }

    fn judge(
        &self,
        request: &Request,
        sketch: &Sketch,
        checked: Option<&Schema>,
    ) -> Result<Judged, TranslateError> {
        let action = self.actions.get(request.action);
        let action = action.ok_or(TranslateError::Action(request.action))?;
        let relevant = match &request.principal {
            Principal::User(_) => &action.of_user,
            Principal::Cell(cell) => match cell.part {
                Part::Coordinator => &action.of_coordinator,
                Part::Executor { .. } => &action.of_executor,
            },
        };
        let question = translate(&self.types, &action.entity, sketch, checked)?;
        Ok(self.answer(request, relevant, &question))
    }

    fn answer(&self, request: &Request, relevant: &Relevant, question: &Question) -> Judged {
        let Question { request: cedar, entities } = question;
        let ruled = self.authorizer.is_authorized(cedar, &relevant.rules, entities);
        if let Some(verdict) = failed(&ruled) {
            return Judged::Failed(verdict);
        }
        let policies = self.determining(&ruled);
        if ruled.decision() == Decision::Deny {
            let reason = policies.first().and_then(|id| self.meta.get(id));
            return Judged::Decided(match reason {
                Some(meta) => Verdict::deny(meta.reason.clone(), policies),
                None => Verdict::deny(format!("no policy allows {}", request.action), policies),
            });
        }
        if relevant.asks.is_empty() {
            return Judged::Decided(Verdict { outcome: Outcome::Allow, policies });
        }
        let held = self.authorizer.is_authorized(cedar, &relevant.asks, entities);
        if let Some(verdict) = failed(&held) {
            return Judged::Failed(verdict);
        }
        let asking = self.determining(&held);
        Judged::Decided(match self.asked(&asking) {
            Some(outcome) => Verdict { outcome, policies: asking },
            None => Verdict { outcome: Outcome::Allow, policies },
        })
    }

    /// The policies of a response, in the order of the files.
    fn determining(&self, response: &Response) -> Vec<PolicyId> {
        let ids = response.diagnostics().reason().map(|id| PolicyId(id.to_string()));
        let mut ids: Vec<_> = ids.collect();
        ids.sort_by_key(|id| self.meta.get(id).map_or(usize::MAX, |meta| meta.rank));
        ids
    }

    /// What the asks that apply demand together; the reasons of the greatest class are given.
    fn asked(&self, asking: &[PolicyId]) -> Option<Outcome> {
        let mut asked: Option<(Class, u8, Vec<&str>)> = None;
        for meta in asking.iter().filter_map(|id| self.meta.get(id)) {
            let PolicyKind::Ask { class, people } = meta.kind else { continue };
            let reason = meta.reason.as_str();
            match &mut asked {
                None => asked = Some((class, people, vec![reason])),
                Some((greatest, most, reasons)) => {
                    if class > *greatest {
                        reasons.clear();
                    }
                    if class >= *greatest {
                        reasons.push(reason);
                    }
                    *greatest = class.max(*greatest);
                    *most = people.max(*most);
                }
            }
        }
        let (class, people, reasons) = asked?;
        Some(Outcome::Ask { class, people, reason: reasons.join("; ") })
    }
}

fn failed(response: &Response) -> Option<Verdict> {
    let error = response.diagnostics().errors().next()?;
    Some(Verdict::deny(format!("a policy could not be evaluated: {error}"), Vec::new()))
}

fn cannot_be_judged(error: &TranslateError) -> Verdict {
    let reason = format!("the request can't be judged: {}", with_causes(error));
    Verdict::deny(reason, Vec::new())
}

/// The name of every action that a request can have.
fn all_actions() -> Vec<&'static str> {
    fn names<T: Copy>(all: &[T], name: fn(T) -> &'static str) -> Vec<&'static str> {
        all.iter().map(|action| name(*action)).collect()
    }
    let groups = [
        names(PlatformCall::ALL, PlatformCall::as_str),
        names(ModelCall::ALL, ModelCall::as_str),
        names(WorkspaceCall::ALL, WorkspaceCall::as_str),
        names(ContextCall::ALL, ContextCall::as_str),
        names(ChatCall::ALL, ChatCall::as_str),
        names(SecretCall::ALL, SecretCall::as_str),
        names(DomainCall::ALL, DomainCall::as_str),
        names(SkillCall::ALL, SkillCall::as_str),
        names(ToolCall::ALL, ToolCall::as_str),
        names(MailboxCall::ALL, MailboxCall::as_str),
        names(CellCall::ALL, CellCall::as_str),
        names(Proposal::ALL, Proposal::as_str),
        request::OTHER_ACTIONS.to_vec(),
    ];
    groups.concat()
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
