//! What goes wrong between a bot and Telegram, as a test lays it.

use std::time::Duration;

/// What is done to a request or its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is done later by this.
    Delay(Duration),
    /// It is done, and the answer comes later by this.
    Late(Duration),
    /// The connection is cut before anything is done.
    Cut,
    /// It is done, and the connection cut before the answer: it happened, and nobody knows.
    Swallow,
    /// It is never answered.
    Hang,
    /// It is not done; a server in between answers with this status and a page.
    Status(u16),
    /// It is not done, and answered with 429.
    TooMany { retry_after: u64 },
    /// It is not done, and answered with this error.
    Refuse { code: u16, description: String },
    /// Another server at this address does it, and its answer is passed back.
    Elsewhere(String),
    /// For getUpdates: what was confirmed is told again before what is new.
    RepeatUpdates,
}

#[derive(Clone, Debug)]
pub(super) struct Laid {
    /// The method's name; empty: every method.
    pub(super) on: String,
    pub(super) fault: Fault,
    /// How many requests it is still for; none: all.
    pub(super) times: Option<usize>,
}

/// Takes the fault that is laid on a method, if there is one.
pub(super) fn take(laid: &mut [Laid], method: &str) -> Option<Fault> {
    let fits =
        |laid: &&mut Laid| (laid.on.is_empty() || method == laid.on) && laid.times != Some(0);
    laid.iter_mut().find(fits).map(|laid| {
        laid.times = laid.times.map(|times| times.saturating_sub(1));
        laid.fault.clone()
    })
}
