//! A request that did not get through, and how the cell is told.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use cloister_control::ports::RefusedEgress;
use cloister_policy::egress::{Denial, Destination, Reason};
use cloister_protocol::ErrorCode;
use cloister_vault::SecretName;

use crate::refusal::{Refusal, shorten};

pub(super) const REFUSAL_HEADER: &str = "x-cloister-refusal";

const HELD: &str = "held";
const SECRET_MISUSED: &str = "secret_misused";
const SECRET_UNKNOWN: &str = "secret_unknown";

/// Why a request got no answer.
#[derive(Clone, Debug)]
pub(super) enum Stopped {
    /// We did not let it out.
    Refused(Denied),
    /// It was let out, or would have been, and there was no answer.
    Failed(Failure),
}

/// A request that we did not let out.
#[derive(Clone, Debug)]
pub(super) struct Denied {
    pub(super) status: StatusCode,
    /// One word, for the metrics.
    pub(super) kind: &'static str,
    /// As it was asked for, made safe to show.
    pub(super) host: String,
    pub(super) reason: String,
    /// The rule that would allow it.
    pub(super) rule: Option<String>,
    fix: Option<String>,
}

/// What kind of refusal it is, for those who hear of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefusalKind {
    /// By the rules, or because it is none that can be served.
    Refused,
    /// By the gate: not for now, or not at all.
    Gated,
    SecretMisused,
    SecretUnknown,
}

/// A request that could not be answered by whom it was for.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) status: StatusCode,
    pub(super) message: String,
}

impl From<Denied> for Stopped {
    fn from(denied: Denied) -> Self {
        Self::Refused(denied)
    }
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Failure {
    pub(super) fn bad_gateway(message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_GATEWAY, message: message.into() }
    }

    pub(super) fn timeout(message: impl Into<String>) -> Self {
        Self { status: StatusCode::GATEWAY_TIMEOUT, message: message.into() }
    }

    pub(super) fn busy(message: impl Into<String>) -> Self {
        Self { status: StatusCode::TOO_MANY_REQUESTS, message: message.into() }
    }
}

impl Denied {
    pub(super) fn new(kind: &'static str, host: &str, reason: impl Into<String>) -> Self {
        let status = StatusCode::FORBIDDEN;
        let reason = reason.into();
        Self { status, kind, host: shown(host), reason, rule: None, fix: None }
    }

    pub(super) fn by_policy(destination: &Destination, denial: Denial) -> Self {
        let kind = match &denial.reason {
            Reason::NotListed => "not_listed",
            Reason::PlainHttp => "plain_http",
            Reason::OtherPort(_) => "other_port",
            Reason::OtherPath => "other_path",
            Reason::LocalName => "local_name",
            Reason::BrokenRule(_) => "broken_rule",
            Reason::OutsideTask => "outside_task",
            Reason::BrokenTaskRule(_) => "broken_task_rule",
            Reason::ReadsOnly(_) => "reads_only",
        };
        let rule = denial.rule.map(|rule| rule.to_string());
        let denied = Self::new(kind, &destination.authority(), denial.reason.to_string());
        Self { rule, ..denied }
    }

    pub(super) fn status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    pub(super) fn fix(self, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }

    /// A handle of this door in a place where its secret has no business.
    pub(super) fn secret_misused(host: &str, name: &SecretName, why: &str) -> Self {
        let reason = format!("the secret {name} can't be used like this: {why}");
        Self::new(SECRET_MISUSED, host, reason)
    }

    /// A handle that nobody made for this door.
    pub(super) fn secret_unknown(host: &str) -> Self {
        let reason = "it bears a handle that is none of this task's";
        Self::new(SECRET_UNKNOWN, host, reason).status(StatusCode::UNAUTHORIZED).fix(
            "Handles are worth nothing but where they were given: use those of the environment.",
        )
    }

    pub(super) fn heard_as(&self) -> RefusalKind {
        match self.kind {
            "gate" | HELD => RefusalKind::Gated,
            SECRET_MISUSED => RefusalKind::SecretMisused,
            SECRET_UNKNOWN => RefusalKind::SecretUnknown,
            _ => RefusalKind::Refused,
        }
    }

    pub(super) fn message(&self) -> String {
        let what = if self.kind == HELD { "held" } else { "refused" };
        format!("{} is {what}: {}", self.host, self.reason)
    }

    /// What to do about it.
    pub(super) fn remedy(&self) -> Option<String> {
        let allow = |rule: &String| format!("The owner can allow it: /allow {rule}.");
        self.fix.clone().or_else(|| self.rule.as_ref().map(allow))
    }

    pub(super) fn to_tell(&self) -> RefusedEgress {
        RefusedEgress {
            host: self.host.clone(),
            reason: self.reason.clone(),
            rule: self.rule.clone(),
        }
    }
}

impl Stopped {
    /// For programs that use the proxy: a plain text that they print.
    pub(super) fn to_proxy_client(&self) -> Response {
        let (status, text, marked) = match self {
            Self::Refused(denied) => {
                let fix = denied.remedy().unwrap_or_default();
                let text = format!("cloister: {}.\n{fix}\n", denied.message());
                (denied.status, text, Some(denied.message()))
            }
            Self::Failed(failure) => {
                (failure.status, format!("cloister: {}.\n", failure.message), None)
            }
        };
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        if let Some(value) = marked.and_then(|text| HeaderValue::from_str(&shown(&text)).ok()) {
            headers.insert(REFUSAL_HEADER, value);
        }
        response
    }
}

/// For the agent: the one error envelope.
impl From<Stopped> for Refusal {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Refused(denied) => {
                let refusal = Self::new(denied.status, ErrorCode::Refused, denied.message());
                match denied.remedy() {
                    Some(fix) => refusal.fix(fix),
                    None => refusal,
                }
            }
            Stopped::Failed(failure) if failure.status == StatusCode::TOO_MANY_REQUESTS => {
                Self::busy(failure.message)
            }
            Stopped::Failed(failure) => {
                Self::new(failure.status, ErrorCode::NotFound, failure.message)
            }
        }
    }
}

/// A text from a cell, made safe to show: printable ASCII only, and not much of it.
pub(super) fn shown(text: &str) -> String {
    let safe = |c: char| if c.is_ascii_graphic() || c == ' ' { c } else { '?' };
    shorten(&text.chars().map(safe).collect::<String>(), 300).replace('…', "...")
}
