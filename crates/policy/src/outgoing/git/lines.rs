//! Git's lines on the wire: each begins with its length, in four digits.

use super::AGENT;
use super::offered::Offered;

pub(super) enum GitLine<'a> {
    Text(&'a [u8]),
    /// The end of a part, which has no text.
    End,
}

/// Git's lines: each begins with its length.
pub(super) struct Lines<'a>(pub(super) &'a [u8]);

impl<'a> Lines<'a> {
    /// The next one; none at the end, and nothing where there is no line.
    pub(super) fn next(&mut self) -> Option<Option<GitLine<'a>>> {
        if self.0.is_empty() {
            return None;
        }
        Some(self.line())
    }

    fn line(&mut self) -> Option<GitLine<'a>> {
        let digits = self.0.get(..4).filter(|d| d.iter().all(u8::is_ascii_hexdigit))?;
        let length = usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        let end = length.max(4);
        let text = self.0.get(4..end)?;
        self.0 = self.0.get(end..)?;
        match length {
            0..=2 => Some(GitLine::End),
            3 => None,
            _ => Some(GitLine::Text(text)),
        }
    }
}

/// Lines of our own.
#[derive(Default)]
pub(super) struct OwnLines(pub(super) Vec<u8>);

impl OwnLines {
    pub(super) fn line(&mut self, text: &str) {
        self.0.extend_from_slice(format!("{:04x}{text}", text.len() + 4).as_bytes());
    }

    pub(super) fn capabilities(&mut self, offered: &Offered) {
        if offered.agent {
            self.line(&format!("agent={AGENT}"));
        }
        if let Some(format) = offered.object_format {
            self.line(format);
        }
    }

    pub(super) fn flush(&mut self) {
        self.0.extend_from_slice(b"0000");
    }
}
