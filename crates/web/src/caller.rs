//! Who makes an admin call: said by the listener it came through, never by the call itself.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use cloister_control::Actor;
use cloister_policy::engine::Person;
use cloister_protocol::{ErrorCode, UserId, UserName};

use crate::reply::Failure;

/// Put on every request by the listener, as an extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// Through the socket that only the operator's account can open: whoever runs the machine.
    Local,
    /// A person, by the certificate they came with.
    User(UserId),
}

/// Somebody who was recognised, as who acts: by their name, with the highest role that they hold anywhere.
pub(crate) fn acting(name: &UserName, person: &Person) -> Actor {
    let role = person.roles.iter().map(|held| held.role).max();
    Actor::recognised(person.user, name, role.map(cloister_policy::engine::Role::as_str))
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Failure> {
        let caller = parts.extensions.get::<Self>().copied();
        caller.ok_or_else(|| Failure::new(ErrorCode::Unauthorized, "nobody is known to ask"))
    }
}
