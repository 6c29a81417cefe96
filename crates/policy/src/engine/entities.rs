//! Requests in Cedar's terms.

use std::collections::{HashMap, HashSet};
use std::fmt;

use cedar_policy::{
    Context, Entities, Entity, EntityId, EntityTypeName, EntityUid, RestrictedExpression, Schema,
};
use cloister_protocol::{ChatId, UserId};

use super::place::{Person, Place, Role, Scope};
use super::request::{Cell, Facts, Known, NamedKind, Part, Principal, Request, Resource};

/// A request that Cedar does not take: a fault of this crate, never of the caller, and decided as a
/// refusal.
#[derive(Debug, thiserror::Error)]
pub(super) enum TranslateError {
    #[error("an attribute of an entity")]
    Attribute(#[from] Box<cedar_policy::EntityAttrEvaluationError>),
    #[error("the entities of a request")]
    Entities(#[from] Box<cedar_policy::entities_errors::EntitiesError>),
    #[error("the facts of a request")]
    Context(#[from] Box<cedar_policy::ContextCreationError>),
    #[error("the request as a whole")]
    Request(#[from] Box<cedar_policy::RequestValidationError>),
    #[error("the schema has no action {0:?}")]
    Action(&'static str),
}

/// The names of entity types, read once.
#[derive(Debug)]
pub(super) struct Types {
    user: EntityTypeName,
    coordinator: EntityTypeName,
    executor: EntityTypeName,
    scope: EntityTypeName,
    workspace: EntityTypeName,
    context: EntityTypeName,
    chat: EntityTypeName,
    skill: EntityTypeName,
    tool: EntityTypeName,
    secret: EntityTypeName,
    domain: EntityTypeName,
    mailbox: EntityTypeName,
    model: EntityTypeName,
}

impl Types {
    pub(super) fn new() -> Result<Self, Box<cedar_policy::ParseErrors>> {
        let named = |name: &str| name.parse::<EntityTypeName>().map_err(Box::new);
        Ok(Self {
            user: named("User")?,
            coordinator: named("Coordinator")?,
            executor: named("Executor")?,
            scope: named("Scope")?,
            workspace: named("Workspace")?,
            context: named("Context")?,
            chat: named("Chat")?,
            skill: named("Skill")?,
            tool: named("Tool")?,
            secret: named("Secret")?,
            domain: named("Domain")?,
            mailbox: named("Mailbox")?,
            model: named("Model")?,
        })
    }

    const fn of_named(&self, kind: NamedKind) -> &EntityTypeName {
        match kind {
            NamedKind::Skill => &self.skill,
            NamedKind::Tool => &self.tool,
            NamedKind::Secret => &self.secret,
            NamedKind::Domain => &self.domain,
            NamedKind::Mailbox => &self.mailbox,
        }
    }
}

/// A question as Cedar takes it.
pub(super) struct Question {
    pub(super) request: cedar_policy::Request,
    pub(super) entities: Entities,
}

/// Translates; with a schema, also checks that the translation is right, which is for tests and for
/// what people type, not for every decision.
pub(super) fn translate(
    types: &Types,
    action: &Entity,
    request: &Request,
    checked: Option<&Schema>,
) -> Result<Question, TranslateError> {
    let mut graph = Graph { types, entities: Vec::with_capacity(4) };
    let principal = match &request.principal {
        Principal::User(person) => graph.user(person, &request.resource.scopes())?,
        Principal::Cell(cell) => graph.cell(cell)?,
    };
    let resource = graph.resource(&request.resource)?;
    let facts = Context::from_pairs(facts(request.facts)).map_err(Box::new)?;
    let uid = action.uid();
    let cedar =
        cedar_policy::Request::new(principal, uid, resource, facts, checked).map_err(Box::new)?;
    let entities = graph.entities.into_iter().chain([action.clone()]);
    let entities = Entities::from_entities(entities, checked).map_err(Box::new)?;
    Ok(Question { request: cedar, entities })
}

fn facts(facts: Facts) -> Vec<(String, RestrictedExpression)> {
    let text = |name: &str, value: &str| {
        (name.to_owned(), RestrictedExpression::new_string(value.to_owned()))
    };
    let flag = |name: &str, value| (name.to_owned(), RestrictedExpression::new_bool(value));
    match facts {
        Facts::None => Vec::new(),
        Facts::Role { role, to_self } => {
            vec![text("role", role.as_str()), flag("to_self", to_self)]
        }
        Facts::Answer { class, own } => vec![text("class", class.as_str()), flag("own", own)],
        Facts::Cell { known, in_context, in_manifest, risk, confined } => {
            let Known { stopped, plan_pending, untrusted } = known;
            vec![
                flag("stopped", stopped),
                flag("plan_pending", plan_pending),
                flag("untrusted", untrusted),
                flag("in_context", in_context),
                flag("in_manifest", in_manifest),
                text("risk", risk.as_str()),
                flag("confined", confined),
            ]
        }
    }
}

type Attributes = HashMap<String, RestrictedExpression>;

/// The few entities that one request is about. What they are inside of is named and not described:
/// translating is most of what a decision costs.
struct Graph<'a> {
    types: &'a Types,
    entities: Vec<Entity>,
}

impl Graph<'_> {
    fn add(
        &mut self,
        uid: EntityUid,
        attributes: Attributes,
        inside_of: impl IntoIterator<Item = EntityUid>,
    ) -> Result<EntityUid, TranslateError> {
        let inside_of: HashSet<_> = inside_of.into_iter().collect();
        let entity = Entity::new(uid.clone(), attributes, inside_of).map_err(Box::new)?;
        self.entities.push(entity);
        Ok(uid)
    }

    /// A person, with the roles that they hold in these scopes.
    fn user(&mut self, person: &Person, scopes: &[Scope]) -> Result<EntityUid, TranslateError> {
        let here = || person.roles.iter().filter(|held| scopes.contains(&held.scope));
        let attributes = Role::ALL.map(|role| {
            let holds = here().any(|held| held.role.includes(role));
            (role.as_str().to_owned(), RestrictedExpression::new_bool(holds))
        });
        self.add(self.types.user(person.user), attributes.into_iter().collect(), [])
    }

    fn cell(&mut self, cell: &Cell) -> Result<EntityUid, TranslateError> {
        let Cell { part, person, place, chat, lists: _ } = cell;
        let types = self.types;
        let uid = match part {
            Part::Coordinator => uid(&types.coordinator, place.workspace),
            Part::Executor { task, manifest: _ } => uid(&types.executor, task),
        };
        let attributes = [
            Some(("user", self.user(person, &place.scopes())?)),
            Some(("chat", types.chat(place, *chat))),
            Some(("workspace", types.workspace(place))),
            place.context.as_ref().map(|name| ("context", types.context(place, name))),
            place.owner().map(|owner| ("owner", types.user(owner))),
        ];
        let attributes = attributes.into_iter().flatten();
        let attributes = attributes
            .map(|(name, uid)| (name.to_owned(), RestrictedExpression::new_entity_uid(uid)));
        self.add(uid, attributes.collect(), [])
    }

    fn resource(&mut self, resource: &Resource) -> Result<EntityUid, TranslateError> {
        let types = self.types;
        match resource {
            Resource::Scope(scope) => self.add(uid(&types.scope, scope), Attributes::new(), []),
            Resource::Workspace(place) => self.add(types.workspace(place), self.owned(place), []),
            Resource::Context(place, name) => {
                let inside_of = [types.workspace(place)];
                self.add(types.context(place, name), self.owned(place), inside_of)
            }
            Resource::Chat(place, chat) => {
                let context = place.context.as_ref().map(|name| types.context(place, name));
                let inside_of = [Some(types.workspace(place)), context].into_iter().flatten();
                self.add(types.chat(place, *chat), self.owned(place), inside_of)
            }
            Resource::Named(kind, place, name) => {
                let uid = uid(types.of_named(*kind), format_args!("{}/{name}", place.workspace));
                self.add(uid, self.owned(place), [types.workspace(place)])
            }
            Resource::Model(name) => self.add(uid(&types.model, name), Attributes::new(), []),
        }
    }

    fn owned(&self, place: &Place) -> Attributes {
        let owner = place.owner().map(|user| {
            ("owner".to_owned(), RestrictedExpression::new_entity_uid(self.types.user(user)))
        });
        owner.into_iter().collect()
    }
}

fn uid(kind: &EntityTypeName, id: impl fmt::Display) -> EntityUid {
    EntityUid::from_type_name_and_id(kind.clone(), EntityId::new(id.to_string()))
}

/// The names of entities.
impl Types {
    fn user(&self, user: UserId) -> EntityUid {
        uid(&self.user, user)
    }

    fn workspace(&self, place: &Place) -> EntityUid {
        uid(&self.workspace, place.workspace)
    }

    fn context(&self, place: &Place, name: &str) -> EntityUid {
        uid(&self.context, format_args!("{}/{name}", place.workspace))
    }

    fn chat(&self, place: &Place, chat: ChatId) -> EntityUid {
        uid(&self.chat, format_args!("{}/{chat}", place.workspace))
    }
}
