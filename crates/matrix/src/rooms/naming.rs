//! What a room is called, and which title a room's name stands for.

use cloister_protocol::ChatId;

/// The Space's name.
pub(crate) const HOME_NAME: &str = "Cloister";
const BETWEEN: &str = " · ";
const ARCHIVED: &str = " (archived)";
/// The most of a title, in characters; the command that renames a chat cuts at the same.
const MAX_TITLE_CHARS: usize = 200;

/// The name of a chat's room.
pub(crate) fn room_name(chat: ChatId, title: &str, archived: bool) -> String {
    let mut name = chat.to_string();
    if !title.is_empty() {
        name.push_str(BETWEEN);
        name.push_str(title);
    }
    if archived {
        name.push_str(ARCHIVED);
    }
    name
}

/// The title that a room's name stands for, whoever gave it, and whether it says that the chat is archived.
pub(crate) fn title_in(name: &str, chat: ChatId) -> (String, bool) {
    let name = name.trim();
    let (name, archived) =
        name.strip_suffix(ARCHIVED).map_or((name, false), |before| (before, true));
    let title = match name.strip_prefix(&chat.to_string()) {
        Some("") => "",
        Some(rest) => rest.strip_prefix(BETWEEN).unwrap_or(name),
        None => name,
    };
    let one_line = title.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = one_line.filter(|word| !word.is_empty()).collect();
    (words.join(" ").chars().take(MAX_TITLE_CHARS).collect(), archived)
}

#[cfg(test)]
#[path = "naming_tests.rs"]
mod tests;
