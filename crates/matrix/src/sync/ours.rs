//! Which events of a room are for us: what was said since this account was invited, and while it was there.
//!
//! Promises: what stood in a room before the invitation is never taken, however it comes (a first timeline, a gap
//! that is asked for, a position that is asked for again); nothing that was said while we were there is left out.
//! Pure: it goes by our own memberships in the timeline and by nothing else, least of all by clocks.

use matrix_sdk::ruma::UserId;
use matrix_sdk::ruma::serde::Raw;
use serde::Deserialize;

/// What this account was to a room before and after a membership event of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    before: Option<String>,
    after: String,
}

#[derive(Deserialize)]
struct Membership {
    membership: String,
}

#[derive(Default, Deserialize)]
struct Unsigned {
    #[serde(default)]
    prev_content: Option<Membership>,
    /// There was one before, whatever it said.
    #[serde(default)]
    replaces_state: Option<String>,
}

/// Whether who stands so to a room is spoken to there.
fn is_spoken_to(membership: &str) -> bool {
    matches!(membership, "invite" | "join")
}

fn step<T>(event: &Raw<T>, me: &UserId) -> Option<Step> {
    let text = |field: &str| event.get_field::<String>(field).ok().flatten();
    if text("type")? != "m.room.member" || text("state_key")? != me.as_str() {
        return None;
    }
    let after = event.get_field::<Membership>("content").ok().flatten()?.membership;
    let unsigned = event.get_field::<Unsigned>("unsigned").ok().flatten().unwrap_or_default();
    let before = match (unsigned.prev_content, unsigned.replaces_state) {
        (Some(before), _) => Some(before.membership),
        // What it was is not said: it is not taken for having been there.
        (None, Some(_)) => Some("unknown".to_owned()),
        (None, None) => None,
    };
    Some(Step { before, after })
}

/// Keeps what is for us, given events of one room without a gap between them, oldest first.
pub(super) fn for_us<T, E>(events: Vec<E>, me: &UserId, raw: impl Fn(&E) -> &Raw<T>) -> Vec<E> {
    let first = events.iter().find_map(|event| step(raw(event), me));
    // Who has no step of their own among them was there all along.
    let mut spoken_to =
        first.is_none_or(|step| step.before.is_some_and(|before| is_spoken_to(&before)));
    let mut kept = Vec::with_capacity(events.len());
    for event in events {
        match step(raw(&event), me) {
            Some(step) => spoken_to = is_spoken_to(&step.after),
            None if !spoken_to => continue,
            None => {}
        }
        kept.push(event);
    }
    kept
}

/// Whether the account had nothing to do with the room before these events: then nothing before them is missing.
pub(super) fn is_first_time<'a, T: 'a>(
    events: impl IntoIterator<Item = &'a Raw<T>>,
    me: &UserId,
) -> bool {
    let first = events.into_iter().find_map(|event| step(event, me));
    first.is_some_and(|step| step.before.is_none())
}

#[cfg(test)]
#[path = "ours_tests.rs"]
mod tests;
