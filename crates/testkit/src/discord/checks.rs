//! What Discord checks in a message before it takes it: lengths, embeds, components, mentions.

use std::collections::BTreeSet;

use serde_json::Value;

use super::rest::Wrongs;
use super::state::State;

pub(super) const LONGEST: usize = 2000;
const LONGEST_EMBEDS: usize = 6000;

fn length(value: &Value) -> usize {
    value.as_str().map_or(0, |text| text.chars().count())
}

fn at_most(wrongs: &mut Wrongs, place: &str, value: &Value, most: usize) {
    if !value.is_null() && !value.is_string() {
        wrongs.add(place, "STRING_TYPE_CONVERT", "Could not interpret as string.");
    }
    if length(value) > most {
        wrongs.too_long(place, most);
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Fields nobody knows, wherever they are.
fn known(state: &mut State, place: &str, value: &Value, fields: &[&str]) {
    super::rest::only(state, place, value, fields);
}

pub(super) fn content(wrongs: &mut Wrongs, json: &Value) {
    at_most(wrongs, "content", &json["content"], LONGEST);
}

pub(super) fn embeds(state: &mut State, wrongs: &mut Wrongs, json: &Value) {
    let embeds = list(&json["embeds"]);
    if embeds.len() > 10 {
        wrongs.add("embeds", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.");
    }
    let mut total = 0;
    for (number, embed) in embeds.iter().enumerate() {
        let place = format!("embeds.{number}");
        known(
            state,
            &place,
            embed,
            &[
                "title",
                "type",
                "description",
                "url",
                "timestamp",
                "color",
                "footer",
                "image",
                "thumbnail",
                "video",
                "provider",
                "author",
                "fields",
            ],
        );
        for (field, most) in [("title", 256), ("description", 4096)] {
            at_most(wrongs, &format!("{place}.{field}"), &embed[field], most);
            total += length(&embed[field]);
        }
        at_most(wrongs, &format!("{place}.footer.text"), &embed["footer"]["text"], 2048);
        at_most(wrongs, &format!("{place}.author.name"), &embed["author"]["name"], 256);
        total += length(&embed["footer"]["text"]) + length(&embed["author"]["name"]);
        let fields = list(&embed["fields"]);
        if fields.len() > 25 {
            wrongs.add(
                &format!("{place}.fields"),
                "BASE_TYPE_MAX_LENGTH",
                "Must be 25 or fewer in length.",
            );
        }
        for (number, field) in fields.iter().enumerate() {
            known(state, &place, field, &["name", "value", "inline"]);
            for (name, most) in [("name", 256), ("value", 1024)] {
                let place = format!("{place}.fields.{number}.{name}");
                at_most(wrongs, &place, &field[name], most);
                if field[name].as_str().is_none_or(|text| text.trim().is_empty()) {
                    wrongs.required(&place);
                }
                total += length(&field[name]);
            }
        }
        if embed["color"].as_u64().is_some_and(|color| color > 0xff_ffff) {
            wrongs.add(
                &format!("{place}.color"),
                "NUMBER_TYPE_MAX",
                "int value should be less than or equal to 16777215.",
            );
        }
        let texts = ["title", "description", "fields", "footer", "author", "image", "thumbnail"];
        let empty = |field: &str| match &embed[field] {
            Value::Null => true,
            Value::String(text) => text.trim().is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        if texts.iter().all(|field| empty(field)) {
            wrongs.required(&format!("{place}.description"));
        }
    }
    if total > LONGEST_EMBEDS {
        wrongs.add("embeds", "MAX_EMBED_SIZE_EXCEEDED", "Embed size exceeds maximum size of 6000");
    }
}

pub(super) fn components(state: &mut State, wrongs: &mut Wrongs, json: &Value) {
    let rows = list(&json["components"]);
    if rows.len() > 5 {
        wrongs.add("components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.");
    }
    let mut ids = BTreeSet::new();
    for (number, row) in rows.iter().enumerate() {
        let place = format!("components.{number}");
        known(state, &place, row, &["type", "components", "id"]);
        if row["type"] != 1 {
            state.complain(format!("{place}: only rows of buttons are known here, not {row}"));
            continue;
        }
        let within = list(&row["components"]);
        if within.is_empty() || within.len() > 5 {
            let place = format!("{place}.components");
            wrongs.add(&place, "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.");
        }
        for (number, component) in within.iter().enumerate() {
            let place = format!("{place}.components.{number}");
            match component["type"].as_u64() {
                Some(2) => button(state, wrongs, &place, component, &mut ids),
                other => state.complain(format!("{place}: a component of the type {other:?}")),
            }
        }
    }
}

fn button(
    state: &mut State,
    wrongs: &mut Wrongs,
    place: &str,
    button: &Value,
    ids: &mut BTreeSet<String>,
) {
    known(
        state,
        place,
        button,
        &["type", "style", "label", "emoji", "custom_id", "url", "disabled", "id", "sku_id"],
    );
    at_most(wrongs, &format!("{place}.label"), &button["label"], 80);
    if length(&button["label"]) == 0 && button["emoji"].is_null() {
        wrongs.required(&format!("{place}.label"));
    }
    match button["style"].as_u64() {
        Some(1..=4) => {
            let place = format!("{place}.custom_id");
            match button["custom_id"].as_str() {
                None | Some("") => wrongs.required(&place),
                Some(id) if id.chars().count() > 100 => wrongs.too_long(&place, 100),
                Some(id) if !ids.insert(id.to_owned()) => wrongs.add(
                    &place,
                    "COMPONENT_CUSTOM_ID_DUPLICATED",
                    "Component custom id cannot be duplicated",
                ),
                Some(_) => {}
            }
            if !button["url"].is_null() {
                wrongs.add(
                    &place,
                    "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE",
                    "A custom id and url cannot both be specified",
                );
            }
        }
        Some(5) if button["url"].is_string() => {}
        _ => wrongs.add(
            &format!("{place}.style"),
            "BASE_TYPE_CHOICES",
            "Value must be one of (1, 2, 3, 4, 5, 6).",
        ),
    }
}

/// What `allowed_mentions` lets through.
pub(super) struct Allowed {
    everyone: bool,
    all_users: bool,
    users: Vec<u64>,
    pub(super) replied: bool,
}

impl Allowed {
    pub(super) fn read(state: &mut State, wrongs: &mut Wrongs, json: &Value) -> Self {
        let allowed = &json["allowed_mentions"];
        if allowed.is_null() {
            return Self { everyone: true, all_users: true, users: Vec::new(), replied: true };
        }
        known(state, "allowed_mentions", allowed, &["parse", "roles", "users", "replied_user"]);
        let parse: Vec<&str> = list(&allowed["parse"]).iter().filter_map(Value::as_str).collect();
        if parse.iter().any(|kind| !["roles", "users", "everyone"].contains(kind)) {
            wrongs.add(
                "allowed_mentions.parse.0",
                "BASE_TYPE_CHOICES",
                "Value must be one of {'users', 'roles', 'everyone'}.",
            );
        }
        let users = list(&allowed["users"]);
        if parse.contains(&"users") && !users.is_empty() {
            wrongs.add(
                "allowed_mentions",
                "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
                "parse:[\"users\"] and users: [ids...] are mutually exclusive.",
            );
        }
        Self {
            everyone: parse.contains(&"everyone"),
            all_users: parse.contains(&"users"),
            users: users.iter().filter_map(|id| id.as_str()?.parse().ok()).collect(),
            replied: allowed["replied_user"] == true,
        }
    }

    /// Everybody a person writes about is meant.
    pub(super) fn all() -> Self {
        Self { everyone: true, all_users: true, users: Vec::new(), replied: true }
    }

    /// Whom a text rings, and whether everybody.
    pub(super) fn rung(&self, state: &State, text: &str) -> (Vec<u64>, bool) {
        let mut rung = Vec::new();
        for part in text.split("<@").skip(1) {
            let Some((id, _)) = part.trim_start_matches('!').split_once('>') else { continue };
            let Ok(id) = id.parse::<u64>() else { continue };
            let allowed = self.all_users || self.users.contains(&id);
            if allowed && state.users.contains_key(&id) && !rung.contains(&id) {
                rung.push(id);
            }
        }
        let everyone = self.everyone && (text.contains("@everyone") || text.contains("@here"));
        (rung, everyone)
    }
}
