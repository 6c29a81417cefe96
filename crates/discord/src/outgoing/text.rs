//! Plain text for Discord: nothing in it formats, hides, mentions or leads anywhere unless that is meant.

use std::fmt::Write as _;

use cloister_policy::{legible, link_place};

/// Stands for a backtick where a real one would end the code it is in.
const LIKE_A_BACKTICK: char = 'ˋ';
/// What ends a sentence rather than an address.
const AFTER_ADDRESS: &[char] = &['.', ',', ':', ';', '!', '?', '\'', '"', ')', ']', '}', '*', '_'];

/// How long Discord takes a text to be. It counts code points and its clients UTF-16 units; these are never fewer.
pub(super) fn length(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// As much of a text as fits, with a mark if that is not all of it.
pub(super) fn cut(text: &str, most: usize) -> String {
    if length(text) <= most {
        return text.to_owned();
    }
    let mut short = String::new();
    let mut room = most.saturating_sub(1);
    for c in text.chars() {
        if c.len_utf16() > room {
            break;
        }
        room -= c.len_utf16();
        short.push(c);
    }
    // A mark that was to protect what is gone would protect ours.
    while short.ends_with('\\') {
        short.pop();
    }
    short.push('…');
    short
}

/// On one line, with nothing hidden.
pub(crate) fn one_line(text: &str) -> String {
    legible(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text that shows as it is: no markup, no mention, no link but those that say where they lead.
/// `at_start`: it begins a line.
pub(super) fn push_text(out: &mut String, text: &str, at_start: bool) {
    let shown = legible(text);
    let mut at_start = at_start;
    for (number, line) in shown.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
            at_start = true;
        }
        push_line(out, line, at_start);
        at_start = false;
    }
}

/// As [`push_text`], on its own.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    push_text(&mut out, text, true);
    out
}

fn push_line(out: &mut String, line: &str, at_start: bool) {
    let mut rest = line;
    if at_start {
        rest = push_line_start(out, rest);
    }
    let mut before = out.chars().next_back();
    while let Some(c) = rest.chars().next() {
        if let Some((address, after)) = address_at(rest, before) {
            push_address(out, address);
            rest = after;
            before = Some('>');
            continue;
        }
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        if means_something(c, before, after) {
            out.push('\\');
        }
        out.push(c);
        before = Some(c);
        rest = after;
    }
}

/// An address that leads where it says. In these marks nothing is markup, and nothing is fetched to be shown below.
pub(super) fn push_address(out: &mut String, address: &str) {
    // Writing to a string does not fail.
    write!(out, "<{address}>").ok();
    // Letters that look like others are spelled out.
    if !address.is_ascii()
        && let Some(place) = link_place(address)
    {
        write!(out, " ({})", place.replace('_', "\\_")).ok();
    }
}

/// What would make the line a heading, a quotation or an item, taken literally; what is left of the line.
fn push_line_start<'a>(out: &mut String, line: &'a str) -> &'a str {
    let body = line.trim_start_matches([' ', '\t']);
    out.push_str(line.strip_suffix(body).unwrap_or_default());
    let digits = body.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 {
        let (number, after) = body.split_at_checked(digits).unwrap_or((body, ""));
        out.push_str(number);
        if after.starts_with(['.', ')']) {
            out.push('\\');
            let mark = after.get(..1).unwrap_or_default();
            out.push_str(mark);
            return after.get(1..).unwrap_or_default();
        }
        return after;
    }
    if body.starts_with(['#', '>', '-', '+']) {
        out.push('\\');
        let mark = body.get(..1).unwrap_or_default();
        out.push_str(mark);
        return body.get(1..).unwrap_or_default();
    }
    body
}

/// Whether a character would be taken for markup where it stands.
fn means_something(c: char, before: Option<char>, after: &str) -> bool {
    let next = after.chars().next();
    match c {
        '\\' | '*' | '_' | '`' | '[' => true,
        '|' | '~' => before == Some(c) || next == Some(c),
        // Mentions, channels, pictures, times, commands, addresses.
        '<' => next.is_some_and(|next| !next.is_whitespace() && next != '='),
        '@' => ["everyone", "here"].iter().any(|all| {
            let word = after.get(..all.len());
            word.is_some_and(|word| word.eq_ignore_ascii_case(all))
        }),
        // An address that is not to be one: see `address_at`.
        '/' => before == Some(':') && next == Some('/'),
        ':' => names_a_picture(after),
        _ => false,
    }
}

/// Whether `:` begins a name like `:smile:`, which clients show as a picture.
fn names_a_picture(after: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '-');
    let rest = after.trim_start_matches(word);
    rest.len() < after.len() && rest.starts_with(':')
}

/// An address of the web that the text begins with and that may be one, and what comes after it.
fn address_at(text: &str, before: Option<char>) -> Option<(&str, &str)> {
    let web = ["https://", "http://"].iter().any(|scheme| {
        text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    });
    if !web || before.is_some_and(char::is_alphanumeric) {
        return None;
    }
    let ends = |c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '`' | '|' | '\\');
    let end = text.find(ends).unwrap_or(text.len());
    let mut address = text.get(..end)?;
    while let Some(shorter) = address.strip_suffix(AFTER_ADDRESS) {
        let is_part = address.ends_with(')') && balanced(address);
        if is_part || address.ends_with('_') && !shorter.ends_with(['*', '_']) {
            break;
        }
        address = shorter;
    }
    link_place(address)?;
    Some((address, text.get(address.len()..)?))
}

fn balanced(address: &str) -> bool {
    address.matches('(').count() == address.matches(')').count()
}

/// A piece of code within a line.
pub(super) fn push_code(out: &mut String, code: &str) {
    let shown = legible(code).replace('\n', " ");
    let longest = longest_run(&shown);
    // More than two marks would be taken for a block.
    let (shown, marks) = match longest {
        0 => (shown, "`"),
        1 => (shown, "``"),
        _ => (shown.replace('`', &LIKE_A_BACKTICK.to_string()), "`"),
    };
    let pad = shown.starts_with('`') || shown.ends_with('`') || shown.trim().is_empty();
    let space = if pad { " " } else { "" };
    // Marks that touch would be taken for one longer mark.
    if out.ends_with('`') {
        out.push(' ');
    }
    // Writing to a string does not fail.
    write!(out, "{marks}{space}{shown}{space}{marks}").ok();
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// What a block of code says, so that nothing in it ends the block.
pub(super) fn in_block(code: &str) -> String {
    let shown = legible(code);
    if !shown.contains("```") {
        return shown.into_owned();
    }
    let mut out = String::with_capacity(shown.len());
    let mut run = 0;
    for c in shown.chars() {
        if c == '`' {
            run += 1;
            continue;
        }
        push_run(&mut out, &mut run);
        out.push(c);
    }
    push_run(&mut out, &mut run);
    out
}

fn push_run(out: &mut String, run: &mut usize) {
    let mark = if *run >= 3 { LIKE_A_BACKTICK } else { '`' };
    out.extend(std::iter::repeat_n(mark, *run));
    *run = 0;
}

/// A text to the letter, in a block of its own: as code, or where that would change it as text without markup.
pub(super) fn verbatim(text: &str) -> String {
    let shown = legible(text);
    let shown = shown.trim_matches('\n');
    if shown.contains("```") {
        let mut out = String::with_capacity(shown.len() * 2);
        for (number, line) in shown.split('\n').enumerate() {
            if number > 0 {
                out.push('\n');
            }
            out.push_str("> ");
            for c in line.chars() {
                if c.is_ascii_punctuation() {
                    out.push('\\');
                }
                out.push(c);
            }
        }
        return out;
    }
    format!("```\n{shown}\n```")
}

/// An address as it can stand in a link: nothing in it ends the link.
pub(super) fn in_link(target: &str) -> String {
    let mut out = String::with_capacity(target.len());
    for c in target.chars() {
        match c {
            '(' | ')' | '<' | '>' | '\\' | '`' | '|' | ' ' | '"' => {
                // Writing to a string does not fail.
                write!(out, "%{:02X}", u32::from(c)).ok();
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
#[path = "text_tests.rs"]
pub(super) mod tests;
