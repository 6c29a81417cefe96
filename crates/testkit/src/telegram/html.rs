//! `parse_mode=HTML`: tags to entities, refused as Telegram refuses what does not parse.

use serde_json::{Value, json};

use super::refusal::Refusal;
use super::text::units;

const TAGS: [(&str, &str); 14] = [
    ("b", "bold"),
    ("strong", "bold"),
    ("i", "italic"),
    ("em", "italic"),
    ("u", "underline"),
    ("ins", "underline"),
    ("s", "strikethrough"),
    ("strike", "strikethrough"),
    ("del", "strikethrough"),
    ("tg-spoiler", "spoiler"),
    ("code", "code"),
    ("pre", "pre"),
    ("a", "text_link"),
    ("blockquote", "blockquote"),
];

fn bad(what: &str) -> Refusal {
    Refusal::bad(&format!("can't parse entities: {what}"))
}

pub(super) fn parse(html: &str) -> Result<(String, Vec<Value>), Refusal> {
    let (mut text, mut entities, mut open) = (String::new(), Vec::new(), Vec::new());
    let mut rest = html;
    while let Some(next) = rest.chars().next() {
        if next == '<' {
            let (tag, after) = rest.split_once('>').ok_or_else(|| {
                bad(&format!("Unclosed start tag at byte offset {}", html.len() - rest.len()))
            })?;
            rest = after;
            let tag = tag.trim_start_matches('<');
            if let Some(name) = tag.strip_prefix('/') {
                let (known, kind, start, url): (String, &str, usize, Option<String>) =
                    open.pop().ok_or_else(|| bad("Unexpected end tag"))?;
                if known != name.trim() {
                    return Err(bad(&format!("Unmatched end tag, expected \"</{known}>\"")));
                }
                let length = units(&text) - start;
                let mut entity = json!({"type": kind, "offset": start, "length": length});
                if let Some(url) = url {
                    entity["url"] = json!(url);
                }
                if length > 0 {
                    entities.push(entity);
                }
            } else {
                let name = tag.split_whitespace().next().unwrap_or_default();
                let kind = TAGS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
                let kind = kind.ok_or_else(|| bad(&format!("Unsupported start tag \"{name}\"")))?;
                let url = tag.split_once("href=\"").and_then(|(_, url)| url.split_once('"'));
                let url = url.map(|(url, _)| url.replace("&amp;", "&"));
                open.push((name.to_owned(), kind, units(&text), url));
            }
            continue;
        }
        let replaced = [("&lt;", '<'), ("&gt;", '>'), ("&amp;", '&'), ("&quot;", '"')];
        let escape = replaced.iter().find(|(escape, _)| rest.starts_with(escape));
        let (taken, shown) = escape.map_or((next.len_utf8(), next), |(e, c)| (e.len(), *c));
        text.push(shown);
        rest = rest.get(taken..).unwrap_or_default();
    }
    match open.pop() {
        Some((name, ..)) => {
            Err(bad(&format!("Can't find end tag corresponding to start tag \"{name}\"")))
        }
        None => Ok((text, entities)),
    }
}
