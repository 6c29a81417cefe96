//! Paths as people type them.

use std::path::PathBuf;

/// A path, in quotes if it has spaces, and what follows it.
pub(super) fn path_and_text(rest: &str) -> (PathBuf, String) {
    for quote in ['"', '\''] {
        if let Some(quoted) = rest.strip_prefix(quote)
            && let Some((path, text)) = quoted.split_once(quote)
        {
            return (expand(path), text.trim().to_owned());
        }
    }
    // Without quotes, a file whose name has spaces is still found when nothing follows.
    if expand(rest).exists() {
        return (expand(rest), String::new());
    }
    let (path, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    (expand(path), text.trim().to_owned())
}

pub(super) fn expand(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), crate::config::home()) {
        (Some(rest), Some(home)) => home.join(rest),
        (Some(_) | None, _) => PathBuf::from(path),
    }
}
