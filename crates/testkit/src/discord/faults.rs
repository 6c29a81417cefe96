//! What goes wrong on purpose: faults are laid on a kind of request, for a number of requests or until they
//! are lifted.

use std::time::Duration;

/// What is done to a request or its answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// The answer comes later by this; what was asked is done before.
    Slow(Duration),
    /// It is taken up later by this.
    Late(Duration),
    /// The connection is cut before anything is done.
    Cut,
    /// It is done, and the connection cut before the answer.
    Lost,
    /// It is never answered, and not done.
    Hang,
    /// It is answered with this status and not done.
    Status(u16),
    /// It is answered with 429 and not done.
    TooMany { after: Duration, scope: Scope },
}

/// What a 429 is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    User,
    Shared,
    Global,
    /// Of what stands before the service: a page, and how long in a header.
    Edge,
}

pub(super) struct Laid {
    pub(super) on: String,
    pub(super) fault: Fault,
    pub(super) times: Option<usize>,
}

/// Takes the fault that is laid on a request.
pub(super) fn take(laid: &mut [Laid], route: &str) -> Option<Fault> {
    let fitting = |laid: &&mut Laid| route.starts_with(&laid.on) && laid.times != Some(0);
    let found = laid.iter_mut().find(fitting)?;
    found.times = found.times.map(|times| times.saturating_sub(1));
    Some(found.fault)
}
