//! One line to stderr, of which the control plane keeps the tail.

use std::fmt;
use std::io::Write as _;

/// Writes one line; a closed stderr is nobody's problem.
pub(crate) fn line(message: fmt::Arguments<'_>) {
    writeln!(std::io::stderr().lock(), "cloister-agent: {message}").ok();
}
