//! Text with entities, as Markdown: links and code are told to the agent, the rest is decoration. Pure.
//!
//! Entities count in UTF-16 units; what lies outside of a text, or in the midst of a character, is left out.

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

/// The text with its links and code marked.
pub(super) fn marked(text: &str, entities: &[Entity]) -> String {
    let mut marks: Vec<(usize, usize, &Entity)> = entities
        .iter()
        .filter(|entity| matches!(entity.kind.as_str(), "text_link" | "code" | "pre"))
        .filter_map(|entity| {
            let end = entity.offset.checked_add(entity.length)?;
            Some((byte_at(text, entity.offset)?, byte_at(text, end)?, entity))
        })
        .collect();
    marks.sort_by_key(|(from, _, _)| *from);
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (from, to, entity) in marks {
        // What lies in another mark is inside of it already.
        let (Some(before), Some(inner)) = (text.get(done..from), text.get(from..to)) else {
            continue;
        };
        out.push_str(before);
        out.push_str(&mark(inner, entity));
        done = to;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

fn mark(inner: &str, entity: &Entity) -> String {
    match (entity.kind.as_str(), &entity.url) {
        ("text_link", Some(url)) if inner != url => format!("[{inner}]({url})"),
        ("code", _) if !inner.contains('`') => format!("`{inner}`"),
        ("pre", _) if !inner.contains("```") => {
            let language = entity.language.as_deref().unwrap_or_default();
            format!("```{language}\n{}\n```", inner.trim_end_matches('\n'))
        }
        _ => inner.to_owned(),
    }
}

#[cfg(test)]
#[path = "marks_tests.rs"]
mod tests;
