//! Text as Telegram takes it: measured in UTF-16, trimmed, with entities that fit and nest.
//!
//! Telegram mends or drops entities that do not fit without a word; here they are complained about, for
//! whoever sends them meant something else.

use serde_json::{Map, Value, json};

use super::params::Params;
use super::refusal::Refusal;
use super::state::State;

/// The most entities that are kept.
const MAX_ENTITIES: usize = 100;
const CODE: [&str; 2] = ["code", "pre"];
const QUOTES: [&str; 2] = ["blockquote", "expandable_blockquote"];
const STYLES: [&str; 5] = ["bold", "italic", "underline", "strikethrough", "spoiler"];
const OTHERS: [&str; 10] = [
    "mention",
    "hashtag",
    "cashtag",
    "bot_command",
    "url",
    "email",
    "phone_number",
    "text_link",
    "text_mention",
    "custom_emoji",
];

/// Which fields a text is in, and how long it may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) text: &'static str,
    pub(super) entities: &'static str,
    pub(super) longest: usize,
    pub(super) too_long: &'static str,
}

pub(super) const TEXT: Field =
    Field { text: "text", entities: "entities", longest: 4_096, too_long: "message is too long" };
pub(super) const CAPTION: Field = Field {
    text: "caption",
    entities: "caption_entities",
    longest: 1_024,
    too_long: "message caption is too long",
};

pub(super) fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Reads a text with its entities; nothing where there is no text, or only space.
pub(super) fn read(
    state: &mut State,
    params: &mut Params,
    field: Field,
) -> Result<Map<String, Value>, Refusal> {
    let text = params.text(field.text).unwrap_or_default();
    let entities = params.json(field.entities)?;
    let mode = params.text("parse_mode").filter(|mode| !mode.is_empty());
    let (text, entities) = match mode {
        Some(mode) if mode.eq_ignore_ascii_case("html") => super::html::parse(&text)?,
        Some(mode) => {
            state.complain(format!("parse_mode {mode} is not known to this server"));
            return Err(Refusal::bad("unsupported parse_mode"));
        }
        None => (text, entity_list(entities)?),
    };
    check_entities(state, &text, &entities)?;
    if units(text.trim()) > field.longest {
        return Err(Refusal::bad(field.too_long));
    }
    let (text, entities) = trimmed(&text, entities);
    let mut content = Map::new();
    if !text.is_empty() {
        content.insert(field.text.to_owned(), json!(text));
    }
    if !entities.is_empty() {
        content.insert(field.entities.to_owned(), json!(entities));
    }
    Ok(content)
}

fn entity_list(entities: Option<Value>) -> Result<Vec<Value>, Refusal> {
    match entities {
        None => Ok(Vec::new()),
        Some(Value::Array(entities)) => Ok(entities),
        Some(_) => Err(Refusal::bad("can't parse entities: Expected an Array")),
    }
}

fn span(entity: &Value) -> Option<(usize, usize)> {
    let number = |name: &str| usize::try_from(entity[name].as_i64()?).ok();
    let (start, length) = (number("offset")?, number("length")?);
    Some((start, start + length))
}

fn kind(entity: &Value) -> &str {
    entity["type"].as_str().unwrap_or_default()
}

/// Refuses what Telegram refuses, and complains about what it would drop.
fn check_entities(state: &mut State, text: &str, entities: &[Value]) -> Result<(), Refusal> {
    let utf16: Vec<u16> = text.encode_utf16().collect();
    if entities.len() > MAX_ENTITIES {
        state.complain(format!("{} entities: only {MAX_ENTITIES} are kept", entities.len()));
    }
    for entity in entities {
        let kind = kind(entity);
        let known = [&CODE[..], &QUOTES, &STYLES, &OTHERS].concat().contains(&kind);
        if !known {
            state.complain(format!("an entity of the unknown type {kind:?}: {entity}"));
            return Err(Refusal::bad("can't parse entities: unsupported entity type"));
        }
        let Some((start, end)) = span(entity) else {
            state.complain(format!("an entity without offset or length: {entity}"));
            return Err(Refusal::bad(
                "can't parse entities: Field \"offset\" must be of the type Number",
            ));
        };
        if start == end || end > utf16.len() {
            state.complain(format!("an entity outside of the text: {entity} in {text:?}"));
        }
        for (at, what) in [(start, "begins"), (end, "ends")] {
            let low = |unit: &u16| (0xdc00..0xe000).contains(unit);
            if utf16.get(at).is_some_and(low) {
                let told =
                    format!("entity {what} in a middle of a UTF-16 symbol at byte offset {at}");
                state.complain(format!("{told}: {entity} in {text:?}"));
                return Err(Refusal::bad(&told));
            }
        }
        if kind == "text_link" {
            let url = entity["url"].as_str().unwrap_or_default();
            let fine = ["http://", "https://", "tg://", "mailto:", "tel:"];
            if !fine.iter().any(|scheme| url.starts_with(scheme)) {
                state.complain(format!("a link that Telegram drops: {url:?}"));
            }
        }
    }
    check_nesting(state, entities);
    Ok(())
}

fn check_nesting(state: &mut State, entities: &[Value]) {
    for (index, one) in entities.iter().enumerate() {
        for other in entities.iter().skip(index + 1) {
            let (Some(a), Some(b)) = (span(one), span(other)) else { continue };
            if a.1 <= b.0 || b.1 <= a.0 {
                continue;
            }
            let within = (a.0 <= b.0 && b.1 <= a.1) || (b.0 <= a.0 && a.1 <= b.1);
            let kinds = [kind(one), kind(other)];
            let code = kinds.iter().any(|kind| CODE.contains(kind));
            let quotes = kinds.iter().any(|kind| QUOTES.contains(kind));
            let only_code_in_quote = code && quotes;
            let bad = !within
                || (code && !only_code_in_quote)
                || kinds.iter().all(|kind| QUOTES.contains(kind))
                || kinds.iter().all(|kind| OTHERS.contains(kind))
                || kinds[0] == kinds[1];
            if bad {
                state.complain(format!("entities that do not nest: {one} and {other}"));
            }
        }
    }
}

/// Without the space around it; the entities move along.
fn trimmed(text: &str, entities: Vec<Value>) -> (String, Vec<Value>) {
    let cut = units(text) - units(text.trim_start());
    let text = text.trim();
    let length = units(text);
    let fits = |mut entity: Value| {
        let (start, end) = span(&entity)?;
        let (start, end) = (start.saturating_sub(cut), end.saturating_sub(cut).min(length));
        (start < end).then(|| {
            entity["offset"] = json!(start);
            entity["length"] = json!(end - start);
            entity
        })
    };
    (text.to_owned(), entities.into_iter().filter_map(fits).collect())
}

/// What a client marks in what a person types: commands, mentions and links.
pub(super) fn typed_entities(text: &str) -> Vec<Value> {
    let mut entities = Vec::new();
    let mut offset = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let bare = word.trim_end();
        let name = |rest: &str| {
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '@';
            rest.chars().take_while(|c| fits(*c)).count()
        };
        let marked = if let Some(rest) = bare.strip_prefix('/') {
            Some(("bot_command", name(rest) + 1))
        } else if let Some(rest) = bare.strip_prefix('@') {
            Some(("mention", name(rest) + 1))
        } else if bare.starts_with("https://") || bare.starts_with("http://") {
            Some(("url", units(bare)))
        } else {
            None
        };
        if let Some((kind, length)) = marked.filter(|(_, length)| *length > 1) {
            entities.push(json!({"type": kind, "offset": offset, "length": length}));
        }
        offset += units(word);
    }
    entities
}
