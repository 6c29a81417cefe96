use std::io;

use super::{last_cause, with_causes};

#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error("the message could not be stored")]
    Store(#[from] QueryFailed),
    #[error("the file could not be kept: {0}")]
    Said(#[source] io::Error),
}

#[derive(Debug, thiserror::Error)]
#[error("the query failed")]
struct QueryFailed(#[from] io::Error);

fn full() -> io::Error {
    io::Error::from_raw_os_error(28)
}

#[test]
fn the_innermost_cause_is_said() {
    let words = with_causes(&Failed::from(QueryFailed::from(full())));
    let expected = "the message could not be stored: the query failed: No space left on device";
    assert!(words.starts_with(expected), "{words}");
}

#[test]
fn a_cause_that_was_said_is_not_said_again() {
    let words = with_causes(&Failed::Said(full()));
    assert_eq!(words.matches("No space left on device").count(), 1, "{words}");
}

#[test]
fn an_error_without_causes_is_its_own_words() {
    assert_eq!(with_causes(&full()), full().to_string());
}

#[test]
fn the_last_cause_stands_alone() {
    assert_eq!(last_cause(&Failed::from(QueryFailed::from(full()))), full().to_string());
    assert_eq!(last_cause(&full()), full().to_string());
}
