//! What a topic is called, and which title a topic's name stands for. Pure.

use cloister_protocol::ChatId;

const BETWEEN: &str = " · ";
const ARCHIVED: &str = " (archived)";
/// The most of a topic's name, in characters.
const MOST_CHARS: usize = 128;

/// The name of a chat's topic.
pub(super) fn topic_name(chat: ChatId, title: &str, archived: bool) -> String {
    let number = chat.to_string();
    let end = if archived { ARCHIVED } else { "" };
    if title.is_empty() {
        return format!("{number}{end}");
    }
    let taken = number.chars().count() + BETWEEN.chars().count() + end.chars().count();
    let room = MOST_CHARS.saturating_sub(taken);
    let mut cut: String = title.chars().take(room).collect();
    if cut.len() < title.len() {
        cut.pop();
        cut.push('…');
    }
    format!("{number}{BETWEEN}{cut}{end}")
}

/// The title that a topic's name stands for, whoever gave it.
pub(super) fn title_in(name: &str, chat: ChatId) -> String {
    let name = name.trim();
    let name = name.strip_suffix(ARCHIVED).unwrap_or(name);
    match name.strip_prefix(&chat.to_string()) {
        Some("") => String::new(),
        Some(rest) => title(rest.strip_prefix(BETWEEN).unwrap_or(name)),
        None => title(name),
    }
}

/// One line of words.
pub(super) fn title(name: &str) -> String {
    let one_line = name.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = one_line.filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().take(MOST_CHARS).collect()
}

#[cfg(test)]
#[path = "naming_tests.rs"]
mod tests;
