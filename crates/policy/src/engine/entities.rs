//! Requests in Cedar's terms.

use std::collections::{HashMap, HashSet};

use cedar_policy::{
    Context, Entities, Entity, EntityId, EntityTypeName, EntityUid, RestrictedExpression, Schema,
};

use super::sketch::{Attribute, Described, EntityKind, Fact, Sketch, Uid};

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
    #[error("the schema has no entities of the kind {0:?}")]
    Kind(EntityKind),
}

/// The names of entity types, read once.
#[derive(Debug)]
pub(super) struct Types(Vec<(EntityKind, EntityTypeName)>);

impl Types {
    pub(super) fn new() -> Result<Self, Box<cedar_policy::ParseErrors>> {
        let named = |(kind, name): (EntityKind, &str)| {
            Ok((kind, name.parse::<EntityTypeName>().map_err(Box::new)?))
        };
        EntityKind::NAMES.into_iter().map(named).collect::<Result<_, _>>().map(Self)
    }

    fn uid(&self, uid: &Uid) -> Result<EntityUid, TranslateError> {
        let found = self.0.iter().find(|(kind, _)| *kind == uid.kind);
        let (_, name) = found.ok_or(TranslateError::Kind(uid.kind))?;
        Ok(EntityUid::from_type_name_and_id(name.clone(), EntityId::new(&uid.id)))
    }

    /// One of our own kinds; none for an action.
    pub(super) fn known(&self, uid: &EntityUid) -> Option<Uid> {
        let (kind, _) = self.0.iter().find(|(_, name)| name == uid.type_name())?;
        Some(Uid { kind: *kind, id: uid.id().unescaped().to_owned() })
    }

    fn entity(&self, described: &Described) -> Result<Entity, TranslateError> {
        let Described { uid, attributes, inside_of } = described;
        let attributes = attributes.iter().map(|(name, attribute)| {
            let value = match attribute {
                Attribute::Flag(flag) => RestrictedExpression::new_bool(*flag),
                Attribute::Entity(uid) => RestrictedExpression::new_entity_uid(self.uid(uid)?),
            };
            Ok(((*name).to_owned(), value))
        });
        let attributes: HashMap<_, _> = attributes.collect::<Result<_, TranslateError>>()?;
        let inside_of = inside_of.iter().map(|uid| self.uid(uid));
        let inside_of: HashSet<_> = inside_of.collect::<Result<_, _>>()?;
        Ok(Entity::new(self.uid(uid)?, attributes, inside_of).map_err(Box::new)?)
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
    sketch: &Sketch,
    checked: Option<&Schema>,
) -> Result<Question, TranslateError> {
    let (principal, resource) = (types.uid(&sketch.principal)?, types.uid(&sketch.resource)?);
    let facts = sketch.facts.iter().map(|(name, fact)| {
        let value = match fact {
            Fact::Flag(flag) => RestrictedExpression::new_bool(*flag),
            Fact::Word(word) => RestrictedExpression::new_string((*word).to_owned()),
        };
        ((*name).to_owned(), value)
    });
    let facts = Context::from_pairs(facts).map_err(Box::new)?;
    let cedar = cedar_policy::Request::new(principal, action.uid(), resource, facts, checked)
        .map_err(Box::new)?;
    let entities = sketch.entities.iter().map(|described| types.entity(described));
    let mut entities = entities.collect::<Result<Vec<_>, _>>()?;
    entities.push(action.clone());
    let entities = Entities::from_entities(entities, checked).map_err(Box::new)?;
    Ok(Question { request: cedar, entities })
}
