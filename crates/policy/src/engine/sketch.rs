//! A request reduced to what policies can see of it: the few entities it is about, what they are and
//! what they are inside of.
//!
//! Policies can tell two entities apart only by their attributes, by where they are, and by names that
//! they spell out: Cedar has no way to look into an id. So of an id that no policy spells out it only
//! matters where else in the request it stands, and requests that differ in nothing else have the same
//! verdict. That is the [`Key`] a verdict is remembered by.

use std::collections::HashSet;
use std::fmt;

use cloister_protocol::{ChatId, UserId};

use super::place::{Person, Place, Role, Scope};
use super::request::{Cell, Facts, Known, NamedKind, Part, Principal, Request, Resource};

/// The kinds of entities, in the order of [`EntityKind::NAMES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum EntityKind {
    User,
    Coordinator,
    Executor,
    Scope,
    Workspace,
    Context,
    Chat,
    Skill,
    Tool,
    Secret,
    Domain,
    Mailbox,
    Model,
}

impl EntityKind {
    /// As the schema calls them.
    pub(super) const NAMES: [(Self, &'static str); 13] = [
        (Self::User, "User"),
        (Self::Coordinator, "Coordinator"),
        (Self::Executor, "Executor"),
        (Self::Scope, "Scope"),
        (Self::Workspace, "Workspace"),
        (Self::Context, "Context"),
        (Self::Chat, "Chat"),
        (Self::Skill, "Skill"),
        (Self::Tool, "Tool"),
        (Self::Secret, "Secret"),
        (Self::Domain, "Domain"),
        (Self::Mailbox, "Mailbox"),
        (Self::Model, "Model"),
    ];

    const fn of_named(kind: NamedKind) -> Self {
        match kind {
            NamedKind::Skill => Self::Skill,
            NamedKind::Tool => Self::Tool,
            NamedKind::Secret => Self::Secret,
            NamedKind::Domain => Self::Domain,
            NamedKind::Mailbox => Self::Mailbox,
        }
    }
}

/// One entity, by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Uid {
    pub(super) kind: EntityKind,
    pub(super) id: String,
}

fn uid(kind: EntityKind, id: impl fmt::Display) -> Uid {
    Uid { kind, id: id.to_string() }
}

#[derive(Clone, Debug)]
pub(super) enum Attribute {
    Flag(bool),
    Entity(Uid),
}

/// What is said of one entity.
#[derive(Clone, Debug)]
pub(super) struct Described {
    pub(super) uid: Uid,
    pub(super) attributes: Vec<(&'static str, Attribute)>,
    pub(super) inside_of: Vec<Uid>,
}

#[derive(Clone, Debug)]
pub(super) enum Fact {
    Flag(bool),
    Word(&'static str),
}

/// All that policies see of a request, but for its action. What the entities are inside of is named
/// and not described.
#[derive(Clone, Debug)]
pub(super) struct Sketch {
    pub(super) principal: Uid,
    pub(super) resource: Uid,
    pub(super) entities: Vec<Described>,
    pub(super) facts: Vec<(&'static str, Fact)>,
}

impl Sketch {
    pub(super) fn of(request: &Request) -> Self {
        let mut entities = Vec::with_capacity(3);
        let principal = match &request.principal {
            Principal::User(person) => user(person, &request.resource.scopes(), &mut entities),
            Principal::Cell(cell) => part(cell, &mut entities),
        };
        let described = resource(&request.resource);
        let resource = described.uid.clone();
        entities.push(described);
        Self { principal, resource, entities, facts: facts(request.facts) }
    }
}

fn facts(facts: Facts) -> Vec<(&'static str, Fact)> {
    use Fact::{Flag, Word};
    match facts {
        Facts::None => Vec::new(),
        Facts::Role { role, to_self } => {
            vec![("role", Word(role.as_str())), ("to_self", Flag(to_self))]
        }
        Facts::Answer { class, own } => vec![("class", Word(class.as_str())), ("own", Flag(own))],
        Facts::Cell { known, in_context, in_manifest, risk, bounds } => {
            let Known { stopped, plan_pending, untrusted } = known;
            vec![
                ("stopped", Flag(stopped)),
                ("plan_pending", Flag(plan_pending)),
                ("untrusted", Flag(untrusted)),
                ("in_context", Flag(in_context)),
                ("in_manifest", Flag(in_manifest)),
                ("risk", Word(risk.as_str())),
                ("confined", Flag(bounds.confined())),
                ("layered", Flag(bounds.layered())),
            ]
        }
    }
}

/// A person, with the roles that they hold in these scopes.
fn user(person: &Person, scopes: &[Scope], entities: &mut Vec<Described>) -> Uid {
    let here = || person.roles.iter().filter(|held| scopes.contains(&held.scope));
    let roles = Role::ALL
        .map(|role| (role.as_str(), Attribute::Flag(here().any(|held| held.role.includes(role)))));
    let uid = user_uid(person.user);
    entities.push(Described { uid: uid.clone(), attributes: roles.into(), inside_of: Vec::new() });
    uid
}

fn part(cell: &Cell, entities: &mut Vec<Described>) -> Uid {
    let Cell { part, person, place, chat, lists: _ } = cell;
    let own = match part {
        Part::Coordinator => uid(EntityKind::Coordinator, place.workspace),
        Part::Executor { task, manifest: _ } => uid(EntityKind::Executor, task),
    };
    let attributes = [
        Some(("user", user(person, &place.scopes(), entities))),
        Some(("chat", chat_uid(place, *chat))),
        Some(("workspace", workspace_uid(place))),
        place.context.as_ref().map(|name| ("context", context_uid(place, name))),
        place.owner().map(|owner| ("owner", user_uid(owner))),
    ];
    let attributes = attributes.into_iter().flatten();
    let attributes = attributes.map(|(name, uid)| (name, Attribute::Entity(uid))).collect();
    entities.push(Described { uid: own.clone(), attributes, inside_of: Vec::new() });
    own
}

fn resource(resource: &Resource) -> Described {
    let plain = |uid| Described { uid, attributes: Vec::new(), inside_of: Vec::new() };
    let owned_by = |owner: Option<UserId>, uid, inside_of| {
        let owner = owner.map(|user| ("owner", Attribute::Entity(user_uid(user))));
        Described { uid, attributes: owner.into_iter().collect(), inside_of }
    };
    let owned = |place: &Place, uid, inside_of| owned_by(place.owner(), uid, inside_of);
    match resource {
        Resource::Scope(scope, owner) => {
            owned_by(*owner, uid(EntityKind::Scope, scope), Vec::new())
        }
        Resource::Workspace(place) => owned(place, workspace_uid(place), Vec::new()),
        Resource::Context(place, name) => {
            owned(place, context_uid(place, name), vec![workspace_uid(place)])
        }
        Resource::Chat(place, chat) => {
            let context = place.context.as_ref().map(|name| context_uid(place, name));
            let inside_of = [Some(workspace_uid(place)), context];
            owned(place, chat_uid(place, *chat), inside_of.into_iter().flatten().collect())
        }
        Resource::Named(kind, place, name) => {
            let uid = uid(EntityKind::of_named(*kind), format_args!("{}/{name}", place.workspace));
            owned(place, uid, vec![workspace_uid(place)])
        }
        Resource::Model(name) => plain(uid(EntityKind::Model, name)),
    }
}

fn user_uid(user: UserId) -> Uid {
    uid(EntityKind::User, user)
}

fn workspace_uid(place: &Place) -> Uid {
    uid(EntityKind::Workspace, place.workspace)
}

fn context_uid(place: &Place, name: &str) -> Uid {
    uid(EntityKind::Context, format_args!("{}/{name}", place.workspace))
}

fn chat_uid(place: &Place, chat: ChatId) -> Uid {
    uid(EntityKind::Chat, format_args!("{}/{chat}", place.workspace))
}

/// What a verdict is remembered by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    action: &'static str,
    shape: Vec<u8>,
}

impl Key {
    /// `spelled_out`: the entities that policies name.
    pub(super) fn of(action: &'static str, sketch: &Sketch, spelled_out: &HashSet<Uid>) -> Self {
        let mut writer =
            KeyWriter { spelled_out, seen: Vec::new(), shape: Vec::with_capacity(256) };
        writer.entity(&sketch.principal);
        writer.entity(&sketch.resource);
        for Described { uid, attributes, inside_of } in &sketch.entities {
            writer.entity(uid);
            writer.count(attributes.len());
            for (name, attribute) in attributes {
                writer.text(name);
                match attribute {
                    Attribute::Flag(flag) => writer.shape.push(u8::from(*flag)),
                    Attribute::Entity(uid) => writer.entity(uid),
                }
            }
            writer.count(inside_of.len());
            inside_of.iter().for_each(|uid| writer.entity(uid));
        }
        for (name, fact) in &sketch.facts {
            writer.text(name);
            match fact {
                Fact::Flag(flag) => writer.shape.push(u8::from(*flag)),
                Fact::Word(word) => writer.text(word),
            }
        }
        Self { action, shape: writer.shape }
    }
}

/// Writes names that are spelled out as they are, and all others as the number of their first place.
struct KeyWriter<'a> {
    spelled_out: &'a HashSet<Uid>,
    seen: Vec<&'a Uid>,
    shape: Vec<u8>,
}

impl<'a> KeyWriter<'a> {
    fn entity(&mut self, uid: &'a Uid) {
        if self.spelled_out.contains(uid) {
            self.shape.extend([b'=', uid.kind as u8]);
            self.text(&uid.id);
            return;
        }
        let number = self.seen.iter().position(|seen| *seen == uid).unwrap_or_else(|| {
            self.seen.push(uid);
            self.seen.len() - 1
        });
        self.shape.extend([b'#', uid.kind as u8]);
        self.count(number);
    }

    fn count(&mut self, count: usize) {
        self.shape.extend_from_slice(&count.to_le_bytes());
    }

    /// With its length before it: no two lists of texts are written alike.
    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.shape.extend_from_slice(text.as_bytes());
    }
}
