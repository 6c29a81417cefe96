//! Who attacks.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, clap::ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Attacker {
    /// Whoever wrote what the model reads: it obeys
    Model,
    /// The agent program, in every kind of sandbox
    Agent,
    /// A member of a community, at the agent socket and through the agent
    Member,
    /// An admin of the platform, who may not read what is private
    Admin,
    /// An operator of the platform
    Operator,
}

impl Attacker {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Agent => "agent",
            Self::Member => "member",
            Self::Admin => "admin",
            Self::Operator => "operator",
        }
    }
}
