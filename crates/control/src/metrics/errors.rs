//! The newest complaints of the log, so that the operator need not search it.

use std::collections::VecDeque;
use std::sync::Mutex;

use super::series::lock;

const KEPT: usize = 50;
const MAX_TEXT: usize = 500;

/// A line of the log at `warn` or `error`.
#[derive(Clone, Debug)]
pub struct LoggedLine {
    /// Milliseconds since 1970.
    pub at: i64,
    /// `warn` or `error`.
    pub level: &'static str,
    /// The sentence that is the same each time.
    pub message: String,
    /// What was different this time.
    pub fields: String,
}

/// A complaint and how often it came.
#[derive(Clone, Debug)]
pub struct RecentError {
    pub first_at: i64,
    pub last_at: i64,
    pub level: &'static str,
    pub count: u64,
    pub message: String,
    /// As it was the last time.
    pub fields: String,
}

/// A bounded list; the same sentence again is counted, not listed again.
#[derive(Debug, Default)]
pub(super) struct RecentErrors {
    kept: Mutex<VecDeque<RecentError>>,
}

impl RecentErrors {
    pub(super) fn add(&self, line: LoggedLine) {
        let mut kept = lock(&self.kept);
        let known = kept
            .iter()
            .position(|error| error.level == line.level && error.message == line.message)
            .and_then(|place| kept.remove(place));
        let fields = shortened(&line.fields);
        let error = match known {
            Some(error) => {
                RecentError { last_at: line.at, count: error.count + 1, fields, ..error }
            }
            None => RecentError {
                first_at: line.at,
                last_at: line.at,
                level: line.level,
                count: 1,
                message: shortened(&line.message),
                fields,
            },
        };
        kept.push_front(error);
        kept.truncate(KEPT);
    }

    pub(super) fn all(&self) -> Vec<RecentError> {
        lock(&self.kept).iter().cloned().collect()
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}
