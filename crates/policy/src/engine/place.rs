//! People, their roles, and the places that roles hold in.

use std::fmt;
use std::str::FromStr;

use cloister_protocol::{ChatId, UserId, WorkspaceId};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Viewer,
    Member,
    Operator,
    Admin,
    Overlord,
}

impl Role {
    pub const ALL: [Self; 5] =
        [Self::Viewer, Self::Member, Self::Operator, Self::Admin, Self::Overlord];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Member => "member",
            Self::Operator => "operator",
            Self::Admin => "admin",
            Self::Overlord => "overlord",
        }
    }

    /// Whether who holds this role in a scope also acts as `other` there.
    pub const fn includes(self, other: Self) -> bool {
        match self {
            Self::Viewer => matches!(other, Self::Viewer),
            Self::Member => matches!(other, Self::Viewer | Self::Member),
            // Runs things; what people write is none of an operator's business.
            Self::Operator => matches!(other, Self::Operator),
            Self::Admin => !matches!(other, Self::Overlord),
            Self::Overlord => true,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Text that names no role, or no scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is not a {kind}: expected {expected}")]
pub struct ParseRoleError {
    pub kind: &'static str,
    pub value: String,
    pub expected: &'static str,
}

impl ParseRoleError {
    pub(super) fn new(kind: &'static str, value: &str, expected: &'static str) -> Self {
        Self { kind, value: value.chars().take(80).collect(), expected }
    }
}

impl FromStr for Role {
    type Err = ParseRoleError;

    fn from_str(text: &str) -> Result<Self, ParseRoleError> {
        let role = Self::ALL.into_iter().find(|role| role.as_str() == text);
        let expected = "overlord, admin, operator, member or viewer";
        role.ok_or_else(|| ParseRoleError::new("role", text, expected))
    }
}

/// Where a role holds: there and in everything inside.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    Platform,
    Workspace(WorkspaceId),
    /// A context of a workspace, by its name there.
    Context(WorkspaceId, String),
    Skill(WorkspaceId, String),
    Tool(WorkspaceId, String),
    Model(String),
    Mailbox(WorkspaceId, String),
}

impl Scope {
    /// The workspace that it is, or is in.
    pub const fn workspace(&self) -> Option<WorkspaceId> {
        match self {
            Self::Platform | Self::Model(_) => None,
            Self::Workspace(workspace)
            | Self::Context(workspace, _)
            | Self::Skill(workspace, _)
            | Self::Tool(workspace, _)
            | Self::Mailbox(workspace, _) => Some(*workspace),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Platform => f.write_str("platform"),
            Self::Workspace(workspace) => write!(f, "workspace:{workspace}"),
            Self::Context(workspace, name) => write!(f, "context:{workspace}/{name}"),
            Self::Skill(workspace, name) => write!(f, "skill:{workspace}/{name}"),
            Self::Tool(workspace, name) => write!(f, "tool:{workspace}/{name}"),
            Self::Model(name) => write!(f, "model:{name}"),
            Self::Mailbox(workspace, name) => write!(f, "mailbox:{workspace}/{name}"),
        }
    }
}

impl FromStr for Scope {
    type Err = ParseRoleError;

    fn from_str(text: &str) -> Result<Self, ParseRoleError> {
        let error = || {
            let expected = "platform, workspace:w1, context:w1/NAME, skill:w1/NAME, tool:w1/NAME, \
                            mailbox:w1/NAME or model:NAME";
            ParseRoleError::new("scope", text, expected)
        };
        if text == "platform" {
            return Ok(Self::Platform);
        }
        let (kind, rest) = text.split_once(':').ok_or_else(error)?;
        let workspace = |id: &str| id.parse::<WorkspaceId>().or(Err(error()));
        match kind {
            "workspace" => return workspace(rest).map(Self::Workspace),
            "model" if !rest.is_empty() => return Ok(Self::Model(rest.to_owned())),
            _ => {}
        }
        let (id, name) = rest.split_once('/').ok_or_else(error)?;
        if name.is_empty() {
            return Err(error());
        }
        let (id, name) = (workspace(id)?, name.to_owned());
        match kind {
            "context" => Ok(Self::Context(id, name)),
            "skill" => Ok(Self::Skill(id, name)),
            "tool" => Ok(Self::Tool(id, name)),
            "mailbox" => Ok(Self::Mailbox(id, name)),
            _ => Err(error()),
        }
    }
}

/// A role that someone holds, and where.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Assignment {
    pub role: Role,
    pub scope: Scope,
}

/// `admin@workspace:w1`
impl FromStr for Assignment {
    type Err = ParseRoleError;

    fn from_str(text: &str) -> Result<Self, ParseRoleError> {
        let error = || ParseRoleError::new("role in a scope", text, "ROLE@SCOPE");
        let (role, scope) = text.split_once('@').ok_or_else(error)?;
        Ok(Self { role: role.parse()?, scope: scope.parse()? })
    }
}

impl fmt::Display for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.role, self.scope)
    }
}

/// Someone we know, with every role they hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Person {
    pub user: UserId,
    pub roles: Vec<Assignment>,
}

/// Whose a workspace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ownership {
    Private { owner: UserId },
    Community,
}

impl Ownership {
    pub const fn owner(self) -> Option<UserId> {
        match self {
            Self::Private { owner } => Some(owner),
            Self::Community => None,
        }
    }
}

/// Where something is: in a workspace, and more closely in a context or a chat of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    pub workspace: WorkspaceId,
    pub ownership: Ownership,
    pub context: Option<String>,
    pub chat: Option<ChatId>,
}

impl Place {
    /// The workspace as a whole.
    pub const fn workspace(workspace: WorkspaceId, ownership: Ownership) -> Self {
        Self { workspace, ownership, context: None, chat: None }
    }

    /// The scopes that it is in.
    pub(super) fn scopes(&self) -> Vec<Scope> {
        let mut scopes = vec![Scope::Platform, Scope::Workspace(self.workspace)];
        let context = self.context.clone();
        scopes.extend(context.map(|name| Scope::Context(self.workspace, name)));
        scopes
    }

    pub const fn owner(&self) -> Option<UserId> {
        self.ownership.owner()
    }
}
