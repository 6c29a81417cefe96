//! What a context and a manifest leave of what a cell could ask for.

use std::collections::BTreeSet;

/// A list of names that limits, or no limit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Names {
    All,
    Only(BTreeSet<String>),
}

impl Names {
    pub fn only<T: Into<String>>(names: impl IntoIterator<Item = T>) -> Self {
        Self::Only(names.into_iter().map(Into::into).collect())
    }

    pub const fn none() -> Self {
        Self::Only(BTreeSet::new())
    }

    pub fn has(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(name),
        }
    }

    /// What both lists have.
    pub fn and(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::All, names) | (names, Self::All) => names.clone(),
            (Self::Only(a), Self::Only(b)) => Self::Only(a.intersection(b).cloned().collect()),
        }
    }
}

/// What the context of a chat lets the agent use there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ContextLists {
    pub tools: Names,
    pub models: Names,
    pub skills: Names,
}

impl ContextLists {
    pub const UNLIMITED: Self = Self { tools: Names::All, models: Names::All, skills: Names::All };

    /// An inner context inherits: it only takes away from the outer one.
    pub fn inside(&self, outer: &Self) -> Self {
        Self {
            tools: self.tools.and(&outer.tools),
            models: self.models.and(&outer.models),
            skills: self.skills.and(&outer.skills),
        }
    }
}

/// What a skill, a tool or a task may touch. Its hosts are an `egress::Allowlist`, its paths the
/// sandbox's mounts: both are enforced where they are, and are not repeated here.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Manifest {
    pub tools: Names,
    pub models: Names,
    pub skills: Names,
    pub secrets: Names,
    pub mailboxes: Names,
}

impl Manifest {
    /// Every tool and model, and nothing that belongs to a person.
    pub const fn plain() -> Self {
        Self {
            tools: Names::All,
            models: Names::All,
            skills: Names::All,
            secrets: Names::none(),
            mailboxes: Names::none(),
        }
    }

    /// The manifest of a sub-task: never more than its parent's.
    pub fn inside(&self, parent: &Self) -> Self {
        Self {
            tools: self.tools.and(&parent.tools),
            models: self.models.and(&parent.models),
            skills: self.skills.and(&parent.skills),
            secrets: self.secrets.and(&parent.secrets),
            mailboxes: self.mailboxes.and(&parent.mailboxes),
        }
    }
}
