//! How much a choice says.

/// The bits that one of so many choices takes.
pub(crate) fn ceil_log2(choices: usize) -> u32 {
    usize::BITS - choices.saturating_sub(1).leading_zeros()
}

#[cfg(test)]
#[path = "bits_tests.rs"]
mod tests;
