//! Words of people, made fit to be handed over.

pub(crate) use cloister_kit::words::short;

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
