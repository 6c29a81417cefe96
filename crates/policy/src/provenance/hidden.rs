//! What of a line its readers do not see: where a link leads, what stands inside of a tag.
//!
//! Nobody has said what stands there, whoever wrote the line.

use std::borrow::Cow;

/// Elements that lead somewhere, or show what is somewhere.
const LEADS: &[&str] = &[
    "a", "area", "audio", "base", "button", "embed", "form", "frame", "iframe", "image", "img",
    "input", "link", "meta", "object", "source", "svg", "track", "use", "video",
];

/// A line as its readers see it: without the addresses that stand behind other words (`[here](https://…)`) or in a
/// tag (`<a href="https://…">`).
pub(super) fn shown(line: &str) -> Cow<'_, str> {
    match without_targets(line) {
        Cow::Borrowed(line) => without_tags(line),
        Cow::Owned(kept) => Cow::Owned(without_tags(&kept).into_owned()),
    }
}

/// Whether a line says where a link leads that stands elsewhere (`[1]: https://…`), or ends by saying so.
pub(super) fn is_definition(line: &str) -> bool {
    let defines = |(label, _): (&str, &str)| {
        let label = label.strip_prefix('[').unwrap_or(label);
        !label.contains('[')
    };
    line.split_once("]:").is_some_and(defines)
}

/// Whether what is hidden goes on behind the end of the line.
pub(super) fn goes_on(line: &str) -> bool {
    let target = line.rsplit_once("](").is_some_and(|(_, target)| target_end(target).is_none());
    target || tags(line).any(|tag| tag.end.is_none() && tag.may_go_on())
}

fn without_targets(line: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut rest = line;
    while let Some((before, target)) = rest.split_once("](") {
        kept.push_str(before);
        let label = before.rsplit_once('[').map_or(before, |(_, label)| label);
        let word = target.find(char::is_whitespace).unwrap_or(target.len());
        let address = target.get(..word).unwrap_or_default();
        let address = address.trim_end_matches([')', '.', ',', ';', ':', '!', '?']);
        if address == label {
            kept.push_str("](");
            rest = target;
            continue;
        }
        kept.push(']');
        // Its title is hidden as well.
        rest = target_end(target).and_then(|end| target.get(end..)).unwrap_or_default();
    }
    if kept.is_empty() {
        return Cow::Borrowed(line);
    }
    kept.push_str(rest);
    if kept == line { Cow::Borrowed(line) } else { Cow::Owned(kept) }
}

/// Where the target of a link ends for certain: behind its bracket, with nothing in between that some readers take for
/// more of it.
fn target_end(target: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, c) in target.char_indices() {
        match c {
            ')' if open == 0 => return Some(at + c.len_utf8()),
            ')' => open -= 1,
            '(' => open += 1,
            '\\' | '<' | '"' | '\'' => return None,
            c if c.is_whitespace() => return None,
            _ => {}
        }
    }
    None
}

fn without_tags(line: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut from = 0;
    for tag in tags(line).filter(Tag::hides) {
        // Inside of one that hides more.
        if tag.start < from {
            continue;
        }
        kept.push_str(line.get(from..tag.start).unwrap_or_default());
        kept.push(' ');
        from = tag.end.unwrap_or(line.len());
    }
    if from == 0 {
        return Cow::Borrowed(line);
    }
    kept.push_str(line.get(from..).unwrap_or_default());
    Cow::Owned(kept)
}

struct Tag<'a> {
    start: usize,
    /// None: not on this line.
    end: Option<usize>,
    name: &'a str,
    /// All behind its name.
    behind: &'a str,
}

/// The tags of a line, as a reader takes them that lets them go on farthest.
fn tags(line: &str) -> impl Iterator<Item = Tag<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = line.get(from..)?;
            let start = from + rest.find('<')?;
            let text = line.get(start..)?;
            if !is_tag(text) {
                from = start + 1;
                continue;
            }
            let name = text.get(1..)?.trim_start_matches('/');
            let length = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
            let (name, behind) = name.split_at(length);
            let end = tag_end(text).map(|end| start + end);
            let behind = end
                .map_or(behind, |end| line.get(line.len() - behind.len()..end).unwrap_or(behind));
            from = end.unwrap_or(line.len());
            return Some(Tag { start, end, name, behind });
        }
    })
}

/// Behind the bracket that no quote is around.
fn tag_end(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '>') => return Some(at + 1),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None | Some(_), _) => {}
        }
    }
    None
}

impl Tag<'_> {
    /// Whether something stands in it that could be an address.
    fn hides(&self) -> bool {
        self.behind.contains('=') && self.behind.contains(['.', '@', ':'])
    }

    fn may_go_on(&self) -> bool {
        let name = self.name.to_ascii_lowercase();
        self.behind.trim().is_empty() || self.behind.contains('=') || LEADS.contains(&name.as_str())
    }
}

/// `<name …` or `</name…`: the beginning of a block of HTML, and no address in angle brackets.
pub(super) fn is_tag(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('<') else { return false };
    if rest.starts_with(['!', '?']) {
        return true;
    }
    let name = rest.strip_prefix('/').unwrap_or(rest);
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(name.len());
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let behind = name.get(end..).and_then(|behind| behind.chars().next());
    begins && behind.is_none_or(|c| c.is_whitespace() || c == '>' || c == '/')
}

#[cfg(test)]
#[path = "hidden_tests.rs"]
mod tests;
