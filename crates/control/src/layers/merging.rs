//! Taking a change back from a text that others have changed since, line by line.
//!
//! Promises: what others changed stays as they left it, or nothing is changed at all.

use std::ops::Range;
use std::time::Duration;

use similar::{Algorithm, DiffTag, capture_diff_slices_deadline};

/// Longer than this nobody compares two documents.
const LONGEST: Duration = Duration::from_millis(500);

/// Lines of a text that are others elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hunk<'a> {
    at: Range<usize>,
    with: Vec<&'a str>,
}

/// What becomes of `now` when the step from `base` to `wanted` is made in it; none where that collides with what was
/// changed since. A text that is none is a file that is not there.
pub(super) fn merged(
    base: Option<&str>,
    wanted: Option<&str>,
    now: Option<&str>,
) -> Option<Option<String>> {
    if now == base || now == wanted {
        return Some(wanted.map(str::to_owned));
    }
    let (Some(base), Some(now)) = (base, now) else { return None };
    let text = in_both(base, wanted.unwrap_or_default(), now)?;
    let is_gone = wanted.is_none() && text.trim().is_empty();
    Some((!is_gone).then_some(text))
}

fn in_both(base: &str, wanted: &str, now: &str) -> Option<String> {
    let lines: Vec<&str> = base.lines().collect();
    let ours = hunks(&lines, now);
    let mut all = ours.clone();
    for hunk in hunks(&lines, wanted) {
        // Made by somebody already.
        if ours.contains(&hunk) {
            continue;
        }
        if ours.iter().any(|other| collide(&hunk.at, &other.at)) {
            return None;
        }
        all.push(hunk);
    }
    // What is put in before a line stands before what is in that line's place.
    all.sort_by_key(|hunk| (hunk.at.start, hunk.at.end));
    let (mut text, mut next) = (Vec::new(), 0);
    for hunk in all {
        text.extend_from_slice(lines.get(next..hunk.at.start).unwrap_or_default());
        text.extend(hunk.with);
        next = hunk.at.end;
    }
    text.extend_from_slice(lines.get(next..).unwrap_or_default());
    let end = if now.ends_with('\n') && !text.is_empty() { "\n" } else { "" };
    Some(format!("{}{end}", text.join("\n")))
}

fn hunks<'a>(base: &[&str], other: &'a str) -> Vec<Hunk<'a>> {
    let lines: Vec<&'a str> = other.lines().collect();
    let until = std::time::Instant::now() + LONGEST;
    let steps = capture_diff_slices_deadline(Algorithm::Myers, base, &lines, Some(until));
    let differing = steps.into_iter().filter(|step| step.tag() != DiffTag::Equal);
    let hunk = |step: similar::DiffOp| Hunk {
        at: step.old_range(),
        with: lines.get(step.new_range()).unwrap_or_default().to_vec(),
    };
    differing.map(hunk).collect()
}

/// Lines beside each other do not.
fn collide(one: &Range<usize>, other: &Range<usize>) -> bool {
    match (one.is_empty(), other.is_empty()) {
        (true, true) => one.start == other.start,
        (true, false) => other.start < one.start && one.start < other.end,
        (false, true) => one.start < other.start && other.start < one.end,
        (false, false) => one.start < other.end && other.start < one.end,
    }
}

#[cfg(test)]
#[path = "merging_tests.rs"]
mod tests;
