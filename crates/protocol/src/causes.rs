//! An error with what is behind it: an outer error says what was tried, the innermost why it failed.

use std::error::Error;

/// An error and all its causes, for the log and for whoever runs Cloister.
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let said = cause.to_string();
        // Errors of others often end with their cause already.
        if !text.ends_with(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        source = cause.source();
    }
    text
}

/// The last of an error's causes alone: `connection refused` rather than `error sending request`, and without what lies
/// between, which may hold an address.
pub fn last_cause(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

#[cfg(test)]
#[path = "causes_tests.rs"]
mod tests;
