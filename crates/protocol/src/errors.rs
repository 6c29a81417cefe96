//! Error codes: stable words that programs may match, each with one meaning on every surface.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The frame or request is not what the protocol says.
    BadRequest,
    /// The frame's type is not known.
    UnknownType,
    /// The frame, text or file is larger than allowed.
    TooLarge,
    /// No token, or one that is wrong or expired.
    Unauthorized,
    /// The token is right and does not reach this far.
    Forbidden,
    NotFound,
    /// It clashes with what is there.
    Conflict,
    /// Too much at once; the message says when to try again.
    Busy,
    /// The workspace is over its quota: writes are refused.
    OverQuota,
    /// The budget of the user or the task is used up.
    OverBudget,
    /// No model of the chain answered.
    ModelUnavailable,
    /// The same call again and again, or too many steps.
    LoopStopped,
    /// The person or the operator stopped it.
    Cancelled,
    /// The same person wrote again meanwhile: the turn of that message goes on with this one.
    Continued,
    /// It was refused by policy or by a person.
    Refused,
    /// The machine can't isolate.
    CannotIsolate,
    /// The control plane is stopping.
    ShuttingDown,
    /// Our fault; the log has the cause.
    Internal,
}

impl ErrorCode {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BadRequest => "bad_request",
            Self::UnknownType => "unknown_type",
            Self::TooLarge => "too_large",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::Busy => "busy",
            Self::OverQuota => "over_quota",
            Self::OverBudget => "over_budget",
            Self::ModelUnavailable => "model_unavailable",
            Self::LoopStopped => "loop_stopped",
            Self::Cancelled => "cancelled",
            Self::Continued => "continued",
            Self::Refused => "refused",
            Self::CannotIsolate => "cannot_isolate",
            Self::ShuttingDown => "shutting_down",
            Self::Internal => "internal",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The one error envelope of every HTTP answer and every `--json` command: `{"error":{…}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorEnvelope {
    pub error: ErrorBody,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    pub code: ErrorCode,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// Seconds after which it is worth trying again, when that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_s: Option<u64>,
}

impl ErrorBody {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), fix: None, retry_after_s: None }
    }
}
