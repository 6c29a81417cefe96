//! Text with entities, as Markdown: links, code and quotations are told to the agent, the rest is decoration. Pure.
//!
//! Promises: what is quoted or stands in a block of code can be told from what the person says themselves.
//! Entities count in UTF-16 units; what lies outside of a text, or in the midst of a character, is left out.

use cloister_kit::words::{behind_marks, called, clean, fenced};

use crate::updates::wire::{Entity, Message};

/// The words of a message and what marks them.
pub(super) fn words(message: &Message) -> (&str, &[Entity]) {
    match (&message.text, &message.caption) {
        (Some(text), _) => (text, &message.entities),
        (None, Some(caption)) => (caption, &message.caption_entities),
        (None, None) => ("", &[]),
    }
}

/// A part of a text, by UTF-16 units.
pub(super) fn slice16(text: &str, offset: usize, length: usize) -> &str {
    let part = || {
        let from = byte_at(text, offset)?;
        let to = byte_at(text, offset.checked_add(length)?)?;
        text.get(from..to)
    };
    part().unwrap_or_default()
}

fn byte_at(text: &str, unit: usize) -> Option<usize> {
    let mut units = 0;
    for (at, c) in text.char_indices() {
        if units == unit {
            return Some(at);
        }
        units += c.len_utf16();
    }
    (units == unit).then_some(text.len())
}

/// The text with its links, code and quotations marked. What the person only passes on stands on lines of its
/// own, behind marks that nothing in it ends.
pub(super) fn marked(text: &str, entities: &[Entity]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (from, to, entity) in ranges(text, entities, |entity| is_block(text, entity)) {
        // What lies in another mark is inside of it already.
        let from = from.max(done);
        if from >= to {
            continue;
        }
        add(&mut out, &with_inline(text, (done, from), entities), done > 0);
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(&block(text, (from, to), entities, entity));
        done = to;
        if to < text.len() {
            // A quotation goes on to the end of its paragraph.
            out.push_str(if is_quote(entity) { "\n\n" } else { "\n" });
        }
    }
    add(&mut out, &with_inline(text, (done, text.len()), entities), done > 0);
    out
}

/// Whether nothing stands before the first block.
pub(super) fn begins_with_block(text: &str, entities: &[Entity]) -> bool {
    ranges(text, entities, |entity| is_block(text, entity))
        .first()
        .is_some_and(|(from, _, _)| text.get(..*from).unwrap_or_default().trim().is_empty())
}

/// Adds what stands between two blocks; the end of the line of the first is there already.
fn add(out: &mut String, part: &str, behind_block: bool) {
    let rest = if behind_block { part.strip_prefix('\n').unwrap_or(part) } else { part };
    out.push_str(rest);
}

/// The entities of a kind with where they are, the outer ones before those in them.
fn ranges<'a>(
    text: &str,
    entities: &'a [Entity],
    wanted: impl Fn(&Entity) -> bool,
) -> Vec<(usize, usize, &'a Entity)> {
    let mut found: Vec<_> = entities
        .iter()
        .filter(|entity| wanted(entity))
        .filter_map(|entity| {
            let end = entity.offset.checked_add(entity.length)?;
            Some((byte_at(text, entity.offset)?, byte_at(text, end)?, entity))
        })
        .filter(|(from, to, _)| from < to)
        .collect();
    found.sort_by_key(|(from, to, _)| (*from, std::cmp::Reverse(*to)));
    found
}

fn is_quote(entity: &Entity) -> bool {
    matches!(entity.kind.as_str(), "blockquote" | "expandable_blockquote")
}

fn is_block(text: &str, entity: &Entity) -> bool {
    let inner = || clean(slice16(text, entity.offset, entity.length));
    is_quote(entity)
        || entity.kind == "pre"
        || (entity.kind == "code" && inner().contains(['`', '\n']))
}

fn block(text: &str, (from, to): (usize, usize), all: &[Entity], entity: &Entity) -> String {
    // Cleaned before it is marked: what is left out later could bring two parts of a mark together.
    if is_quote(entity) {
        behind_marks(clean(&with_inline(text, (from, to), all)).trim_matches('\n'))
    } else {
        let inner = clean(text.get(from..to).unwrap_or_default());
        fenced(entity.language.as_deref().unwrap_or_default(), &inner)
    }
}

/// A part of the text with what is marked within its lines.
fn with_inline(text: &str, (start, end): (usize, usize), entities: &[Entity]) -> String {
    let wanted =
        |entity: &Entity| matches!(entity.kind.as_str(), "text_link" | "code" | "text_mention");
    let mut out = String::new();
    let mut done = start;
    for (from, to, entity) in ranges(text, entities, wanted) {
        if from < done || to > end {
            continue;
        }
        out.push_str(text.get(done..from).unwrap_or_default());
        out.push_str(&mark(text.get(from..to).unwrap_or_default(), entity));
        done = to;
    }
    out.push_str(text.get(done..end).unwrap_or_default());
    out
}

fn mark(inner: &str, entity: &Entity) -> String {
    match (entity.kind.as_str(), &entity.url) {
        ("text_link", Some(url)) if inner != url => format!("[{inner}]({})", within_marks(url)),
        ("code", _) if !clean(inner).contains('`') => format!("`{inner}`"),
        // The name is theirs who is mentioned.
        ("text_mention", _) => called(inner),
        _ => inner.to_owned(),
    }
}

/// An address that ends where its link does.
fn within_marks(url: &str) -> String {
    let plain = |c: char| c.is_ascii_graphic() && !"()<>`\"'\\[]".contains(c);
    let encode = |c: char| {
        let mut bytes = [0; 4];
        c.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")).collect::<String>()
    };
    url.chars().map(|c| if plain(c) { c.to_string() } else { encode(c) }).collect()
}

#[cfg(test)]
#[path = "marks_tests.rs"]
mod tests;
