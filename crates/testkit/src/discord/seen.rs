//! What a person's client shows of a message.

use serde_json::Value;

use super::messages::{LOADING, SUPPRESS_EMBEDS};
use super::state::{Id, Message, State};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    pub label: String,
    pub custom_id: String,
    /// 1 primary, 2 secondary, 3 success, 4 danger, 5 link.
    pub style: u64,
    pub disabled: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenFile {
    pub name: String,
    pub mime: String,
    pub description: String,
    pub bytes: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub id: u64,
    pub channel: u64,
    pub author: u64,
    pub content: String,
    pub embeds: Vec<Value>,
    pub buttons: Vec<Button>,
    pub files: Vec<SeenFile>,
    pub reply_to: Option<u64>,
    /// What it said before each of its edits.
    pub earlier: Vec<String>,
    /// Only this person sees it.
    pub ephemeral: bool,
    /// It says that the bot is thinking.
    pub thinking: bool,
    /// Whom it rang.
    pub rung: Vec<u64>,
    pub rung_everyone: bool,
}

impl Seen {
    /// Everything that can be read in it: what it says and what is in its embeds.
    pub fn text(&self) -> String {
        let mut parts = vec![self.content.clone()];
        for embed in &self.embeds {
            let of = |value: &Value| value.as_str().map(str::to_owned);
            parts.extend(of(&embed["author"]["name"]));
            parts.extend(of(&embed["title"]));
            parts.extend(of(&embed["description"]));
            for field in embed["fields"].as_array().into_iter().flatten() {
                parts.extend(of(&field["name"]));
                parts.extend(of(&field["value"]));
            }
            parts.extend(of(&embed["footer"]["text"]));
        }
        parts.retain(|part| !part.is_empty());
        parts.join("\n")
    }

    /// The button with this label, or whose label has this in it.
    pub fn button(&self, label: &str) -> Option<&Button> {
        let exact = self.buttons.iter().find(|button| button.label == label);
        exact.or_else(|| self.buttons.iter().find(|button| button.label.contains(label)))
    }
}

pub(super) fn of(state: &State, message: &Message) -> Seen {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let rows = message.components.iter().filter_map(|row| row["components"].as_array());
    let buttons = rows.flatten().filter(|component| component["type"] == 2);
    let file = |view: &Value| {
        let id: Id = text(&view["id"]).parse().ok()?;
        let kept = state.files.get(&id)?;
        Some(SeenFile {
            name: text(&view["filename"]),
            mime: kept.mime.clone(),
            description: text(&view["description"]),
            bytes: kept.bytes.clone(),
        })
    };
    Seen {
        id: message.id,
        channel: message.channel,
        author: message.author,
        content: message.content.clone(),
        // What is suppressed is not shown, one's own included.
        embeds: if message.flags & SUPPRESS_EMBEDS == 0 {
            message.embeds.clone()
        } else {
            Vec::new()
        },
        buttons: buttons
            .map(|button| Button {
                label: text(&button["label"]),
                custom_id: text(&button["custom_id"]),
                style: button["style"].as_u64().unwrap_or(0),
                disabled: button["disabled"] == true,
            })
            .collect(),
        files: message.attachments.iter().filter_map(file).collect(),
        reply_to: message.reply_to,
        earlier: message.earlier.clone(),
        ephemeral: message.only_for.is_some(),
        thinking: message.flags & LOADING != 0,
        rung: message.mentions.clone(),
        rung_everyone: message.everyone,
    }
}
