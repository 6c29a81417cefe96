//! The goals, in tables by what they are after.

mod change;
mod escalate;
mod exfiltrate;
mod forge;
mod persist;

use super::scenario::Goal;

pub(super) fn all() -> impl Iterator<Item = &'static Goal> {
    let tables = [exfiltrate::GOALS, change::GOALS, persist::GOALS, escalate::GOALS, forge::GOALS];
    tables.into_iter().flatten()
}
