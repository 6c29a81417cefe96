//! The arguments of a program, read the way programs read them.

use super::syntax::{HOLE, Word};

#[derive(Clone, Copy, Debug)]
pub(super) struct Args<'a>(pub(super) &'a [Word]);

impl<'a> Args<'a> {
    pub(super) fn iter(self) -> std::slice::Iter<'a, Word> {
        self.0.iter()
    }

    pub(super) fn from(self, at: usize) -> Self {
        Self(self.0.get(at..).unwrap_or_default())
    }

    pub(super) fn first_known(self) -> Option<&'a str> {
        self.0.first().and_then(Word::known)
    }

    /// Everything in front of a `--`, where options can stand.
    fn optional(self) -> impl Iterator<Item = &'a Word> {
        self.0.iter().take_while(|word| word.known() != Some("--"))
    }

    /// Whether some word can turn out to be an option that is not seen now.
    pub(super) fn has_hidden_options(self) -> bool {
        self.optional()
            .any(|word| word.starts_open || (word.text.starts_with('-') && word.known().is_none()))
    }

    /// Whether `-x` is given, alone or among others (`-axe`).
    pub(super) fn has_short(self, letter: char) -> bool {
        self.optional().any(|word| {
            let letters = word.text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            letters.is_some_and(|letters| letters.contains(letter))
        })
    }

    /// Whether `--name` is given, whole or cut short as many programs allow, with or without a value.
    pub(super) fn has_long(self, name: &str) -> bool {
        self.optional().any(|word| is_long(&word.text, name))
    }

    pub(super) fn has_word(self, text: &str) -> bool {
        self.0.iter().any(|word| word.text == text)
    }

    /// What is no option. An option's value can be among them.
    pub(super) fn operands(self) -> impl Iterator<Item = &'a Word> {
        let mut only = false;
        self.0.iter().filter(move |word| {
            if only {
                return true;
            }
            if word.known() == Some("--") {
                only = true;
                return false;
            }
            !word.text.starts_with('-') || word.text == "-"
        })
    }
}

fn is_long(word: &str, name: &str) -> bool {
    let Some(given) = word.strip_prefix("--") else { return false };
    let given = given.split(['=', HOLE]).next().unwrap_or(given);
    given.len() >= 2 && name.starts_with(given)
}

/// Where a path leads, as far as its text shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The sandbox's own, gone when it ends.
    Own,
    /// A file of the task, which it is there to write.
    Work,
    /// What the person sent.
    Original,
    /// What programs read to know how to behave.
    Settings,
    Device,
    /// A connection, in bash's spelling.
    Network,
    /// Elsewhere, or known only when it runs.
    Unclear,
}

const SETTINGS: &[&str] = &[
    "SOUL.md",
    "USER.md",
    "MEMORY.md",
    "HEARTBEAT.md",
    "AGENTS.md",
    "CLAUDE.md",
    "SKILL.md",
    "skills",
    "tools",
    "crontab",
    "authorized_keys",
    "sudoers",
];

pub(super) fn target(word: &Word) -> Target {
    let text = word.text.as_str();
    if matches!(text, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "/dev/fd/1") {
        return Target::Own;
    }
    if text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/") {
        return Target::Network;
    }
    let parts: Vec<&str> =
        text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.contains(&"..") || text.starts_with('~') || text.is_empty() {
        return Target::Unclear;
    }
    let hidden = |part: &&str| part.starts_with('.') || SETTINGS.contains(part);
    if parts.iter().any(hidden) {
        return Target::Settings;
    }
    if word.known().is_none() {
        return Target::Unclear;
    }
    let inside = match (text.starts_with('/'), parts.as_slice()) {
        (false, inside) | (true, ["chat", inside @ ..]) => inside,
        (true, ["tmp" | "var", ..]) => return Target::Own,
        (true, ["dev", ..]) => return Target::Device,
        (true, _) => return Target::Unclear,
    };
    if inside.first() == Some(&"incoming") { Target::Original } else { Target::Work }
}
