//! The terminal: what may be written to it, in which colours, and how it is left behind.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

/// Text that does nothing to a terminal but appear on it: what would move its cursor, change its
/// settings, turn the order of letters around or not be seen at all becomes visible instead.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_harmless) {
        return Cow::Borrowed(text);
    }
    // The end of a line as other systems write it is no attack.
    let text = text.replace("\r\n", "\n");
    Cow::Owned(text.chars().map(|c| if is_harmless(c) { c } else { stand_in(c) }).collect())
}

fn is_harmless(c: char) -> bool {
    !cloister_policy::is_hidden(c)
}

/// The picture of a control character.
fn stand_in(c: char) -> char {
    match u32::from(c) {
        code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or('\u{FFFD}'),
        0x7F => '\u{2421}',
        _ => '\u{FFFD}',
    }
}

/// JSON that does nothing to a terminal either; it still reads as the same value.
pub(crate) fn harmless_json(json: &str) -> Cow<'_, str> {
    if json.chars().all(is_harmless) {
        return Cow::Borrowed(json);
    }
    let mut safe = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_harmless(c) {
            safe.push(c);
        } else {
            // Such characters stand in strings only.
            for unit in c.encode_utf16(&mut [0; 2]) {
                safe.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    Cow::Owned(safe)
}

/// Whether standard output is read by a person now.
pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Colours, where they are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    pub(crate) fn for_stderr() -> Self {
        Self { on: io::stderr().is_terminal() && crate::config::colours_wanted() }
    }

    pub(crate) fn for_stdout() -> Self {
        Self { on: stdout_is_terminal() && crate::config::colours_wanted() }
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Puts the terminal back as it was, whatever happens to whoever changed it.
pub(crate) struct AsItWas {
    settings: Option<Termios>,
}

impl AsItWas {
    pub(crate) fn remember() -> Self {
        Self { settings: tcgetattr(io::stdin()).ok() }
    }
}

impl Drop for AsItWas {
    fn drop(&mut self) {
        if let Some(settings) = &self.settings {
            // A terminal that is gone needs nothing.
            tcsetattr(io::stdin(), OptionalActions::Drain, settings).ok();
            let mut out = io::stdout().lock();
            out.write_all(b"\x1b[?2004l").and_then(|()| out.flush()).ok();
        }
    }
}

#[cfg(test)]
#[path = "terminal_tests.rs"]
mod tests;
