//! The commands of the control plane, as a surface has to know them: what is offered, what is urgent, how each
//! is spelled there.

use std::borrow::Cow;

use cloister_protocol::surface::MenuItem;

/// What can be said that no model needs to understand.
#[derive(Clone, Debug, Default)]
pub struct Commands {
    /// In the order in which they are offered.
    pub menu: Vec<MenuItem>,
    /// The names of those that must get through when messages do not.
    pub urgent: Vec<String>,
}

impl Commands {
    /// Whether this is meant as a command: one line that begins with `!` or `/` and a word.
    pub fn is_command(&self, text: &str) -> bool {
        let line = text.trim();
        let Some(rest) = line.strip_prefix(['!', '/']) else { return false };
        let name = rest.split_whitespace().next().unwrap_or_default();
        let word = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphabetic());
        let begins = rest.starts_with(name);
        let one_line = !line.contains('\n');
        // What is to be done may take several lines.
        begins && (word && one_line || self.knows(name) && (one_line || name == "task"))
    }

    /// Whether a text is a command that must get through when messages do not.
    pub fn is_urgent(&self, text: &str) -> bool {
        let line = text.trim();
        let Some(rest) = line.strip_prefix(['!', '/']) else { return false };
        let name = rest.split(char::is_whitespace).next().unwrap_or_default();
        let name = name.to_ascii_lowercase().replace('-', "_");
        !line.contains('\n') && self.urgent.contains(&name)
    }

    fn knows(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase().replace('-', "_");
        self.menu.iter().any(|item| item.name == name)
    }

    /// Words of the control plane, with commands as they are typed where they begin with another sign than `/`.
    /// Never for the words of people or of the agent: those are shown as they are.
    pub fn spelled<'a>(&self, sign: char, text: &'a str) -> Cow<'a, str> {
        let is_command = |word: &str| word == word.to_ascii_lowercase() && self.knows(word);
        spelled(sign, text, is_command)
    }
}

/// The same, for who knows by itself what a command is.
pub fn spelled<'a>(sign: char, text: &'a str, is_command: impl Fn(&str) -> bool) -> Cow<'a, str> {
    if sign == '/' {
        return Cow::Borrowed(text);
    }
    let mut spelled = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        let starts = before.is_whitespace() || matches!(before, '(' | '`' | '“' | '"');
        let command = c == '/' && starts && first_word(after).is_some_and(&is_command);
        spelled.push(if command { sign } else { c });
        before = c;
        rest = after;
    }
    Cow::Owned(spelled)
}

/// The word that a text begins with, if it is not the first of a path.
fn first_word(text: &str) -> Option<&str> {
    let of_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let end = text.find(|c: char| !of_word(c)).unwrap_or(text.len());
    let rest = text.get(end..).unwrap_or_default();
    text.get(..end).filter(|_| !rest.starts_with('/'))
}

#[cfg(test)]
#[path = "commands_tests.rs"]
mod tests;
