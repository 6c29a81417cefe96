//! Who acts. Every write says so first, and the audit takes its actor from there.

use std::fmt;

use cloister_protocol::{TaskId, UserId, WorkspaceId};

/// As whom whoever runs the machine acts.
const FIRST_USER: u32 = 1;

/// Who does something. Made where they are recognised and handed down from there: there is no way from a text to
/// an actor but to say what kind it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// Whoever runs the machine, on its own socket.
    Operator,
    /// Somebody, by the name or the account that they are known by here, and with the role that they act in,
    /// where that is known. With their number they are recognised: whom it concerns is told of what they do.
    Person { name: String, role: Option<&'static str>, user: Option<UserId> },
    /// What runs in a workspace, at a task or in its chat.
    Cell { workspace: WorkspaceId, task: Option<TaskId> },
    /// A connector by itself; what it does for somebody is theirs.
    Connector { name: String },
    /// A part of the control plane, by itself.
    System { part: &'static str },
}

impl Actor {
    /// What keeps the platform in order.
    pub const PLATFORM: Self = Self::System { part: "platform" };
    /// What takes up messages and hands them on.
    pub const CONTROL: Self = Self::System { part: "control" };

    pub fn person(name: impl ToString) -> Self {
        Self::Person { name: name.to_string(), role: None, user: None }
    }

    /// Somebody whom we recognised.
    pub fn recognised(user: UserId, name: impl ToString, role: Option<&'static str>) -> Self {
        Self::Person { name: name.to_string(), role, user: Some(user) }
    }

    /// Who of the people here it is, if that is known. Whoever runs the machine acts as the first user.
    pub(crate) fn user(&self) -> Option<UserId> {
        match self {
            Self::Operator => Some(UserId::from_number(FIRST_USER)),
            Self::Person { user, .. } => *user,
            Self::Cell { .. } | Self::Connector { .. } | Self::System { .. } => None,
        }
    }

    /// Somebody of whom no more is known here than that they may.
    pub fn somebody() -> Self {
        Self::person("a person")
    }

    pub fn cell(workspace: WorkspaceId) -> Self {
        Self::Cell { workspace, task: None }
    }

    pub fn connector(name: impl ToString) -> Self {
        Self::Connector { name: name.to_string() }
    }

    /// The name of a person.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Person { name, .. } => Some(name),
            Self::Operator | Self::Cell { .. } | Self::Connector { .. } | Self::System { .. } => {
                None
            }
        }
    }

    /// How people are told of them.
    pub fn shown(&self) -> String {
        match self {
            Self::Operator => "the operator".to_owned(),
            Self::Cell { task: None, .. } => "the coordinator".to_owned(),
            Self::Cell { task: Some(task), .. } => format!("task {task}"),
            Self::Person { .. } | Self::Connector { .. } | Self::System { .. } => self.to_string(),
        }
    }
}

/// How audit entries call them.
impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operator => f.write_str("operator"),
            Self::Person { name, .. } | Self::Connector { name } => f.write_str(name),
            Self::Cell { workspace, task: None } => write!(f, "cell {workspace}"),
            Self::Cell { workspace, task: Some(task) } => write!(f, "cell {workspace} {task}"),
            Self::System { part } => f.write_str(part),
        }
    }
}
