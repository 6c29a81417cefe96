//! What the server knows: bots, people, chats, messages, and what is waiting for each bot.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::bots::Bot;
use super::faults::Laid;
use super::pacing::{Paces, Pacing};
use crate::random::Random;

/// How long a draft is shown when nothing follows it.
const DRAFT_LASTS: Duration = Duration::from_secs(30);
/// How long a chat action is shown.
const ACTION_LASTS: Duration = Duration::from_secs(5);

/// Where messages are: a bot and a person have one chat, a group is one for all of its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChatKey {
    Private { bot: i64, person: i64 },
    Group(i64),
}

impl ChatKey {
    /// The number a bot knows it by.
    pub const fn id(self) -> i64 {
        match self {
            Self::Private { person, .. } => person,
            Self::Group(id) => id,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Human {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) username: String,
    pub(super) language: String,
}

impl Human {
    pub(super) fn user(&self) -> Value {
        json!({"id": self.id, "is_bot": false, "first_name": self.name, "username": self.username,
               "language_code": self.language})
    }
}

/// How a bot stands to a chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nobody has started it, or it was never there.
    Unknown,
    Member,
    Admin,
    Left,
    /// Blocked by the person, or thrown out of the group.
    Out,
    /// The person's account or the group is no more.
    Gone,
}

#[derive(Clone, Debug)]
pub(super) struct Topic {
    pub(super) name: String,
    pub(super) by: i64,
    pub(super) closed: bool,
    pub(super) deleted: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) id: i64,
    pub(super) from: i64,
    pub(super) thread: Option<i64>,
    pub(super) reply_to: Option<i64>,
    /// The fields that say what it is: text, photo, caption …
    pub(super) content: Map<String, Value>,
    pub(super) markup: Option<Value>,
    pub(super) date: u64,
    pub(super) edited: Option<u64>,
    /// What it said, from the first to the present.
    pub(super) history: Vec<String>,
    pub(super) deleted: bool,
    pub(super) at: Instant,
}

#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) thread: Option<i64>,
    pub(super) id: i64,
    pub(super) text: String,
    /// Whether the client shows a button to stop it.
    pub(super) can_stop: bool,
    pub(super) at: Instant,
    pub(super) over: bool,
}

#[derive(Debug)]
pub(super) struct Chat {
    pub(super) kind: &'static str,
    pub(super) title: String,
    pub(super) forum: bool,
    pub(super) people: BTreeSet<i64>,
    pub(super) bots: BTreeMap<i64, Standing>,
    pub(super) topics: BTreeMap<i64, Topic>,
    pub(super) messages: BTreeMap<i64, Stored>,
    pub(super) next_message: i64,
    pub(super) migrated_to: Option<i64>,
    pub(super) drafts: Vec<Draft>,
    /// Who was seen doing what, where and when.
    pub(super) actions: Vec<(Option<i64>, String, Instant)>,
}

impl Chat {
    /// The draft that is shown now.
    pub(super) fn draft(&self, thread: Option<i64>) -> Option<&Draft> {
        let shown = |draft: &&Draft| draft.thread == thread && !draft.over;
        self.drafts.iter().rev().find(shown).filter(|draft| draft.at.elapsed() < DRAFT_LASTS)
    }

    /// Whether a chat action is shown now.
    pub(super) fn action(&self, thread: Option<i64>) -> bool {
        let newest = self.messages.values().filter(|m| m.thread == thread).map(|m| m.at).max();
        self.actions.iter().any(|(of, _, at)| {
            *of == thread && at.elapsed() < ACTION_LASTS && newest.is_none_or(|newest| *at > newest)
        })
    }
}

#[derive(Clone, Debug)]
pub(super) struct StoredFile {
    pub(super) name: String,
    pub(super) bytes: Bytes,
    /// What it is said to be large; a test need not make hundreds of megabytes.
    pub(super) size: u64,
    pub(super) path: String,
}

#[derive(Clone, Debug)]
pub(super) struct Query {
    pub(super) bot: i64,
    pub(super) answer: Option<Value>,
    pub(super) at: Instant,
    pub(super) expired: bool,
}

/// A request of a bot, as it was answered.
#[derive(Clone, Debug)]
pub struct Call {
    pub at: Instant,
    pub bot: i64,
    pub method: String,
    /// Files are told by their names.
    pub params: Value,
    /// The error's code; 0 where the connection was cut.
    pub code: u16,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) random: Random,
    pub(super) bots: BTreeMap<i64, Bot>,
    pub(super) people: BTreeMap<i64, Human>,
    pub(super) chats: BTreeMap<ChatKey, Chat>,
    pub(super) files: HashMap<String, StoredFile>,
    pub(super) queries: BTreeMap<String, Query>,
    pub(super) calls: Vec<Call>,
    pub(super) complaints: Vec<String>,
    pub(super) laid: Vec<Laid>,
    pub(super) paces: Paces,
    pub(super) query_lasts: Duration,
    /// Bots are told of no message what it says when a button below it is pressed: it is too old for that.
    pub(super) forgetful: bool,
    /// How long ago what is written now is said to have been written, in seconds.
    pub(super) ago: u64,
    /// Public addresses and who stands behind them.
    pub(super) sites: Vec<(String, crate::stack::Address)>,
    next_person: i64,
}

impl State {
    pub(super) fn new(seed: u64, pacing: Pacing) -> Self {
        Self {
            random: Random::new(seed, "telegram"),
            bots: BTreeMap::new(),
            people: BTreeMap::new(),
            chats: BTreeMap::new(),
            files: HashMap::new(),
            queries: BTreeMap::new(),
            calls: Vec::new(),
            complaints: Vec::new(),
            laid: Vec::new(),
            paces: Paces::new(pacing),
            query_lasts: Duration::from_secs(60),
            forgetful: false,
            ago: 0,
            sites: Vec::new(),
            next_person: 5_000_000_000,
        }
    }

    /// Letters and digits nobody guesses.
    pub(super) fn word(&mut self, length: usize) -> String {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
        let letters = (0..length).map(|_| char::from(self.random.pick(LETTERS, b'A')));
        letters.collect()
    }

    pub(super) fn next_person(&mut self) -> i64 {
        self.next_person += 1;
        self.next_person
    }

    pub(super) fn complain(&mut self, what: impl Into<String>) {
        self.complaints.push(what.into());
    }

    pub(super) fn user(&self, id: i64) -> Value {
        let person = self.people.get(&id).map(Human::user);
        person.or_else(|| self.bots.get(&id).map(Bot::user)).unwrap_or_default()
    }

    pub(super) fn is_bot(&self, id: i64) -> bool {
        self.bots.contains_key(&id)
    }

    /// The chat of a bot and a person, made when it is first needed.
    pub(super) fn private(&mut self, bot: i64, person: i64) -> &mut Chat {
        let key = ChatKey::Private { bot, person };
        let topics = self.bots.get(&bot).is_some_and(|bot| bot.settings.topics);
        self.chats.entry(key).or_insert_with(|| Chat {
            kind: "private",
            title: String::new(),
            forum: topics,
            people: BTreeSet::from([person]),
            bots: BTreeMap::from([(bot, Standing::Unknown)]),
            topics: BTreeMap::new(),
            messages: BTreeMap::new(),
            next_message: 0,
            migrated_to: None,
            drafts: Vec::new(),
            actions: Vec::new(),
        })
    }

    /// A chat as bots are told of it.
    pub(super) fn chat_json(&self, key: ChatKey) -> Value {
        let Some(chat) = self.chats.get(&key) else { return Value::Null };
        let mut told = json!({"id": key.id(), "type": chat.kind});
        match key {
            ChatKey::Private { person, .. } => {
                if let Some(person) = self.people.get(&person) {
                    told["first_name"] = json!(person.name);
                    told["username"] = json!(person.username);
                }
            }
            ChatKey::Group(_) => told["title"] = json!(chat.title),
        }
        if chat.forum {
            told["is_forum"] = json!(true);
        }
        told
    }

    /// A message as bots are told of it.
    pub(super) fn message_json(&self, key: ChatKey, id: i64, with_reply: bool) -> Value {
        let Some(message) = self.chats.get(&key).and_then(|chat| chat.messages.get(&id)) else {
            return Value::Null;
        };
        let mut told = json!({
            "message_id": id, "date": message.date, "chat": self.chat_json(key),
            "from": self.user(message.from),
        });
        if let Some(thread) = message.thread {
            told["message_thread_id"] = json!(thread);
            told["is_topic_message"] = json!(true);
        }
        if let Some(date) = message.edited {
            told["edit_date"] = json!(date);
        }
        if let Some(markup) = &message.markup {
            told["reply_markup"] = markup.clone();
        }
        // What is said in a topic refers to its beginning, unless it refers to something else.
        let refers_to = message.reply_to.or(message.thread.filter(|thread| *thread != id));
        if with_reply && let Some(to) = refers_to {
            let original = self.message_json(key, to, false);
            if !original.is_null() {
                told["reply_to_message"] = original;
            }
        }
        if let Value::Object(told) = &mut told {
            told.extend(message.content.clone());
        }
        told
    }

    /// Puts a message in a chat; what was being written there is over.
    pub(super) fn store(&mut self, key: ChatKey, new: NewMessage) -> i64 {
        let id = self.next_id(key);
        let date = now().saturating_sub(self.ago);
        let Some(chat) = self.chats.get_mut(&key) else { return id };
        if new.by_bot {
            let drafts = chat.drafts.iter_mut().filter(|draft| draft.thread == new.thread);
            drafts.for_each(|draft| draft.over = true);
        }
        let history = vec![said(&new.content)];
        chat.messages.insert(
            id,
            Stored {
                id,
                from: new.from,
                thread: new.thread,
                reply_to: new.reply_to,
                content: new.content,
                markup: new.markup,
                date,
                edited: None,
                history,
                deleted: false,
                at: Instant::now(),
            },
        );
        id
    }

    /// Supergroups count their own messages; all else is counted per bot.
    fn next_id(&mut self, key: ChatKey) -> i64 {
        let counter = match key {
            ChatKey::Private { bot, .. } => {
                self.bots.get_mut(&bot).map(|bot| &mut bot.next_message)
            }
            ChatKey::Group(_) => self.chats.get_mut(&key).map(|chat| &mut chat.next_message),
        };
        counter.map_or(0, |counter| {
            *counter += 1;
            *counter
        })
    }
}

/// A message that is being put in a chat.
#[derive(Clone, Debug)]
pub(super) struct NewMessage {
    pub(super) from: i64,
    pub(super) by_bot: bool,
    pub(super) thread: Option<i64>,
    pub(super) reply_to: Option<i64>,
    pub(super) content: Map<String, Value>,
    pub(super) markup: Option<Value>,
}

/// The words of a message: its text or its caption.
pub(super) fn said(content: &Map<String, Value>) -> String {
    let words = content.get("text").or_else(|| content.get("caption"));
    words.and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs())
}
