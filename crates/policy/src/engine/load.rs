//! Policies, from text to what decisions are taken with.
//!
//! Strict: what Cedar's validator warns of (a policy that can never apply, text with look-alike
//! characters) is refused as much as what it calls an error.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use cedar_policy::{
    Effect, Entity, EntityUid, Policy, PolicySet, Schema, ValidationMode, Validator,
};
use miette::Diagnostic;

use super::PolicyId;
use crate::class::Class;

pub(super) const SCHEMA_FILE: &str = "schema.cedarschema";
const SCHEMA: &str = include_str!("schema.cedarschema");

/// The policies that hold where an operator has written none.
pub const DEFAULT_POLICIES: &[Source<'static>] = &[
    Source { file: "default/people.cedar", text: include_str!("default/people.cedar") },
    Source { file: "default/cells.cedar", text: include_str!("default/cells.cedar") },
    Source { file: "default/asks.cedar", text: include_str!("default/asks.cedar") },
];

/// A file of policies.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    pub file: String,
    pub line: Option<usize>,
    /// The policy's id, where it has one.
    pub policy: Option<String>,
    pub message: String,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(policy) = &self.policy {
            write!(f, " ({policy})")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Everything that is wrong with a set of policies, in the order of the files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct PolicyErrors(pub Vec<PolicyError>);

impl fmt::Display for PolicyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut errors = self.0.iter();
        if let Some(first) = errors.next() {
            write!(f, "{first}")?;
        }
        errors.try_for_each(|error| write!(f, "\n{error}"))
    }
}

/// What a policy is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PolicyKind {
    Permit,
    Forbid,
    Ask { class: Class, people: u8 },
}

/// What is told of a policy that decided.
#[derive(Clone, Debug)]
pub(super) struct Meta {
    /// The order in which reasons are given.
    pub(super) rank: usize,
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) kind: PolicyKind,
    pub(super) reason: String,
    pub(super) text: String,
}

/// The policies that can apply to one action.
#[derive(Default)]
pub(super) struct Relevant {
    /// Permits and forbids.
    pub(super) rules: PolicySet,
    /// Asks, in the form of forbids.
    pub(super) asks: PolicySet,
}

/// An action with all its groups, and the policies that speak of it.
pub(super) struct KnownAction {
    pub(super) entity: Entity,
    /// By the kind of who asks.
    pub(super) of_user: Relevant,
    pub(super) of_coordinator: Relevant,
    pub(super) of_executor: Relevant,
}

pub(super) struct Loaded {
    pub(super) schema: Schema,
    pub(super) actions: HashMap<&'static str, KnownAction>,
    pub(super) meta: HashMap<PolicyId, Meta>,
    /// Every entity that a policy spells out.
    pub(super) literals: Vec<EntityUid>,
}

/// Parses the schema that ships with the program.
pub(super) fn schema() -> Result<Schema, PolicyErrors> {
    let parsed = Schema::from_cedarschema_str(SCHEMA);
    let (schema, _warnings) = parsed.map_err(|error| one(SCHEMA_FILE, &error))?;
    Ok(schema)
}

pub(super) fn one(file: &str, message: &dyn fmt::Display) -> PolicyErrors {
    let message = message.to_string();
    PolicyErrors(vec![PolicyError { file: file.to_owned(), line: None, policy: None, message }])
}

/// Loads policies: those of `shipped` are known to be valid, for a test has validated them as they are compiled in;
/// those of `given` are validated here.
pub(super) fn load(
    shipped: &[Source<'static>],
    given: &[Source<'_>],
    names: &[&'static str],
) -> Result<Loaded, PolicyErrors> {
    let schema = schema()?;
    let mut loading = Loading::default();
    for source in shipped {
        loading.file(*source);
    }
    let known = loading.meta.len();
    for source in given {
        loading.file(*source);
    }
    if loading.errors.is_empty() {
        loading.validate(&schema, known);
    }
    if !loading.errors.is_empty() {
        return Err(PolicyErrors(loading.errors));
    }
    let Loading { rules, asks, meta, errors: _ } = loading;
    let mut actions = known_actions(&schema, names)?;
    for policy in rules.policies() {
        sort_in(&mut actions, &schema, policy, |relevant| &mut relevant.rules)?;
    }
    for policy in asks.policies() {
        sort_in(&mut actions, &schema, policy, |relevant| &mut relevant.asks)?;
    }
    let literals = rules.policies().chain(asks.policies());
    let literals = literals.flat_map(Policy::entity_literals).collect();
    Ok(Loaded { schema, actions, meta, literals })
}

fn known_actions(
    schema: &Schema,
    names: &[&'static str],
) -> Result<HashMap<&'static str, KnownAction>, PolicyErrors> {
    let all = schema.action_entities().map_err(|error| one(SCHEMA_FILE, &error))?;
    let by_name = names.iter().map(|name| {
        let found = all.iter().find(|entity| entity.uid().id().unescaped() == *name);
        let missing = || one(SCHEMA_FILE, &format_args!("there is no action {name:?}"));
        let entity = found.ok_or_else(missing)?.clone();
        let (of_user, of_coordinator, of_executor) = Default::default();
        Ok((*name, KnownAction { entity, of_user, of_coordinator, of_executor }))
    });
    by_name.collect()
}

/// Puts a policy to every action and kind of asker that it can apply to, by its head. What its head
/// rules out can't apply, so leaving it out changes no decision.
fn sort_in(
    actions: &mut HashMap<&'static str, KnownAction>,
    schema: &Schema,
    policy: &Policy,
    set: fn(&mut Relevant) -> &mut PolicySet,
) -> Result<(), PolicyErrors> {
    for env in policy.get_valid_request_envs(schema) {
        let Some(action) = actions.get_mut(env.action().id().unescaped()) else { continue };
        let relevant = match env.principal().to_string().as_str() {
            "User" => &mut action.of_user,
            "Coordinator" => &mut action.of_coordinator,
            "Executor" => &mut action.of_executor,
            other => return Err(one(SCHEMA_FILE, &format_args!("{other} can't ask for anything"))),
        };
        let set = set(relevant);
        // An action can be about several kinds of things; once is enough.
        if set.policy(policy.id()).is_none() {
            set.add(policy.clone()).map_err(|error| one("policies", &error))?;
        }
    }
    Ok(())
}

#[derive(Default)]
struct Loading {
    rules: PolicySet,
    asks: PolicySet,
    meta: HashMap<PolicyId, Meta>,
    errors: Vec<PolicyError>,
}

impl Loading {
    fn file(&mut self, source: Source<'_>) {
        let set = match PolicySet::from_str(source.text) {
            Ok(set) => set,
            Err(errors) => {
                self.errors.extend(errors.iter().map(|error| parse_error(source, error)));
                return;
            }
        };
        if set.templates().next().is_some() {
            self.error(source, None, None, "a template (?principal, ?resource) is not taken here");
        }
        let mut policies: Vec<&Policy> = set.policies().collect();
        policies.sort_by_key(|policy| order_of(policy));
        for policy in policies {
            self.policy(source, policy);
        }
    }

    fn error(
        &mut self,
        source: Source<'_>,
        line: Option<usize>,
        policy: Option<&str>,
        message: impl Into<String>,
    ) {
        self.errors.push(PolicyError {
            file: source.file.to_owned(),
            line,
            policy: policy.map(str::to_owned),
            message: message.into(),
        });
    }

    fn policy(&mut self, source: Source<'_>, policy: &Policy) {
        let text = policy.to_cedar().unwrap_or_default();
        let Some(id) = policy.annotation("id").filter(|id| is_id(id)) else {
            let shown: String = text.chars().take(60).collect();
            let message = format!(
                "a policy starts with @id(\"a-name\") of lower-case letters, digits and hyphens: {shown}"
            );
            return self.error(source, None, None, message);
        };
        let line = line_of_id(source.text, id);
        let kind = match kind_of(policy) {
            Ok(kind) => kind,
            Err(message) => return self.error(source, line, Some(id), message),
        };
        let reason = policy.annotation("reason").unwrap_or_default().to_owned();
        if reason.is_empty() && kind != PolicyKind::Permit {
            let message = "a forbid says why, in words for a person: @reason(\"…\")";
            return self.error(source, line, Some(id), message);
        }
        let own = PolicyId(id.to_owned());
        if let Some(other) = self.meta.get(&own) {
            let message = format!("the id is taken by {}:{}", other.file, other.line);
            return self.error(source, line, Some(id), message);
        }
        let set = match kind {
            PolicyKind::Permit | PolicyKind::Forbid => &mut self.rules,
            PolicyKind::Ask { .. } => &mut self.asks,
        };
        if let Err(error) = set.add(policy.new_id(cedar_policy::PolicyId::new(id))) {
            return self.error(source, line, Some(id), error.to_string());
        }
        let meta = Meta {
            rank: self.meta.len(),
            file: source.file.to_owned(),
            line: line.unwrap_or(1),
            kind,
            reason,
            text,
        };
        self.meta.insert(own, meta);
    }

    /// Validates the policies that were read after the first `known`.
    fn validate(&mut self, schema: &Schema, known: usize) {
        let validator = Validator::new(schema.clone());
        let mut found = Vec::new();
        for set in [&self.rules, &self.asks] {
            let is_new = |policy: &&Policy| {
                let meta = self.meta.get(&PolicyId(policy.id().to_string()));
                meta.is_none_or(|meta| meta.rank >= known)
            };
            let new = match PolicySet::from_policies(set.policies().filter(is_new).cloned()) {
                Ok(new) => new,
                Err(error) => {
                    self.errors.extend(one("policies", &error).0);
                    return;
                }
            };
            let result = validator.validate(&new, ValidationMode::Strict);
            let errors = result.validation_errors().map(|e| (e.policy_id().clone(), e.to_string()));
            let warnings =
                result.validation_warnings().map(|w| (w.policy_id().clone(), w.to_string()));
            found.extend(errors.chain(warnings));
        }
        let mut located: Vec<(usize, PolicyError)> = Vec::new();
        for (id, message) in found {
            let id = id.to_string();
            let Some(meta) = self.meta.get(&PolicyId(id.clone())) else { continue };
            let Meta { rank, file, line, .. } = meta;
            let message = cut(&message);
            let (file, line, policy) = (file.clone(), Some(*line), Some(id));
            located.push((*rank, PolicyError { file, line, policy, message }));
        }
        located.sort_by_key(|(rank, _)| *rank);
        self.errors.extend(located.into_iter().map(|(_, error)| error));
    }
}

/// Cedar numbers the policies of a file: `policy0`, `policy1` …
fn order_of(policy: &Policy) -> usize {
    let id = policy.id().to_string();
    id.strip_prefix("policy").and_then(|number| number.parse().ok()).unwrap_or(usize::MAX)
}

fn is_id(id: &str) -> bool {
    (1..=64).contains(&id.len())
        && id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b))
}

fn kind_of(policy: &Policy) -> Result<PolicyKind, String> {
    let people = policy.annotation("people");
    let Some(ask) = policy.annotation("ask") else {
        if people.is_some() {
            return Err("@people belongs to an @ask".to_owned());
        }
        return Ok(match policy.effect() {
            Effect::Permit => PolicyKind::Permit,
            Effect::Forbid => PolicyKind::Forbid,
        });
    };
    if policy.effect() == Effect::Permit {
        return Err("@ask belongs to a forbid: it forbids until a person has answered".to_owned());
    }
    let class: Class =
        ask.parse().map_err(|error: crate::class::ParseClassError| error.to_string())?;
    if class == Class::Safe {
        return Err("what is safe is not asked".to_owned());
    }
    let people = match people {
        None | Some("1") => 1,
        Some("2") => 2,
        Some(other) => return Err(format!("@people is \"1\" or \"2\", and not {other:?}")),
    };
    Ok(PolicyKind::Ask { class, people })
}

fn parse_error(source: Source<'_>, error: &dyn Diagnostic) -> PolicyError {
    let label = error.labels().and_then(|mut labels| labels.next());
    let line = label.map(|label| line_at(source.text, label.offset()));
    let message = cut(&error.to_string());
    PolicyError { file: source.file.to_owned(), line, policy: None, message }
}

fn line_at(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

fn line_of_id(text: &str, id: &str) -> Option<usize> {
    let needle = format!("@id(\"{id}\")");
    text.find(&needle).map(|offset| line_at(text, offset))
}

fn cut(message: &str) -> String {
    message.chars().take(400).collect()
}
