//! What a client shows.

use bytes::Bytes;
use serde_json::Value;

use super::super::state::{Stored, said};
use super::{BotAccount, Person, Place};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    pub label: String,
    pub data: String,
}

#[derive(Clone, Debug)]
pub struct SeenFile {
    /// photo, document, voice …
    pub kind: String,
    pub name: String,
    pub bytes: Bytes,
}

/// A message as it is shown now.
#[derive(Clone, Debug)]
pub struct Seen {
    pub id: i64,
    pub from: i64,
    /// Its text, or the caption of its file.
    pub text: String,
    pub entities: Vec<Value>,
    pub buttons: Vec<Button>,
    pub edits: usize,
    /// What it said, from the first to the present.
    pub history: Vec<String>,
    pub reply_to: Option<i64>,
    pub file: Option<SeenFile>,
    pub album: Option<String>,
    /// The fields of the message that say what it is.
    pub content: Value,
}

impl Seen {
    /// The words that an entity of this kind covers, one after the other.
    pub fn marked(&self, kind: &str) -> Vec<String> {
        let utf16: Vec<u16> = self.text.encode_utf16().collect();
        let number = |entity: &Value, name: &str| {
            usize::try_from(entity[name].as_u64().unwrap_or(0)).unwrap_or(0)
        };
        let of_kind = self.entities.iter().filter(|entity| entity["type"] == kind);
        let covered = of_kind.filter_map(|entity| {
            let start = number(entity, "offset");
            utf16.get(start..start + number(entity, "length")).map(String::from_utf16_lossy)
        });
        covered.collect()
    }
}

impl Seen {
    /// The names that Telegram makes mentions of by itself: whoever is called so is rung.
    pub fn rings(&self) -> Vec<String> {
        let utf16 = |text: &str| text.encode_utf16().count();
        let quiet = |at: usize| {
            self.entities.iter().any(|entity| {
                let of =
                    |name: &str| usize::try_from(entity[name].as_u64().unwrap_or(0)).unwrap_or(0);
                let is_code = entity["type"] == "code" || entity["type"] == "pre";
                is_code && (of("offset")..of("offset") + of("length")).contains(&at)
            })
        };
        let of_name = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        let edges: Vec<usize> = self
            .entities
            .iter()
            .flat_map(|entity| {
                let of =
                    |name: &str| usize::try_from(entity[name].as_u64().unwrap_or(0)).unwrap_or(0);
                [of("offset"), of("offset") + of("length")]
            })
            .collect();
        let signs = self.text.match_indices('@').filter_map(|(at, _)| {
            let (before, after) = self.text.split_at_checked(at)?;
            let name: String = after.chars().skip(1).take_while(of_name).collect();
            let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
            let (begins, ends) = (utf16(before) - utf16(word), utf16(before));
            let whole = !edges.iter().any(|edge| begins < *edge && *edge <= ends);
            let inside =
                before.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_')
                    || whole && (word.starts_with("http://") || word.starts_with("https://"));
            (!inside && (2..=32).contains(&name.len()) && !quiet(utf16(before))).then_some(name)
        });
        signs.collect()
    }
}

const FILES: [&str; 8] =
    ["photo", "document", "voice", "audio", "video", "video_note", "animation", "sticker"];

impl Person {
    fn shown(&self, message: &Stored) -> Seen {
        let entities = ["entities", "caption_entities"];
        let entities = entities.iter().find_map(|field| message.content.get(*field)?.as_array());
        let rows = message.markup.as_ref().and_then(|markup| markup["inline_keyboard"].as_array());
        let buttons = rows.into_iter().flatten().filter_map(Value::as_array).flatten();
        let word =
            |button: &Value, field: &str| button[field].as_str().unwrap_or_default().to_owned();
        let buttons = buttons.map(|button| Button {
            label: word(button, "text"),
            data: word(button, "callback_data"),
        });
        Seen {
            id: message.id,
            from: message.from,
            text: said(&message.content),
            entities: entities.cloned().unwrap_or_default(),
            buttons: buttons.collect(),
            edits: message.history.len().saturating_sub(1),
            history: message.history.clone(),
            reply_to: message.reply_to,
            file: None,
            album: message.content.get("media_group_id").and_then(Value::as_str).map(str::to_owned),
            content: Value::Object(message.content.clone()),
        }
    }

    /// What can be read in a chat or a topic, in order; whoever is not in it reads nothing.
    pub fn messages(&self, place: &Place) -> Vec<Seen> {
        let state = self.shared.state();
        let Some(chat) = state.chats.get(&place.chat) else { return Vec::new() };
        if !chat.people.contains(&self.id) {
            return Vec::new();
        }
        let there = chat.messages.values();
        let there = there.filter(|message| message.thread == place.thread && !message.deleted);
        let mut seen: Vec<Seen> = there.map(|message| self.shown(message)).collect();
        for message in &mut seen {
            let kinds = FILES.iter().find_map(|kind| {
                let file = message.content.get(*kind)?;
                let file = file.as_array().and_then(|sizes| sizes.last()).unwrap_or(file);
                Some((*kind, file["file_id"].as_str()?.to_owned()))
            });
            message.file = kinds.and_then(|(kind, id)| {
                let file = state.files.get(&id)?;
                let (kind, name) = (kind.to_owned(), file.name.clone());
                Some(SeenFile { kind, name, bytes: file.bytes.clone() })
            });
        }
        seen
    }

    /// What others wrote, service messages left out.
    pub fn heard(&self, place: &Place) -> Vec<Seen> {
        let mut seen = self.messages(place);
        seen.retain(|message| {
            message.from != self.id && (!message.text.is_empty() || message.file.is_some())
        });
        seen
    }

    /// The words of what others wrote.
    pub fn heard_texts(&self, place: &Place) -> Vec<String> {
        self.heard(place).into_iter().map(|message| message.text).collect()
    }

    /// The draft that is being shown.
    pub fn draft(&self, place: &Place) -> Option<String> {
        let state = self.shared.state();
        let draft = state.chats.get(&place.chat)?.draft(place.thread)?;
        Some(draft.text.clone())
    }

    /// Whether there is a button below the draft that is being shown: its bot asked for one.
    pub fn sees_stop(&self, place: &Place) -> bool {
        let state = self.shared.state();
        let chat = state.chats.get(&place.chat).filter(|chat| chat.people.contains(&self.id));
        chat.and_then(|chat| chat.draft(place.thread)).is_some_and(|draft| draft.can_stop)
    }

    /// Every draft that was shown, with its number.
    pub fn drafts(&self, place: &Place) -> Vec<(i64, String)> {
        let state = self.shared.state();
        let drafts = state.chats.get(&place.chat).map_or(&[][..], |chat| &chat.drafts);
        let here = drafts.iter().filter(|draft| draft.thread == place.thread);
        here.map(|draft| (draft.id, draft.text.clone())).collect()
    }

    /// Whether the bot is shown to be writing.
    pub fn sees_typing(&self, place: &Place) -> bool {
        let state = self.shared.state();
        state.chats.get(&place.chat).is_some_and(|chat| chat.action(place.thread))
    }

    /// Whether the bot was ever shown to be writing.
    pub fn saw_typing(&self, place: &Place) -> bool {
        let state = self.shared.state();
        let actions = state.chats.get(&place.chat).map_or(&[][..], |chat| &chat.actions);
        actions.iter().any(|(thread, ..)| *thread == place.thread)
    }

    /// The topics of the chat with a bot: where, and what they are called.
    pub fn topics(&self, bot: &BotAccount) -> Vec<(Place, String)> {
        self.topics_of(&self.with(bot))
    }

    pub fn topics_of(&self, place: &Place) -> Vec<(Place, String)> {
        let state = self.shared.state();
        let Some(chat) = state.chats.get(&place.chat) else { return Vec::new() };
        let present = chat.topics.iter().filter(|(_, topic)| !topic.deleted);
        let told = present
            .map(|(thread, topic)| (Place { thread: Some(*thread), ..*place }, topic.name.clone()));
        told.collect()
    }

    /// Whether a topic is closed.
    pub fn is_closed(&self, place: &Place) -> bool {
        let state = self.shared.state();
        let chat = state.chats.get(&place.chat);
        let topic = chat.and_then(|chat| chat.topics.get(&place.thread?));
        topic.is_some_and(|topic| topic.closed)
    }

    /// Who opened a topic.
    pub fn opened_by(&self, place: &Place) -> Option<i64> {
        let state = self.shared.state();
        Some(state.chats.get(&place.chat)?.topics.get(&place.thread?)?.by)
    }

    /// The topic whose name has these words, once there is one.
    pub async fn topic(&self, bot: &BotAccount, words: &str) -> Place {
        let found = self
            .until(|| {
                let topics = self.topics(bot);
                topics.into_iter().find(|(_, name)| name.contains(words)).map(|(place, _)| place)
            })
            .await;
        found.unwrap_or_else(|| panic!("there never was a topic {words:?}: {:?}", self.topics(bot)))
    }

    /// A message of somebody else that fits.
    pub async fn wait_for(&self, place: &Place, what: &str, fits: impl Fn(&Seen) -> bool) -> Seen {
        let found = self.until(|| self.heard(place).into_iter().find(|seen| fits(seen))).await;
        found.unwrap_or_else(|| {
            let (heard, topics) = (self.heard_texts(place), self.topics_of(place));
            panic!("{} never heard {what}; heard {heard:#?}, topics {topics:?}", self.id)
        })
    }

    /// A message of somebody else that says exactly this.
    pub async fn wait_for_text(&self, place: &Place, text: &str) -> Seen {
        self.wait_for(place, &format!("{text:?}"), |seen| seen.text == text).await
    }

    /// A message of somebody else with these words.
    pub async fn wait_for_words(&self, place: &Place, words: &str) -> Seen {
        self.wait_for(place, &format!("…{words:?}…"), |seen| seen.text.contains(words)).await
    }

    /// Says something and waits for a new message with these words.
    pub async fn ask(&self, place: &Place, text: &str, expected: &str) -> Seen {
        let before = self.messages(place).last().map_or(0, |seen| seen.id);
        self.say(place, text);
        let fits = |seen: &Seen| seen.id > before && seen.text.contains(expected);
        self.wait_for(place, &format!("{expected:?} as an answer to {text:?}"), fits).await
    }

    /// A draft that fits, while it is shown.
    pub async fn wait_for_draft(&self, place: &Place, fits: impl Fn(&str) -> bool) -> String {
        let found = self.until(|| self.draft(place).filter(|draft| fits(draft))).await;
        found.unwrap_or_else(|| panic!("never such a draft; drafts were {:?}", self.drafts(place)))
    }
}
