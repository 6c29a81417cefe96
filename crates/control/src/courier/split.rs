//! Splits a text into messages that a surface takes.
//!
//! Promises: every character of the text is in exactly one piece, in order; no piece is longer than allowed
//! unless a single character is; a block of code that has to be cut is closed and opened again with its info
//! string. Breaks come between paragraphs if they can, then between lines, sentences and words, and never
//! inside what a person sees as one character.

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

/// How much a surface takes, as it counts.
#[derive(Clone, Copy)]
pub(super) struct Limit<'m> {
    pub(super) longest: usize,
    pub(super) measure: &'m dyn Fn(&str) -> usize,
}

/// No surface shows a text longer than so many times its bytes.
const WORST: usize = 8;
/// None shows a text that is so many times as long as it takes in one message.
const MOST: usize = 64;

impl Limit<'_> {
    pub(super) fn fits(&self, text: &str) -> bool {
        text.len().saturating_mul(WORST) <= self.longest || (self.measure)(text) <= self.longest
    }
}

/// One message's share of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    /// Opens the block of code again that the piece before had to close.
    pub(super) reopens: String,
    pub(super) text: &'a str,
    /// Closes a block of code that goes on in the next piece.
    pub(super) closes: String,
}

impl Piece<'_> {
    pub(super) fn markdown(&self) -> String {
        format!("{}{}{}", self.reopens, self.text, self.closes)
    }

    /// There is nothing in it to see.
    pub(super) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}

/// The line that opened a block of code.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fence {
    indent: String,
    /// The backticks or tildes.
    marks: String,
    info: String,
}

impl Fence {
    /// The fence that a line opens.
    fn opened_by(line: &str) -> Option<Self> {
        let line = line.trim_end();
        let body = line.trim_start();
        let mark = body.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let info = body.trim_start_matches(mark);
        let length = body.len() - info.len();
        if length < 3 || (mark == '`' && info.contains('`')) {
            return None;
        }
        let indent = line.get(..line.len() - body.len()).unwrap_or_default().to_owned();
        Some(Self { indent, marks: mark.to_string().repeat(length), info: info.to_owned() })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        let mark = self.marks.chars().next().unwrap_or('`');
        line.len() >= self.marks.len() && line.chars().all(|c| c == mark)
    }

    fn reopening(&self) -> String {
        format!("{}{}{}\n", self.indent, self.marks, self.info)
    }

    fn closing(&self, at_line_start: bool) -> String {
        let new_line = if at_line_start { "" } else { "\n" };
        format!("{new_line}{}{}", self.indent, self.marks)
    }
}

/// How good a place for a break is; the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum BreakKind {
    Paragraph,
    Line,
    Sentence,
    Word,
}

/// A place where a text can be broken.
#[derive(Clone, Debug)]
struct Break {
    at: usize,
    kind: BreakKind,
    /// The block of code that is open there.
    fence: Option<Fence>,
}

/// What is still to be given to pieces.
struct Rest<'a> {
    text: &'a str,
    /// The block of code that it begins in.
    fence: Option<Fence>,
    /// It begins inside a line, which then neither opens nor closes anything.
    mid_line: bool,
}

/// Where a piece begins, and in what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) at: usize,
    /// The block of code that it begins in.
    fence: Option<Fence>,
    mid_line: bool,
}

pub(super) fn split<'a>(text: &'a str, limit: &Limit<'_>) -> Vec<Piece<'a>> {
    split_from(text, &Start::default(), limit).into_iter().map(|(_, piece)| piece).collect()
}

/// The pieces from where one begins, each with where that is.
pub(super) fn split_from<'a>(
    text: &'a str,
    from: &Start,
    limit: &Limit<'_>,
) -> Vec<(Start, Piece<'a>)> {
    let mut pieces = Vec::new();
    let mut rest = Rest {
        text: text.get(from.at..).unwrap_or_default(),
        fence: from.fence.clone(),
        mid_line: from.mid_line,
    };
    while !rest.text.is_empty() {
        let at = text.len() - rest.text.len();
        let start = Start { at, fence: rest.fence.clone(), mid_line: rest.mid_line };
        let (piece, after) = rest.cut(limit);
        pieces.push((start, piece));
        rest = after;
    }
    pieces
}

/// What closes the block of code that a text ends in, if it ends in one.
pub(super) fn closing_of(text: &str) -> String {
    let mut fence: Option<Fence> = None;
    for line in text.lines() {
        fence = match fence {
            None => Fence::opened_by(line),
            Some(open) if open.is_closed_by(line) => None,
            open => open,
        };
    }
    fence.map(|fence| fence.closing(text.ends_with('\n'))).unwrap_or_default()
}

impl<'a> Rest<'a> {
    /// Cuts the next piece off.
    fn cut(&self, limit: &Limit<'_>) -> (Piece<'a>, Rest<'a>) {
        let reopens = self.fence.as_ref().map(Fence::reopening).unwrap_or_default();
        // Whether all of a long text fits is not asked for every piece of it: that would take as many times as long.
        let could_fit = self.text.len() / MOST <= limit.longest;
        if could_fit && limit.fits(&format!("{reopens}{}", self.text)) {
            let done = Rest { text: "", fence: None, mid_line: false };
            return (Piece { reopens, text: self.text, closes: String::new() }, done);
        }
        let window = self.window(&reopens, limit);
        let found = self.best(window, &reopens, limit);
        let place = found.unwrap_or_else(|| self.anywhere(window, &reopens, limit));
        let (head, tail) = self.text.split_at_checked(place.at).unwrap_or((self.text, ""));
        let closes = closing(place.fence.as_ref(), head);
        let after = Rest { text: tail, fence: place.fence, mid_line: !head.ends_with('\n') };
        (Piece { reopens, text: head, closes }, after)
    }

    /// How far the text fits, were nothing to be closed.
    fn window(&self, reopens: &str, limit: &Limit<'_>) -> usize {
        let fits = |end: usize| {
            let head = self.text.get(..end).unwrap_or_default();
            limit.fits(&format!("{reopens}{head}"))
        };
        let end = self.text.len();
        let (mut low, mut high) = (0, limit.longest.clamp(1, end));
        while high < end && fits(self.text.floor_char_boundary(high)) {
            low = self.text.floor_char_boundary(high);
            high = high.saturating_mul(2).min(end);
        }
        while low + 1 < high {
            let middle = low.midpoint(high);
            let at = self.text.floor_char_boundary(middle);
            if fits(at) {
                // A boundary below the middle says as much about the middle.
                low = middle;
            } else {
                high = middle;
            }
        }
        self.text.floor_char_boundary(low)
    }

    /// The best place within the window, not too near to its beginning if that can be.
    fn best(&self, window: usize, reopens: &str, limit: &Limit<'_>) -> Option<Break> {
        let breaks = self.breaks(window, limit);
        for least in [window / 3, 1] {
            for kind in
                [BreakKind::Paragraph, BreakKind::Line, BreakKind::Sentence, BreakKind::Word]
            {
                let fitting = |place: &&Break| {
                    place.kind == kind && place.at >= least && self.can_be(place, reopens, limit)
                };
                if let Some(place) = breaks.iter().rev().find(fitting) {
                    return Some(place.clone());
                }
            }
        }
        None
    }

    fn can_be(&self, place: &Break, reopens: &str, limit: &Limit<'_>) -> bool {
        let (head, tail) = self.text.split_at_checked(place.at).unwrap_or((self.text, ""));
        // What follows would look like a fence at the beginning of a message.
        let like_fence =
            !head.ends_with('\n') && (tail.starts_with("```") || tail.starts_with("~~~"));
        let whole = GraphemeCursor::new(place.at, self.text.len(), true).is_boundary(self.text, 0);
        let closes = closing(place.fence.as_ref(), head);
        !like_fence && whole.unwrap_or(true) && limit.fits(&format!("{reopens}{head}{closes}"))
    }

    /// Every place between paragraphs, lines, sentences and words within the window, in order.
    fn breaks(&self, window: usize, limit: &Limit<'_>) -> Vec<Break> {
        let mut breaks = Vec::new();
        let mut fence = self.fence.clone();
        let mut start = 0;
        let mut lines = self.text.split_inclusive('\n').peekable();
        while let Some(line) = lines.next() {
            if start >= window {
                break;
            }
            let partial = start == 0 && self.mid_line;
            let before = fence.clone();
            let mut touched = false;
            if !partial {
                match &fence {
                    Some(open) if open.is_closed_by(line) => (fence, touched) = (None, true),
                    Some(_) => {}
                    None => {
                        fence = Fence::opened_by(line).filter(|fence| is_affordable(fence, limit));
                        touched = fence.is_some();
                    }
                }
            }
            if !touched {
                within_line(&mut breaks, line, start, window, before.as_ref());
            }
            start += line.len();
            if start <= window && line.ends_with('\n') {
                let next = lines.peek().copied().unwrap_or_default();
                let kind = kind_after(line, next, fence.as_ref(), touched);
                breaks.push(Break { at: start, kind, fence: fence.clone() });
            }
        }
        breaks
    }

    /// The last character within the window where a break can be; the first one if there is none.
    fn anywhere(&self, window: usize, reopens: &str, limit: &Limit<'_>) -> Break {
        let lines = self.lines(window, limit);
        let fence_at = |at: usize| {
            let line = lines.iter().rev().find(|(start, _)| *start < at);
            line.and_then(|(_, fence)| fence.as_ref())
        };
        let fitting = |at: &usize| {
            let head = self.text.get(..*at).unwrap_or_default();
            let closes = closing(fence_at(*at), head);
            *at > 0 && limit.fits(&format!("{reopens}{head}{closes}"))
        };
        let within = |at: &usize| *at <= window;
        let seen = self.text.grapheme_indices(true).map(|(at, _)| at).take_while(within);
        let last = seen.collect::<Vec<_>>().into_iter().rev().find(fitting);
        let at = last.or_else(|| {
            let chars = self.text.char_indices().map(|(at, _)| at).take_while(within);
            chars.collect::<Vec<_>>().into_iter().rev().find(fitting)
        });
        let at = at.unwrap_or_else(|| self.text.chars().next().map_or(0, char::len_utf8));
        Break { at, kind: BreakKind::Word, fence: fence_at(at).cloned() }
    }

    /// Where each line of the window begins, and the block of code that it is in.
    fn lines(&self, window: usize, limit: &Limit<'_>) -> Vec<(usize, Option<Fence>)> {
        let mut lines = vec![(0, self.fence.clone())];
        let breaks = self.breaks(window, limit);
        let ends = breaks.into_iter().filter(|place| self.is_line_start(place.at));
        lines.extend(ends.map(|place| (place.at, place.fence)));
        lines
    }

    fn is_line_start(&self, at: usize) -> bool {
        self.text.get(..at).is_some_and(|head| head.ends_with('\n'))
    }
}

/// What closes the block of code that is open at the end of `head`.
fn closing(fence: Option<&Fence>, head: &str) -> String {
    fence.map(|fence| fence.closing(head.ends_with('\n'))).unwrap_or_default()
}

/// Opening and closing it again leaves room for what is in it.
fn is_affordable(fence: &Fence, limit: &Limit<'_>) -> bool {
    let added = format!("{}{}", fence.reopening(), fence.closing(false));
    (limit.measure)(&added) <= limit.longest / 2
}

/// How good a break after a line is. `touched`: the line opened or closed the block of code.
fn kind_after(line: &str, next: &str, fence: Option<&Fence>, touched: bool) -> BreakKind {
    match fence {
        // An empty block of code would be left behind, or would follow.
        Some(_) if touched => BreakKind::Word,
        Some(open) if open.is_closed_by(next) => BreakKind::Word,
        Some(_) => BreakKind::Line,
        None if touched || line.trim().is_empty() => BreakKind::Paragraph,
        None if Fence::opened_by(next).is_some() => BreakKind::Paragraph,
        None => BreakKind::Line,
    }
}

/// Adds the places between the words and sentences of a line.
fn within_line(
    breaks: &mut Vec<Break>,
    line: &str,
    start: usize,
    window: usize,
    fence: Option<&Fence>,
) {
    let mut before = None;
    for (offset, c) in line.char_indices() {
        let at = start + offset + c.len_utf8();
        if at > window {
            return;
        }
        let ends_sentence = matches!(before, Some('.' | '!' | '?' | ':' | ';')) && c == ' ';
        let kind = match c {
            '。' | '！' | '？' if fence.is_none() => Some(BreakKind::Sentence),
            ' ' if ends_sentence && fence.is_none() => Some(BreakKind::Sentence),
            '\n' => None,
            c if c.is_whitespace() => Some(BreakKind::Word),
            _ => None,
        };
        if let Some(kind) = kind {
            breaks.push(Break { at, kind, fence: fence.cloned() });
        }
        before = Some(c);
    }
}

#[cfg(test)]
#[path = "split_tests.rs"]
mod tests;
