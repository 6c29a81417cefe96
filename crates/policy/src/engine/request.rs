//! Requests: who asks for what, about what, and what the control plane knows of it.
//!
//! Built only by these functions, so that nothing a policy reads can be forgotten or taken from the
//! cell's own words.

use std::fmt;

use cloister_protocol::{ChatId, TaskId, UserId};

use super::action::{
    CellCall, ChatCall, ContextCall, DomainCall, MailboxCall, ModelCall, PlatformCall, Proposal,
    SecretCall, SkillCall, ToolCall, WorkspaceCall,
};
use super::manifest::{ContextLists, Manifest};
use super::place::{Person, Place, Role, Scope};
use crate::class::{Class, Rated};
use crate::egress;

/// Which part of a cell asks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    Coordinator,
    Executor { task: TaskId, manifest: Manifest },
}

/// A part of a cell, the person it works for, and where.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cell {
    pub part: Part,
    pub person: Person,
    /// The place of the chat it works in.
    pub place: Place,
    pub chat: ChatId,
    pub lists: ContextLists,
}

/// What holds at the moment a cell asks, by the control plane's own records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Known {
    /// Everything is stopped until released.
    pub stopped: bool,
    /// A plan must be approved first, and has not been.
    pub plan_pending: bool,
    /// `provenance` says that this needs a person because of where content came from.
    pub untrusted: bool,
}

/// Whether a request to a host outside asks, or may change something there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FetchKind {
    Reading,
    Writing,
}

/// What keeps a tool's call from doing what can't be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Bounds {
    Nothing,
    /// It runs in the sandbox, whose only way out is the broker.
    Sandbox,
    /// And what it does to files is on a layer of its task, whose landing can be taken back.
    Layer,
}

impl Bounds {
    pub const fn confined(self) -> bool {
        matches!(self, Self::Sandbox | Self::Layer)
    }

    pub const fn layered(self) -> bool {
        matches!(self, Self::Layer)
    }
}

/// What a cell asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellAsk {
    /// About a chat: its own, or that of the task it names.
    Chat(CellCall),
    CallModel {
        model: String,
    },
    Fetch {
        host: egress::Host,
        kind: FetchKind,
        rules: egress::Decision,
    },
    CallTool {
        tool: String,
        changes: bool,
        risk: Rated,
        bounds: Bounds,
    },
    UseSkill {
        skill: String,
    },
    UseSecret {
        secret: String,
    },
    ReadMail {
        mailbox: String,
    },
    SendMail {
        mailbox: String,
    },
    Propose(Proposal),
}

impl CellAsk {
    pub const fn bounds(&self) -> Bounds {
        match self {
            Self::CallTool { bounds, .. } => *bounds,
            Self::Chat(_)
            | Self::CallModel { .. }
            | Self::Fetch { .. }
            | Self::UseSkill { .. }
            | Self::UseSecret { .. }
            | Self::ReadMail { .. }
            | Self::SendMail { .. }
            | Self::Propose(_) => Bounds::Nothing,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Principal {
    User(Person),
    Cell(Box<Cell>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum NamedKind {
    Skill,
    Tool,
    Secret,
    Domain,
    Mailbox,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Resource {
    /// And whose private workspace it is in.
    Scope(Scope, Option<UserId>),
    Workspace(Place),
    Context(Place, String),
    Chat(Place, ChatId),
    Named(NamedKind, Place, String),
    Model(String),
}

impl Resource {
    /// The scopes that it is in, and the one that it is.
    pub(super) fn scopes(&self) -> Vec<Scope> {
        let workspace = |place: &Place| vec![Scope::Platform, Scope::Workspace(place.workspace)];
        match self {
            Self::Scope(scope, _) => {
                let mut scopes = vec![Scope::Platform];
                scopes.extend(scope.workspace().map(Scope::Workspace));
                if !scopes.contains(scope) {
                    scopes.push(scope.clone());
                }
                scopes
            }
            Self::Workspace(place) => workspace(place),
            Self::Context(place, name) => {
                let mut scopes = workspace(place);
                scopes.push(Scope::Context(place.workspace, name.clone()));
                scopes
            }
            Self::Chat(place, _) => place.scopes(),
            Self::Named(kind, place, name) => {
                let mut scopes = workspace(place);
                let (id, name) = (place.workspace, name.clone());
                match kind {
                    NamedKind::Skill => scopes.push(Scope::Skill(id, name)),
                    NamedKind::Tool => scopes.push(Scope::Tool(id, name)),
                    NamedKind::Mailbox => scopes.push(Scope::Mailbox(id, name)),
                    NamedKind::Secret | NamedKind::Domain => {}
                }
                scopes
            }
            Self::Model(name) => vec![Scope::Platform, Scope::Model(name.clone())],
        }
    }
}

/// What a policy may read about the request itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Facts {
    None,
    Role { role: Role, to_self: bool },
    Answer { class: Class, own: bool },
    Cell { known: Known, in_context: bool, in_manifest: bool, risk: Rated, bounds: Bounds },
}

/// What is known of a role that is to be given or taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Assigned {
    /// Whose private workspace the scope is, or is in.
    pub owner: Option<UserId>,
    /// The person would change their own.
    pub to_self: bool,
}

/// The actions that carry more than their name.
pub(super) const OTHER_ACTIONS: &[&str] = &[
    "answer_approval",
    "assign_role",
    "call_model",
    "call_tool",
    "change_by_tool",
    "fetch_reading",
    "fetch_writing",
    "read_mail",
    "send_mail",
    "use_secret",
    "use_skill",
];

/// One question to the engine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    pub(super) principal: Principal,
    pub(super) action: &'static str,
    pub(super) resource: Resource,
    pub(super) facts: Facts,
}

/// Calls of people.
impl Request {
    fn call(person: &Person, action: &'static str, resource: Resource) -> Self {
        let principal = Principal::User(person.clone());
        Self { principal, action, resource, facts: Facts::None }
    }

    pub fn platform(person: &Person, call: PlatformCall) -> Self {
        Self::call(person, call.as_str(), Resource::Scope(Scope::Platform, None))
    }

    pub fn model(person: &Person, call: ModelCall, model: &str) -> Self {
        Self::call(person, call.as_str(), Resource::Model(model.to_owned()))
    }

    pub fn workspace(person: &Person, call: WorkspaceCall, place: &Place) -> Self {
        Self::call(person, call.as_str(), Resource::Workspace(place.clone()))
    }

    pub fn context(person: &Person, call: ContextCall, place: &Place, context: &str) -> Self {
        Self::call(person, call.as_str(), Resource::Context(place.clone(), context.to_owned()))
    }

    pub fn chat(person: &Person, call: ChatCall, place: &Place, chat: ChatId) -> Self {
        Self::call(person, call.as_str(), Resource::Chat(place.clone(), chat))
    }

    pub fn secret(person: &Person, call: SecretCall, place: &Place, secret: &str) -> Self {
        Self::call(person, call.as_str(), named(NamedKind::Secret, place, secret))
    }

    pub fn domain(person: &Person, call: DomainCall, place: &Place, host: &egress::Host) -> Self {
        Self::call(person, call.as_str(), named(NamedKind::Domain, place, host.as_str()))
    }

    pub fn skill(person: &Person, call: SkillCall, place: &Place, skill: &str) -> Self {
        Self::call(person, call.as_str(), named(NamedKind::Skill, place, skill))
    }

    pub fn tool(person: &Person, call: ToolCall, place: &Place, tool: &str) -> Self {
        Self::call(person, call.as_str(), named(NamedKind::Tool, place, tool))
    }

    pub fn mailbox(person: &Person, call: MailboxCall, place: &Place, mailbox: &str) -> Self {
        Self::call(person, call.as_str(), named(NamedKind::Mailbox, place, mailbox))
    }

    /// Give (or take) a role in a scope.
    pub fn assign_role(person: &Person, role: Role, scope: &Scope, assigned: Assigned) -> Self {
        let Assigned { owner, to_self } = assigned;
        let call = Self::call(person, "assign_role", Resource::Scope(scope.clone(), owner));
        Self { facts: Facts::Role { role, to_self }, ..call }
    }

    /// Answer what a task of this chat asks. `own`: the task works for this person.
    pub fn answer(person: &Person, place: &Place, chat: ChatId, class: Class, own: bool) -> Self {
        let call = Self::call(person, "answer_approval", Resource::Chat(place.clone(), chat));
        Self { facts: Facts::Answer { class, own }, ..call }
    }
}

fn named(kind: NamedKind, place: &Place, name: &str) -> Resource {
    Resource::Named(kind, place.clone(), name.to_owned())
}

/// Requests of cells.
impl Request {
    /// `at` is where the thing asked for is, by the control plane's records: for most requests the
    /// cell's own place.
    pub fn cell(cell: &Cell, ask: &CellAsk, at: &Place, known: Known) -> Self {
        let Lookup { action, resource, in_context, in_manifest, risk, bounds } =
            lookup(cell, ask, at);
        Self {
            principal: Principal::Cell(Box::new(cell.clone())),
            action,
            resource,
            facts: Facts::Cell { known, in_context, in_manifest, risk, bounds },
        }
    }
}

struct Lookup {
    action: &'static str,
    resource: Resource,
    in_context: bool,
    in_manifest: bool,
    risk: Rated,
    bounds: Bounds,
}

impl Lookup {
    const fn listed(action: &'static str, resource: Resource) -> Self {
        let risk = Rated::Safe;
        let bounds = Bounds::Nothing;
        Self { action, resource, in_context: true, in_manifest: true, risk, bounds }
    }
}

fn lookup(cell: &Cell, ask: &CellAsk, at: &Place) -> Lookup {
    let lists = &cell.lists;
    // A coordinator has no manifest: its context's lists are all that limits it.
    let manifest = |has: &dyn Fn(&Manifest) -> bool| match &cell.part {
        Part::Coordinator => true,
        Part::Executor { task: _, manifest } => has(manifest),
    };
    match ask {
        CellAsk::Chat(call) => {
            let chat = at.chat.unwrap_or(cell.chat);
            Lookup::listed(call.as_str(), Resource::Chat(at.clone(), chat))
        }
        CellAsk::CallModel { model } => Lookup {
            in_context: lists.models.has(model),
            in_manifest: manifest(&|m| m.models.has(model)),
            ..Lookup::listed("call_model", Resource::Model(model.clone()))
        },
        CellAsk::Fetch { host, kind, rules } => {
            let action = match kind {
                FetchKind::Reading => "fetch_reading",
                FetchKind::Writing => "fetch_writing",
            };
            let resource = named(NamedKind::Domain, at, host.as_str());
            let in_manifest = matches!(rules, egress::Decision::Allow);
            Lookup { in_manifest, ..Lookup::listed(action, resource) }
        }
        CellAsk::CallTool { tool, changes, risk, bounds } => Lookup {
            in_context: lists.tools.has(tool),
            in_manifest: manifest(&|m| m.tools.has(tool)),
            risk: *risk,
            bounds: *bounds,
            ..Lookup::listed(
                if *changes { "change_by_tool" } else { "call_tool" },
                named(NamedKind::Tool, at, tool),
            )
        },
        CellAsk::UseSkill { skill } => Lookup {
            in_context: lists.skills.has(skill),
            in_manifest: manifest(&|m| m.skills.has(skill)),
            ..Lookup::listed("use_skill", named(NamedKind::Skill, at, skill))
        },
        CellAsk::UseSecret { secret } => Lookup {
            in_manifest: manifest(&|m| m.secrets.has(secret)),
            ..Lookup::listed("use_secret", named(NamedKind::Secret, at, secret))
        },
        CellAsk::ReadMail { mailbox } => Lookup {
            in_manifest: manifest(&|m| m.mailboxes.has(mailbox)),
            ..Lookup::listed("read_mail", named(NamedKind::Mailbox, at, mailbox))
        },
        CellAsk::SendMail { mailbox } => Lookup {
            in_manifest: manifest(&|m| m.mailboxes.has(mailbox)),
            ..Lookup::listed("send_mail", named(NamedKind::Mailbox, at, mailbox))
        },
        CellAsk::Propose(proposal) => {
            Lookup::listed(proposal.as_str(), Resource::Workspace(at.clone()))
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.principal {
            Principal::User(person) => write!(f, "user {}", person.user)?,
            Principal::Cell(cell) => match &cell.part {
                Part::Coordinator => {
                    write!(
                        f,
                        "the coordinator of {} for {}",
                        cell.place.workspace, cell.person.user
                    )?;
                }
                Part::Executor { task, manifest: _ } => {
                    write!(f, "the executor of {task} for {}", cell.person.user)?;
                }
            },
        }
        write!(f, " asks for {} on {}", self.action, self.resource)
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scope(scope, _) => write!(f, "{scope}"),
            Self::Workspace(place) => write!(f, "workspace {}", place.workspace),
            Self::Context(place, name) => write!(f, "context {}/{name}", place.workspace),
            Self::Chat(place, chat) => write!(f, "chat {}/{chat}", place.workspace),
            Self::Named(kind, place, name) => {
                write!(f, "{} {name:?} of {}", kind.word(), place.workspace)
            }
            Self::Model(name) => write!(f, "model {name:?}"),
        }
    }
}

impl NamedKind {
    const fn word(self) -> &'static str {
        match self {
            Self::Skill => "skill",
            Self::Tool => "tool",
            Self::Secret => "secret",
            Self::Domain => "domain",
            Self::Mailbox => "mailbox",
        }
    }
}
