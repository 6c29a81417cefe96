//! What control answers when it can't do what was asked: a code, a sentence, and what to do.
//!
//! Each part has an error of its own (`GateError`, `TaskError` …): what it refuses itself is an enum whose variants
//! display the sentences that people read (`GateRefusal`, `TaskRefusal` …), and `Failed` joins to that what other parts
//! refused it and what failed beneath them all (`Fault`). A method that fails with a `Fault` refuses nothing. Which part
//! may fail with what another refuses is said once, in `asks`: without its line there, `?` on that part's error does not
//! compile. Ring 3 sees the sum, `ControlError`.

mod asks;
mod failed;
mod fault;

use std::time::Duration;

use cloister_protocol::{ErrorBody, ErrorCode, Language, with_causes};

use crate::agents::AgentRefusal;
use crate::audit::AuditRefusal;
use crate::cells::CellRefusal;
use crate::commands::CommandRefusal;
use crate::config::ConfigRefusal;
use crate::egress::EgressRefusal;
use crate::gates::GateRefusal;
use crate::inbox::InboxRefusal;
use crate::models::ModelRefusal;
use crate::people::PeopleRefusal;
use crate::secrets::SecretsRefusal;
use crate::stop::StopRefusal;
use crate::surfaces::SurfaceRefusal;
use crate::tasks::TaskRefusal;

pub use failed::{Failed, Refusal};
pub use fault::Fault;

/// What any part refuses, and what fails beneath them.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error(transparent)]
    Fault(#[from] Fault),
    #[error(transparent)]
    Around(RefusedAround),
    #[error(transparent)]
    Agent(#[from] AgentRefusal),
    #[error(transparent)]
    Audit(#[from] AuditRefusal),
    #[error(transparent)]
    Cell(#[from] CellRefusal),
    #[error(transparent)]
    Command(#[from] CommandRefusal),
    #[error(transparent)]
    Config(#[from] ConfigRefusal),
    #[error(transparent)]
    Egress(#[from] EgressRefusal),
    #[error(transparent)]
    Gate(#[from] GateRefusal),
    #[error(transparent)]
    Inbox(#[from] InboxRefusal),
    #[error(transparent)]
    Model(#[from] ModelRefusal),
    #[error(transparent)]
    People(#[from] PeopleRefusal),
    #[error(transparent)]
    Secrets(#[from] SecretsRefusal),
    #[error(transparent)]
    Stop(#[from] StopRefusal),
    #[error(transparent)]
    Surface(#[from] SurfaceRefusal),
    #[error(transparent)]
    Task(#[from] TaskRefusal),
}

/// What those around control refuse, in their words.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct RefusedAround {
    code: ErrorCode,
    message: String,
}

impl Refusal for RefusedAround {
    fn code(&self) -> ErrorCode {
        self.code
    }
}

impl ControlError {
    /// A refusal of who is around control.
    pub fn refused(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Around(RefusedAround { code, message: message.into() })
    }

    /// There is no such thing.
    pub fn not_found(what: &'static str, name: impl Into<String>) -> Self {
        Self::Fault(Fault::not_found(what, name))
    }

    /// Who refused it, unless it failed.
    fn refusal(&self) -> Result<&dyn Refusal, &Fault> {
        match self {
            Self::Fault(fault) => Err(fault),
            Self::Around(refusal) => Ok(refusal),
            Self::Agent(refusal) => Ok(refusal),
            Self::Audit(refusal) => Ok(refusal),
            Self::Cell(refusal) => Ok(refusal),
            Self::Command(refusal) => Ok(refusal),
            Self::Config(refusal) => Ok(refusal),
            Self::Egress(refusal) => Ok(refusal),
            Self::Gate(refusal) => Ok(refusal),
            Self::Inbox(refusal) => Ok(refusal),
            Self::Model(refusal) => Ok(refusal),
            Self::People(refusal) => Ok(refusal),
            Self::Secrets(refusal) => Ok(refusal),
            Self::Stop(refusal) => Ok(refusal),
            Self::Surface(refusal) => Ok(refusal),
            Self::Task(refusal) => Ok(refusal),
        }
    }

    pub fn code(&self) -> ErrorCode {
        self.refusal().map_or_else(Fault::code, Refusal::code)
    }

    /// What the asker may see: no paths of ours, no causes.
    pub fn body(&self) -> ErrorBody {
        self.body_in(Language::En)
    }

    /// The same in the asker's language.
    pub fn body_in(&self, to: Language) -> ErrorBody {
        match self.refusal() {
            Ok(refusal) => failed::refusal_body(refusal, to),
            Err(fault) => fault.body_in(to),
        }
    }

    /// It was too much at once, and is worth trying again after this long.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        self.refusal().ok()?.retry_after()
    }

    /// The whole chain of causes, for the log.
    pub fn chain(&self) -> String {
        with_causes(self)
    }
}

impl<R> From<Failed<R>> for ControlError
where
    Self: From<R>,
{
    fn from(failed: Failed<R>) -> Self {
        match failed {
            Failed::Refused(refusal) => refusal.into(),
            Failed::Elsewhere(refusal) => *refusal,
            Failed::Fault(fault) => Self::Fault(fault),
        }
    }
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
