//! A text with marks on it, as Telegram takes it: plain characters, and a list of what is bold, code, a link.
//!
//! Promises: every mark begins and ends between two characters, inside the text, and around something that can
//! be seen; two marks lie apart or one inside the other; nothing lies in code. What has to be cut is cut between
//! characters that a person sees, each half with its marks, and the halves make the same text again.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use crate::session::methods::{Entity, EntityKind};

/// The most marks of one message that Telegram takes; it ignores the others.
pub(super) const MAX_MARKS: usize = 100;

/// What a mark says about its characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Bold,
    Italic,
    Strike,
    Code,
    /// A block of code, and its language.
    Pre(Option<String>),
    Link(String),
    /// `long`: shown folded.
    Quote {
        long: bool,
    },
}

impl Kind {
    /// Cut in two, it would not be what it was.
    const fn is_one(&self) -> bool {
        match self {
            Self::Code | Self::Link(_) => true,
            Self::Bold | Self::Italic | Self::Strike | Self::Pre(_) | Self::Quote { .. } => false,
        }
    }

    /// Which one is outside where two have the same characters.
    pub(super) const fn rank(&self) -> u8 {
        match self {
            Self::Quote { .. } => 0,
            Self::Link(_) => 1,
            Self::Bold => 2,
            Self::Italic => 3,
            Self::Strike => 4,
            Self::Pre(_) | Self::Code => 5,
        }
    }
}

/// A mark, and which bytes of the text it is on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Mark {
    pub(super) kind: Kind,
    pub(super) at: Range<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) text: String,
    pub(super) marks: Vec<Mark>,
}

/// How long a text is, as Telegram counts: in units of UTF-16.
pub(super) fn units(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

impl Text {
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), marks: Vec::new() }
    }

    pub(super) fn units(&self) -> usize {
        units(&self.text)
    }

    pub(super) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Puts a mark on bytes of the text, if anything can be seen there.
    pub(super) fn mark(&mut self, kind: Kind, at: Range<usize>) {
        if self.text.get(at.clone()).is_some_and(|marked| !marked.trim().is_empty()) {
            self.marks.push(Mark { kind, at });
        }
    }

    /// Adds a text, all of it with one mark.
    pub(super) fn push(&mut self, text: &str, kind: Option<Kind>) {
        let start = self.text.len();
        self.text.push_str(text);
        if let Some(kind) = kind {
            self.mark(kind, start..self.text.len());
        }
    }

    /// The same without the blanks around it, which Telegram takes away, too.
    pub(super) fn trimmed(&self) -> Self {
        let start = self.text.len() - self.text.trim_start().len();
        let end = self.text.trim_end().len();
        self.part(start.min(end)..end)
    }

    /// A part of it with the marks that are on it.
    fn part(&self, of: Range<usize>) -> Self {
        let mut part = Self::plain(self.text.get(of.clone()).unwrap_or_default());
        for mark in &self.marks {
            let start = mark.at.start.max(of.start);
            let end = mark.at.end.min(of.end);
            if start < end {
                part.mark(mark.kind.clone(), start - of.start..end - of.start);
            }
        }
        part
    }

    /// Pieces that are no longer than `longest` units, unless a single character is.
    pub(super) fn split(&self, longest: usize) -> Vec<Self> {
        let mut pieces = Vec::new();
        let mut start = 0;
        while let Some(rest) = self.text.get(start..).filter(|rest| !rest.is_empty()) {
            let window = within(rest, longest);
            let length = if window == rest.len() { window } else { self.cut(start, window) };
            pieces.push(self.part(start..start + length));
            start += length;
        }
        pieces
    }

    /// How many bytes from `start` on the next piece has, at most `window`.
    fn cut(&self, start: usize, window: usize) -> usize {
        let rest = self.text.get(start..).unwrap_or_default();
        let is_here = |mark: &&Mark| {
            mark.kind.is_one() && mark.at.end > start && mark.at.start < start + window
        };
        let ones: Vec<&Mark> = self.marks.iter().filter(is_here).collect();
        let is_whole = |at: usize| {
            let at = start + at;
            !ones.iter().any(|mark| mark.at.start < at && at < mark.at.end)
        };
        let mut best: Option<(Break, usize)> = None;
        for (at, kind) in breaks(rest, window) {
            // A piece that is nearly nothing is no good place, however good the break.
            let kind = if at < window / 3 || !is_whole(at) { Break::Poor } else { kind };
            if best.is_none_or(|(before, _)| kind >= before) {
                best = Some((kind, at));
            }
        }
        match best {
            Some((Break::Poor, _)) | None => last_seen(rest, window, is_whole),
            Some((_, at)) => at,
        }
    }

    /// The marks that Telegram takes, the outer before the inner.
    fn taken(&self) -> Vec<&Mark> {
        let mut marks: Vec<&Mark> = self.marks.iter().collect();
        marks.sort_by_key(|mark| (mark.at.start, usize::MAX - mark.at.end, mark.kind.rank()));
        marks.truncate(MAX_MARKS);
        marks
    }

    /// Which bytes are shown as code.
    pub(super) fn code(&self) -> Vec<Range<usize>> {
        let code = |mark: &&&Mark| matches!(mark.kind, Kind::Code | Kind::Pre(_));
        self.taken().iter().filter(code).map(|mark| mark.at.clone()).collect()
    }

    /// Where marks begin and end, in bytes.
    pub(super) fn edges(&self) -> Vec<usize> {
        self.taken().iter().flat_map(|mark| [mark.at.start, mark.at.end]).collect()
    }

    /// The marks as Telegram takes them.
    pub(super) fn entities(&self) -> Vec<Entity> {
        let marks = self.taken();
        let mut counter = Counter { text: &self.text, byte: 0, units: 0 };
        let mut entities = Vec::with_capacity(marks.len());
        for mark in marks {
            let offset = counter.upto(mark.at.start);
            let length = units(self.text.get(mark.at.clone()).unwrap_or_default());
            let (Ok(offset), Ok(length)) = (u16::try_from(offset), u16::try_from(length)) else {
                continue;
            };
            entities.push(entity(&mark.kind, offset, length));
        }
        entities
    }
}

/// Counts units in a text from its beginning to its end.
struct Counter<'a> {
    text: &'a str,
    byte: usize,
    units: usize,
}

impl Counter<'_> {
    fn upto(&mut self, byte: usize) -> usize {
        self.units += units(self.text.get(self.byte..byte).unwrap_or_default());
        self.byte = byte;
        self.units
    }
}

fn entity(kind: &Kind, offset: u16, length: u16) -> Entity {
    let (kind, url, language) = match kind {
        Kind::Bold => (EntityKind::Bold, None, None),
        Kind::Italic => (EntityKind::Italic, None, None),
        Kind::Strike => (EntityKind::Strikethrough, None, None),
        Kind::Code => (EntityKind::Code, None, None),
        Kind::Pre(language) => (EntityKind::Pre, None, language.clone()),
        Kind::Link(url) => (EntityKind::TextLink, Some(url.clone()), None),
        Kind::Quote { long: false } => (EntityKind::Blockquote, None, None),
        Kind::Quote { long: true } => (EntityKind::ExpandableBlockquote, None, None),
    };
    Entity { kind, offset, length, url, language }
}

/// How good a place for a break is; the best last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Break {
    Poor,
    Word,
    Sentence,
    Line,
    Paragraph,
}

/// How many bytes of a text have no more than so many units, and at least one character.
fn within(text: &str, longest: usize) -> usize {
    let mut count = 0;
    for (at, c) in text.char_indices() {
        count += c.len_utf16();
        if count > longest && at > 0 {
            return at;
        }
    }
    text.len()
}

/// The places between words, sentences, lines and paragraphs, each after what separates them.
fn breaks(text: &str, window: usize) -> impl Iterator<Item = (usize, Break)> {
    let mut before = ['\0'; 2];
    text.char_indices()
        .map_while(move |(at, c)| {
            let after = at + c.len_utf8();
            if after > window {
                return None;
            }
            let kind = match (before, c) {
                ([_, '\n'], '\n') => Some(Break::Paragraph),
                (_, '\n') => Some(Break::Line),
                ([_, '.' | '!' | '?' | ':' | ';'], ' ') | (_, '。' | '！' | '？') => {
                    Some(Break::Sentence)
                }
                (_, c) if c.is_whitespace() => Some(Break::Word),
                _ => None,
            };
            before = [before[1], c];
            Some(kind.map(|kind| (after, kind)))
        })
        .flatten()
}

/// The last place within the window between two characters that a person sees, outside what is one if it can be.
fn last_seen(text: &str, window: usize, is_whole: impl Fn(usize) -> bool) -> usize {
    let places = || {
        let seen = text.grapheme_indices(true).map(|(at, _)| at);
        seen.take_while(|at| *at <= window).filter(|at| *at > 0)
    };
    let good = |at: &usize| *at >= window / 3 && is_whole(*at);
    places().filter(good).last().or_else(|| places().last()).unwrap_or(window)
}

#[cfg(test)]
#[path = "text_tests.rs"]
pub(super) mod tests;
