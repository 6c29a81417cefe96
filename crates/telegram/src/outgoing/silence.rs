//! Names in a text for a group ring nobody: Telegram makes a mention of every `@name` by itself, and what an agent
//! writes may be somebody else's words. Pure.
//!
//! A name loses its sign for one that looks alike and means nothing. It takes as many units, so that no mark moves and
//! no text gets longer. Code is left as it is, addresses as well: no mention is made of those.

use std::ops::Range;

/// Looks like `@`, and is none.
const SILENT: char = '＠';

/// A text in which no name rings; `code`: which bytes of it are shown as code, `edges`: where marks begin and end.
pub(super) fn silent(text: &str, code: &[Range<usize>], edges: &[usize]) -> String {
    let mut silent = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let rings =
            c == '@' && !code.iter().any(|code| code.contains(&at)) && may_ring(text, at, edges);
        silent.push(if rings { SILENT } else { c });
    }
    silent
}

/// Whether a mention may be made of what is at this place. Where it is not sure, it may.
fn may_ring(text: &str, at: usize, edges: &[usize]) -> bool {
    let (before, after) = text.split_at_checked(at).unwrap_or_default();
    let of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let named = after.chars().nth(1).is_some_and(of_name);
    // `ada@example.org`
    let in_word = before.chars().next_back().is_some_and(of_name);
    named && !in_word && !in_address(before, edges)
}

/// Whether a text ends within the path of a web address: `https://example.org/`. What is partly in a mark is no
/// address.
fn in_address(before: &str, edges: &[usize]) -> bool {
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    let begins = before.len() - word.len();
    if edges.iter().any(|edge| begins < *edge && *edge <= before.len()) {
        return false;
    }
    let word = word.strip_prefix('(').unwrap_or(word);
    let rest = word.strip_prefix("https://").or_else(|| word.strip_prefix("http://"));
    let Some((host, path)) = rest.and_then(|rest| rest.split_once('/')) else { return false };
    let label = |label: &str| {
        !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_host = host.contains('.')
        && host.split('.').all(label)
        && last.len() >= 2
        && last.bytes().all(|b| b.is_ascii_alphabetic());
    // Anything else may end the address, and begin a name.
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~%/@".contains(&b);
    is_host && path.bytes().all(plain)
}

#[cfg(test)]
#[path = "silence_tests.rs"]
mod tests;
