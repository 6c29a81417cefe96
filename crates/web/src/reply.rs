//! Answers: JSON, or the one error envelope.

use axum::Json;
use axum::extract::{self, FromRequest, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use cloister_control::{ControlError, Failed, Fault};
use cloister_protocol::{ErrorBody, ErrorCode, ErrorEnvelope, Language};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// An answer that is an error.
#[derive(Debug)]
pub(crate) struct Failure {
    body: ErrorBody,
    refused: bool,
    /// What pages say of it, where that is not the same in every language.
    told: Told,
}

/// An error as people read it: in English, which programs get, and in the other languages that it is known in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told(Vec<(Language, ErrorBody)>);

impl Told {
    /// By whoever can say it in any language.
    fn by(said: impl Fn(Language) -> ErrorBody) -> Self {
        let others = Language::ALL.into_iter().filter(|to| *to != Language::En);
        Self(others.map(|to| (to, said(to))).collect())
    }

    /// The error in a language; in English where it is known in no other.
    pub(crate) fn body_in(&self, to: Language, english: ErrorBody) -> ErrorBody {
        let known = self.0.iter().find(|(language, _)| *language == to);
        known.map_or(english, |(_, body)| body.clone())
    }
}

/// On an answer that says no to who asks, in whatever words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refused;

impl Failure {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        ErrorBody::new(code, message).into()
    }

    pub(crate) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.body.fix = Some(fix.into());
        self
    }

    /// One that people read on pages, in their language.
    pub(crate) fn said(code: ErrorCode, words: impl Fn(Language) -> String) -> Self {
        let mut failure = Self::new(code, words(Language::En));
        failure.told = Told::by(|to| ErrorBody::new(code, words(to)));
        failure
    }

    /// What to do about one that was [`said`](Self::said).
    pub(crate) fn fixed(mut self, words: impl Fn(Language) -> String) -> Self {
        self.body.fix = Some(words(Language::En));
        for (to, body) in &mut self.told.0 {
            body.fix = Some(words(*to));
        }
        self
    }

    /// When it may be asked again, at the earliest.
    pub(crate) fn again_in(mut self, seconds: u64) -> Self {
        self.body.retry_after_s = Some(seconds);
        for (_, body) in &mut self.told.0 {
            body.retry_after_s = Some(seconds);
        }
        self
    }

    /// What is said of it.
    pub(crate) fn into_body_in(self, to: Language) -> ErrorBody {
        self.told.body_in(to, self.body)
    }

    /// It is a decision about who asks, and not about what they ask for.
    pub(crate) fn refusal(mut self) -> Self {
        self.refused = true;
        self
    }
}

impl From<ErrorBody> for Failure {
    fn from(body: ErrorBody) -> Self {
        Self { refused: body.code == ErrorCode::Forbidden, body, told: Told::default() }
    }
}

impl From<ControlError> for Failure {
    fn from(error: ControlError) -> Self {
        let body = error.body();
        if body.code == ErrorCode::Internal {
            tracing::error!(error = error.chain(), "a request failed");
        }
        Self { told: Told::by(|to| error.body_in(to)), ..body.into() }
    }
}

impl<R> From<Failed<R>> for Failure
where
    ControlError: From<Failed<R>>,
{
    fn from(failed: Failed<R>) -> Self {
        ControlError::from(failed).into()
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        ControlError::from(fault).into()
    }
}

impl From<cloister_protocol::ParseIdError> for Failure {
    fn from(error: cloister_protocol::ParseIdError) -> Self {
        Self::new(ErrorCode::BadRequest, error.to_string())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status = status(self.body.code);
        let retry_after = self.body.retry_after_s;
        let body = self.body.clone();
        let mut response = (status, Json(ErrorEnvelope { error: self.body })).into_response();
        // A page tells it to a person in its own way.
        response.extensions_mut().insert(body);
        response.extensions_mut().insert(self.told);
        if self.refused {
            response.extensions_mut().insert(Refused);
        }
        if let Some(seconds) = retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

fn status(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::BadRequest | ErrorCode::UnknownType => StatusCode::BAD_REQUEST,
        ErrorCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::Unauthorized => StatusCode::UNAUTHORIZED,
        ErrorCode::Forbidden | ErrorCode::Refused => StatusCode::FORBIDDEN,
        ErrorCode::NotFound => StatusCode::NOT_FOUND,
        ErrorCode::Conflict
        | ErrorCode::Cancelled
        | ErrorCode::Continued
        | ErrorCode::LoopStopped => StatusCode::CONFLICT,
        ErrorCode::Busy => StatusCode::TOO_MANY_REQUESTS,
        ErrorCode::OverQuota => StatusCode::INSUFFICIENT_STORAGE,
        ErrorCode::OverBudget => StatusCode::PAYMENT_REQUIRED,
        ErrorCode::ModelUnavailable => StatusCode::BAD_GATEWAY,
        ErrorCode::CannotIsolate | ErrorCode::ShuttingDown => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

pub(crate) type Answer<T> = Result<Json<T>, Failure>;

pub(crate) fn json<T: Serialize>(value: T) -> Answer<T> {
    Ok(Json(value))
}

/// A JSON body, with our envelope when it can't be read.
pub(crate) struct Body<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Failure;

    async fn from_request(request: extract::Request, state: &S) -> Result<Self, Failure> {
        match Json::<T>::from_request(request, state).await {
            Ok(Json(value)) => Ok(Self(value)),
            Err(rejection) => {
                let code = match rejection.status() {
                    StatusCode::PAYLOAD_TOO_LARGE => ErrorCode::TooLarge,
                    _ => ErrorCode::BadRequest,
                };
                Err(Failure::new(code, rejection.body_text()))
            }
        }
    }
}

/// The variables of a path, with our envelope when they can't be read.
pub(crate) struct Path<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        match extract::Path::from_request_parts(parts, state).await {
            Ok(extract::Path(value)) => Ok(Self(value)),
            Err(rejection) => Err(Failure::new(ErrorCode::BadRequest, rejection.body_text())),
        }
    }
}

/// What follows the question mark, with our envelope when it can't be read.
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        match extract::Query::from_request_parts(parts, state).await {
            Ok(extract::Query(value)) => Ok(Self(value)),
            Err(rejection) => Err(Failure::new(ErrorCode::BadRequest, rejection.body_text())),
        }
    }
}
