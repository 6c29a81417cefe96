//! Who makes an admin call: said by the listener it came through, never by the call itself.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use cloister_protocol::{ErrorCode, UserId};

use crate::reply::Failure;

/// Put on every request by the listener, as an extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// Through the socket that only the operator's account can open: whoever runs the machine.
    Local,
    /// A person, by the certificate they came with.
    User(UserId),
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Failure> {
        let caller = parts.extensions.get::<Self>().copied();
        caller.ok_or_else(|| Failure::new(ErrorCode::Unauthorized, "nobody is known to ask"))
    }
}
