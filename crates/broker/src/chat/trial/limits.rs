//! What providers say about their limits when too much is asked of them.

/// What stands before the window, in small letters; the more exact first.
const BEFORE_WINDOW: [&str; 9] = [
    "maximum context length is",
    "maximum context length of",
    "context length is",
    "context length of",
    "context window is",
    "context window of",
    "context size (",
    "maximum model length of",
    "max_model_len",
];

/// What stands before the longest answer.
const BEFORE_OUTPUT: [&str; 8] = [
    "supports at most",
    "less than or equal to",
    "must be at most",
    "cannot exceed",
    "range of max_tokens is [1,",
    "range [1,",
    "100000000 >",
    "up to",
];

/// How far behind the words the number may stand.
const NEAR: usize = 24;
/// Nothing has fewer or more tokens.
const TOKENS: std::ops::RangeInclusive<u32> = 128..=50_000_000;

pub(in crate::chat) fn window_in(said: &str) -> Option<u32> {
    number_behind(said, &BEFORE_WINDOW)
}

pub(super) fn output_in(said: &str) -> Option<u32> {
    number_behind(said, &BEFORE_OUTPUT)
}

fn number_behind(said: &str, words: &[&str]) -> Option<u32> {
    let said = said.to_ascii_lowercase();
    words.iter().find_map(|word| {
        let (_, behind) = said.split_once(word)?;
        let start = behind.find(|c: char| c.is_ascii_digit()).filter(|start| *start <= NEAR)?;
        let digits = behind.get(start..)?;
        let digits =
            digits.split(|c: char| !(c.is_ascii_digit() || c == ',' || c == '_')).next()?;
        let number = digits.replace([',', '_'], "").parse().ok()?;
        TOKENS.contains(&number).then_some(number)
    })
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
