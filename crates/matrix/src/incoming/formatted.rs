//! The HTML of a message, as far as it says what of its words the person only passes on. Pure.
//!
//! Clients write a message twice, and some of them leave the marks of a quotation or a block of code out of the
//! plain words. Promises: what stands in such an element stands behind marks in the plain words as well; where it
//! can't be found there, all of them do.

use std::collections::BTreeSet;

use super::text::{behind_marks, called, clean};

/// More than an event can hold is not read.
const MAX_BYTES: usize = 128 << 10;

/// Elements that hold what somebody else said, or code.
const QUOTING: &[&str] = &["blockquote", "pre"];
/// Elements that begin a line.
const BLOCKS: &[&str] =
    &["br", "p", "div", "li", "ul", "ol", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "tr", "table"];
/// What the address of a person begins with.
const PERSON: &[&str] = &["https://matrix.to/#/@", "https://matrix.to/#/%40", "matrix:u/"];

/// What is looked at of the HTML.
#[derive(Debug, Default)]
struct Passed {
    /// The lines in quotations and in blocks of code, without the blanks around them.
    lines: BTreeSet<String>,
    /// What people are called who are mentioned.
    names: Vec<String>,
}

/// The plain words, with marks for what the HTML says is passed on.
pub(super) fn with_marks(body: &str, html: &str) -> String {
    if html.len() > MAX_BYTES {
        return behind_marks(body);
    }
    let passed = Passed::of(html);
    let mut body = body.to_owned();
    for name in passed.names.iter().filter(|name| name.len() > 1 && called(name) != **name) {
        body = body.replace(name.as_str(), &called(name));
    }
    if passed.lines.is_empty() {
        return body;
    }
    let is_marked = |line: &str| {
        let line = line.trim_start();
        line.starts_with('>') || is_fence(line)
    };
    let said: BTreeSet<&str> = body.lines().map(str::trim).collect();
    let there = |line: &String| said.contains(line.as_str());
    if !body.lines().any(is_marked) && !passed.lines.iter().all(there) {
        return behind_marks(&body);
    }
    mark_lines(&body, &passed.lines)
}

fn mark_lines(body: &str, passed: &BTreeSet<String>) -> String {
    let (mut out, mut fenced, mut quoting) = (Vec::new(), false, false);
    for line in body.split('\n') {
        let fence = is_fence(line.trim_start());
        let passes_on = !fenced && !fence && passed.contains(line.trim());
        // A quotation goes on to the end of its paragraph.
        if quoting && !passes_on && !line.trim().is_empty() {
            out.push(String::new());
        }
        out.push(if passes_on { behind_marks(line) } else { line.to_owned() });
        quoting = passes_on;
        fenced ^= fence;
    }
    out.join("\n")
}

fn is_fence(line: &str) -> bool {
    line.starts_with("```") || line.starts_with("~~~")
}

impl Passed {
    fn of(html: &str) -> Self {
        let mut passed = Self::default();
        let (mut depth, mut reply, mut line, mut name) = (0_usize, 0_usize, String::new(), None);
        let mut rest = html;
        while let Some((text, after)) = rest.split_once('<') {
            passed.text(text, depth > 0 && reply == 0, &mut line, &mut name);
            let Some((tag, more)) = after.split_once('>') else { break };
            rest = more;
            let closes = tag.starts_with('/');
            let element = tag.trim_start_matches('/').split([' ', '\t', '\n', '/']).next();
            let element = element.unwrap_or_default().to_ascii_lowercase();
            let step = |depth: usize| if closes { depth.saturating_sub(1) } else { depth + 1 };
            if element == "mx-reply" {
                reply = step(reply);
            } else if QUOTING.contains(&element.as_str()) {
                passed.end_line(&mut line);
                depth = step(depth);
            } else if BLOCKS.contains(&element.as_str()) {
                passed.end_line(&mut line);
            } else if element == "a" {
                passed.names.extend(name.take());
                let is_person = PERSON.iter().any(|person| decoded(tag).contains(person));
                name = (!closes && is_person).then(String::new);
            }
        }
        passed.text(rest, depth > 0 && reply == 0, &mut line, &mut name);
        passed.end_line(&mut line);
        passed.names.extend(name);
        passed
    }

    fn text(&mut self, text: &str, quoted: bool, line: &mut String, name: &mut Option<String>) {
        let text = clean(&decoded(text));
        if let Some(name) = name {
            name.push_str(&text);
        }
        if !quoted {
            return;
        }
        let mut parts = text.split('\n');
        line.push_str(parts.next().unwrap_or_default());
        for part in parts {
            self.end_line(line);
            line.push_str(part);
        }
    }

    fn end_line(&mut self, line: &mut String) {
        let ended = std::mem::take(line);
        let ended = ended.trim();
        if !ended.is_empty() {
            self.lines.insert(ended.to_owned());
        }
    }
}

/// With characters in the place of their names.
fn decoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let named = after.split_once(';').filter(|(name, _)| name.len() <= 8);
        match named.and_then(|(name, more)| Some((character(name)?, more))) {
            Some((c, more)) => {
                out.push(c);
                rest = more;
            }
            None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

fn character(name: &str) -> Option<char> {
    Some(match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
    })
}

#[cfg(test)]
#[path = "formatted_tests.rs"]
mod tests;
