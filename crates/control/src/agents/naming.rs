//! Which names agents can have: one word in any script, that can be typed behind a command.

use cloister_protocol::AgentId;

use super::AgentRefusal;
use crate::files::is_invisible;

/// The longest name.
pub(crate) const MAX_NAME_CHARS: usize = 40;
/// What follows `/agent` and is nobody's name.
const WORDS: [&str; 8] = ["new", "add", "rename", "rm", "remove", "restore", "list", "undo"];
/// The marks that names are written with.
const MARKS: [char; 3] = ['-', '.', '\''];

/// A name as it is kept.
pub(crate) fn checked_name(name: &str) -> Result<String, AgentRefusal> {
    let name = name.trim();
    let bad = |c: char| {
        c.is_control()
            || c.is_whitespace()
            || is_invisible(c)
            || c.is_ascii_punctuation() && !MARKS.contains(&c)
    };
    let fits = name.chars().any(char::is_alphanumeric)
        && name.starts_with(|c: char| !MARKS.contains(&c))
        && name.chars().count() <= MAX_NAME_CHARS
        && !name.contains(bad);
    if !fits {
        return Err(AgentRefusal::NoName);
    }
    let lower = name.to_lowercase();
    if WORDS.contains(&lower.as_str()) || lower.parse::<AgentId>().is_ok() {
        return Err(AgentRefusal::Reserved { name: name.to_owned() });
    }
    Ok(name.to_owned())
}
