//! Which lines of a message are the person's own, and which they only pass on.
//!
//! Markdown says what a quotation is, and programs differ in how they read it; whoever wrote what is
//! passed on may have meant to be read in two ways. So a line is the person's own only where every
//! reading says so: before the first fence and after the last one, if that is closed for certain; in
//! no quotation, no paragraph that goes on from one, no block of HTML, not indented as code is. A fence
//! in the midst of a line is one for some readers, and `>>>` quotes all that follows for some. What programs and people
//! put around somebody else's words without marking each line is in `passed_on` and `speech`.

use std::borrow::Cow;

use super::hidden::{goes_on, is_definition, is_tag, shown};
use super::{passed_on, speech};

/// What a line begins with that tells what somebody else is called, or a place.
const TOLD: &[&str] = &["(contact) ", "(place) "];

/// Elements that hold what somebody else said, or code.
const QUOTING: &[&str] = &[
    "blockquote",
    "q",
    "cite",
    "pre",
    "code",
    "samp",
    "kbd",
    "xmp",
    "listing",
    "plaintext",
    "textarea",
    "script",
    "style",
    "template",
    "details",
];

/// What ends a line for some readers and not for others.
pub(super) const ODD_BREAKS: &[char] = &['\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];

/// How many ways to read a message's fences are followed.
const MAX_READINGS: usize = 32;

/// The person's own lines, and whether there are others.
pub(super) struct Own<'a> {
    pub(super) lines: Vec<&'a str>,
    pub(super) others: bool,
}

pub(super) fn own(text: &str) -> Own<'_> {
    let lines: Vec<&str> = text.split('\n').map(|line| line.trim_end_matches('\r')).collect();
    // What is passed on from there on counts for what stands before it: it may hold the end of a fence.
    let end = passed_on::begins(&lines).unwrap_or(lines.len());
    let read: Vec<Read> = lines.iter().map(|line| Read::of(line)).collect();
    let fenced = read.iter().any(|read| read.fence.is_some());
    let is_loose = |read: &Read| match read.within {
        Within::Nothing => false,
        // Where there are others as well, a reader may take the end of one for its beginning.
        Within::Pairs => fenced,
        Within::Open => true,
    };
    let delimits =
        |read: &Read| read.fence.is_some() || read.opens + read.closes > 0 || is_loose(read);
    let first = read.iter().position(delimits).unwrap_or(read.len());
    let last = read.iter().rposition(delimits);
    let closed = is_closed(&read) && !read.iter().any(is_loose);
    let rest = read.iter().position(|read| read.quotes_rest).unwrap_or(read.len());
    let spoken = speech::others(&lines);
    let mut own = Own { lines: Vec::new(), others: false };
    let mut carried_on = false;
    for (at, ((line, read), spoken)) in lines.iter().zip(&read).zip(spoken).enumerate() {
        if read.blank {
            carried_on = false;
            continue;
        }
        carried_on |= read.quoted || read.html;
        let within = at >= first && (last.is_some_and(|last| at <= last) || !closed);
        let passed_on = at >= end.min(rest);
        if within || carried_on || spoken || read.indented || passed_on {
            own.others = true;
        } else {
            let line = line.trim_start();
            // What a link leads to is hidden behind its words.
            own.others |= matches!(shown(line), Cow::Owned(_));
            own.lines.push(line);
        }
        carried_on |= goes_on(line);
    }
    own
}

/// Whether no reading of the fences and elements leaves one of them open.
fn is_closed(read: &[Read]) -> bool {
    let mut states: Vec<Option<(char, usize)>> = vec![None];
    for fence in read.iter().filter_map(|read| read.fence.as_ref()) {
        let mut next: Vec<Option<(char, usize)>> = Vec::new();
        for state in &states {
            let after = fence.after(*state);
            // One that only some readers take for a fence may leave all as it was.
            let either = [Some(after), (!fence.sure).then_some(*state)];
            next.extend(either.into_iter().flatten());
        }
        next.sort_unstable();
        next.dedup();
        // Who writes so many kinds of fences closes none for certain.
        if next.len() > MAX_READINGS {
            return false;
        }
        states = next;
    }
    let opened: usize = read.iter().map(|read| read.opens).sum();
    let closed: usize = read.iter().map(|read| read.closes).sum();
    states == [None] && opened == closed
}

/// What a line looks like.
#[derive(Default)]
struct Read {
    blank: bool,
    quoted: bool,
    /// HTML, or where links lead.
    html: bool,
    indented: bool,
    fence: Option<Fence>,
    within: Within,
    /// For some readers, everything from here on is a quotation.
    quotes_rest: bool,
    opens: usize,
    closes: usize,
}

/// The fences in the midst of a line.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Within {
    #[default]
    Nothing,
    /// Each that is opened is closed.
    Pairs,
    /// One is left open, or closed.
    Open,
}

impl Within {
    fn of(line: &str, fence: Option<&Fence>) -> Self {
        let runs = line.split(|c: char| c != '`').map(str::len).filter(|length| *length >= 3);
        let mut runs =
            runs.skip(usize::from(fence.is_some_and(|fence| fence.mark == '`'))).peekable();
        if runs.peek().is_none() {
            return Self::Nothing;
        }
        let (count, plain) =
            runs.fold((0_usize, true), |(count, plain), length| (count + 1, plain && length == 3));
        if fence.is_none() && plain && count % 2 == 0 { Self::Pairs } else { Self::Open }
    }
}

struct Fence {
    mark: char,
    length: usize,
    /// Nothing stands behind it.
    bare: bool,
    /// Every reader takes it for one.
    sure: bool,
}

impl Read {
    fn of(line: &str) -> Self {
        let mut read = Self { blank: line.trim().is_empty(), ..Self::default() };
        let whole = !line.contains(ODD_BREAKS);
        let mut ends_with_line = whole;
        for part in line.split(ODD_BREAKS) {
            let lead = Lead::of(part);
            let quoted = [">", "＞", "&gt;"].iter().any(|mark| lead.rest.starts_with(mark));
            read.quoted |= quoted || lead.quoted;
            ends_with_line &= quoted || lead.quoted;
            read.quoted |= TOLD.iter().any(|told| lead.rest.starts_with(told));
            let visible = |c: char| !c.is_whitespace() && !is_unseen(c);
            let text = part.find(visible).and_then(|at| part.get(at..)).unwrap_or_default();
            read.quotes_rest |= text.starts_with(">>>");
            read.html |= is_tag(lead.rest) || is_definition(lead.rest);
            read.indented |= lead.columns >= 4 && !lead.rest.is_empty();
            if let Some(fence) = Fence::of(&lead, whole) {
                read.fence = Some(fence);
            }
        }
        // In a quotation of one line it ends with that.
        if !ends_with_line {
            read.within = Within::of(line, read.fence.as_ref());
        }
        let lower = line.to_ascii_lowercase();
        for name in QUOTING {
            read.opens += count_tags(&lower, &format!("<{name}"));
            read.closes += count_tags(&lower, &format!("</{name}"));
        }
        read.opens += lower.matches("<!--").count();
        read.closes += lower.matches("-->").count();
        read
    }
}

/// What stands before the text of a line.
pub(super) struct Lead<'a> {
    /// How far the line is indented.
    columns: usize,
    /// A quotation begins among it, before something else.
    quoted: bool,
    /// A list, a quotation, or what nobody sees.
    odd: bool,
    pub(super) rest: &'a str,
}

impl<'a> Lead<'a> {
    pub(super) fn of(line: &'a str) -> Self {
        let mut lead = Self { columns: 0, quoted: false, odd: false, rest: line };
        // Found once: a line can be a quarter of a million marks of quotation.
        let last_fence = ["```", "~~~"].iter().filter_map(|fence| line.rfind(fence)).max();
        let may_have_fence =
            |rest: &str| last_fence.is_some_and(|at| at >= line.len() - rest.len());
        let mut counting = true;
        loop {
            let mut chars = lead.rest.chars();
            let Some(first) = chars.next() else { return lead };
            let after = chars.as_str();
            if first == ' ' || first == '\t' {
                lead.columns += match (counting, first) {
                    (false, _) => 0,
                    (true, '\t') => 4 - lead.columns % 4,
                    (true, _) => 1,
                };
                lead.rest = after;
            } else if first.is_whitespace() || is_unseen(first) {
                lead.odd = true;
                lead.rest = after;
            } else if let Some(after) = list_item(lead.rest) {
                lead.odd = true;
                counting = false;
                lead.rest = after;
            } else if first == '>' && may_have_fence(after) {
                lead.quoted = true;
                lead.odd = true;
                counting = false;
                lead.rest = after;
            } else {
                return lead;
            }
        }
    }
}

/// Characters without a shape of their own.
pub(super) fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(u32::from(c), 0xAD | 0x34F | 0x61C | 0x115F | 0x1160 | 0x180B..=0x180F | 0x200B..=0x200F
            | 0x202A..=0x202E | 0x2060..=0x206F | 0x2800 | 0x3164 | 0xFE00..=0xFE0F | 0xFEFF | 0xE0000..=0xE0FFF)
}

/// What follows the mark of a list.
fn list_item(text: &str) -> Option<&str> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = if (1..=9).contains(&digits) {
        text.get(digits..)?.strip_prefix(['.', ')'])?
    } else {
        text.strip_prefix(['-', '*', '+', '•'])?
    };
    rest.starts_with([' ', '\t']).then_some(rest)
}

impl Fence {
    fn of(lead: &Lead<'_>, whole: bool) -> Option<Self> {
        let mark = lead.rest.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let length = lead.rest.chars().take_while(|c| *c == mark).count();
        if length < 3 {
            return None;
        }
        // Inside of a quotation it ends with that.
        if lead.quoted && whole {
            return None;
        }
        let behind = lead.rest.trim_start_matches(mark);
        // `a` in backticks, three of them, on one line.
        let inline = mark == '`' && behind.contains('`');
        let sure = whole && !lead.odd && lead.columns < 4 && !inline;
        let bare = behind.chars().all(|c| c == ' ' || c == '\t');
        Some(Self { mark, length, bare, sure })
    }

    fn after(&self, state: Option<(char, usize)>) -> Option<(char, usize)> {
        match state {
            None => Some((self.mark, self.length)),
            Some((mark, length)) if mark == self.mark && self.length >= length && self.bare => None,
            open => open,
        }
    }
}

fn count_tags(lower: &str, tag: &str) -> usize {
    let ends = |rest: &&str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
    lower.split(tag).skip(1).filter(ends).count()
}

#[cfg(test)]
#[path = "own_tests.rs"]
pub(super) mod tests;
