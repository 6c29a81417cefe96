//! A request that is not served, as the cell sees it: a status and the one error envelope.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use cloister_control::books::OverBudget;
use cloister_protocol::{ErrorBody, ErrorCode, ErrorEnvelope, with_causes};

#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) error: ErrorBody,
    retry_after_secs: Option<u32>,
    /// The limit that it is about, where more can be asked for.
    pub(crate) over: Option<Box<OverBudget>>,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, code: ErrorCode, message: impl Into<String>) -> Self {
        let error = ErrorBody::new(code, message);
        Self { status, error, retry_after_secs: None, over: None }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, ErrorCode::BadRequest, message)
    }

    pub(crate) fn busy(message: impl Into<String>) -> Self {
        let refusal = Self::new(StatusCode::TOO_MANY_REQUESTS, ErrorCode::Busy, message);
        Self { retry_after_secs: Some(1), ..refusal }.fix("Try again in a second.")
    }

    /// Our own failure. The cause is logged here; the cell learns nothing of it.
    pub(crate) fn internal(what: &'static str, cause: &dyn std::error::Error) -> Self {
        tracing::error!(
            what,
            error = with_causes(cause),
            "a request of a cell failed in the broker"
        );
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        Self::new(status, ErrorCode::Internal, format!("the control plane could not {what}"))
            .fix("The log of the control plane has the cause.")
    }

    /// It is about this limit.
    pub(crate) fn at_limit(mut self, over: OverBudget) -> Self {
        self.over = Some(Box::new(over));
        self
    }

    pub(crate) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.error.fix = Some(fix.into());
        self
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let retry_after = self.retry_after_secs;
        let mut response = (self.status, Json(ErrorEnvelope { error: self.error })).into_response();
        if let Some(seconds) = retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// At most `max` characters of a text, marked when something was left out.
pub(crate) fn shorten(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
