//! A person with the plainest of clients: HTTP and JSON, no encryption. For load and for measuring.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::account::Account;
use super::http::{escaped, request};
use super::{Synapse, SynapseError};

/// How many events of a room one sync brings at most.
const TIMELINE: u32 = 1000;
/// How long one sync waits for something to happen.
const SYNC_TIME: Duration = Duration::from_secs(2);

/// A message as a client shows it: edits applied, redacted ones left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    pub event_id: String,
    pub sender: String,
    pub text: String,
    /// The newest content of its event.
    pub content: Value,
    /// How many times it was edited.
    pub edits: usize,
}

#[derive(Clone, Debug, Default)]
struct Room {
    name: Option<String>,
    is_space: bool,
    events: Vec<Value>,
    /// How many of them `take_news` has given out.
    taken: usize,
    seen: BTreeSet<String>,
    told_again: usize,
}

/// Sees what the server tells; accepts every invite.
#[derive(Clone, Debug)]
pub struct PlainPerson {
    address: String,
    account: Account,
    since: Option<String>,
    joined: BTreeMap<String, Room>,
}

impl PlainPerson {
    pub async fn register(synapse: &Synapse, name: &str) -> Result<Self, SynapseError> {
        let account = synapse.register(name).await?;
        Ok(Self::of(synapse, account))
    }

    pub fn of(synapse: &Synapse, account: Account) -> Self {
        Self::at(&synapse.url(), account)
    }

    /// Of an account that is reached under this address.
    pub fn at(url: &str, account: Account) -> Self {
        let address = url.trim_start_matches("http://").to_owned();
        Self { address, account, since: None, joined: BTreeMap::new() }
    }

    pub fn id(&self) -> &str {
        &self.account.user_id
    }

    pub fn account(&self) -> &Account {
        &self.account
    }

    pub(super) async fn call(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, SynapseError> {
        let token = Some(self.account.access_token.as_str());
        request(&self.address, (method, path), token, body).await
    }

    /// Makes a private room without encryption and invites somebody.
    pub async fn invite(&self, whom: &str) -> Result<String, SynapseError> {
        let body = json!({"preset": "trusted_private_chat", "is_direct": true, "invite": [whom]});
        self.make_room(&body).await
    }

    /// Says something; the id of its event.
    pub async fn say(&self, room: &str, text: &str) -> Result<String, SynapseError> {
        self.send(room, "m.room.message", &json!({"msgtype": "m.text", "body": text})).await
    }

    /// Hears what there is to hear, waiting for it for a while.
    pub async fn sync(&mut self) -> Result<(), SynapseError> {
        self.sync_for(SYNC_TIME).await
    }

    pub async fn sync_for(&mut self, wait: Duration) -> Result<(), SynapseError> {
        let filter = json!({
            "room": {"timeline": {"limit": TIMELINE}, "ephemeral": {"types": []}},
            "presence": {"types": []},
        });
        let filter = escaped(&filter.to_string());
        let wait = if self.since.is_some() { wait.as_millis() } else { 0 };
        let mut path = format!("/_matrix/client/v3/sync?timeout={wait}&filter={filter}");
        if let Some(since) = &self.since {
            path.push_str(&format!("&since={}", escaped(since)));
        }
        let told = self.call("GET", &path, None).await?;
        self.since = told.get("next_batch").and_then(Value::as_str).map(str::to_owned);
        for (id, room) in objects(&told, "/rooms/join") {
            self.joined.entry(id.clone()).or_default().hear(room);
        }
        for (id, _) in objects(&told, "/rooms/leave") {
            self.joined.remove(id);
        }
        for (id, _) in objects(&told, "/rooms/invite") {
            let path = format!("/_matrix/client/v3/join/{}", escaped(id));
            self.call("POST", &path, Some(&json!({}))).await?;
        }
        Ok(())
    }

    /// Syncs until there is something to see.
    pub async fn until<T>(
        &mut self,
        what: &str,
        within: Duration,
        look: impl Fn(&Self) -> Option<T>,
    ) -> Result<T, SynapseError> {
        let deadline = Instant::now() + within;
        loop {
            if let Some(seen) = look(self) {
                return Ok(seen);
            }
            if Instant::now() >= deadline {
                return Err(SynapseError::Late(what.to_owned()));
            }
            self.sync().await?;
        }
    }

    /// The ids of joined rooms that are no Space.
    pub fn rooms(&self) -> impl Iterator<Item = &str> {
        self.joined.iter().filter(|(_, room)| !room.is_space).map(|(id, _)| id.as_str())
    }

    /// Joined rooms with their names, Spaces too.
    pub fn names(&self) -> Vec<(String, String)> {
        let named = |(id, room): (&String, &Room)| Some((id.clone(), room.name.clone()?));
        self.joined.iter().filter_map(named).collect()
    }

    /// The room of a chat: its name begins with the chat's number.
    pub fn room_of(&self, chat: &str) -> Option<String> {
        let of_chat = |name: &str| {
            let rest = name.strip_prefix(chat);
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
        };
        let found = self
            .joined
            .iter()
            .find(|(_, room)| !room.is_space && room.name.as_deref().is_some_and(of_chat));
        found.map(|(id, _)| id.clone())
    }

    /// How many events the server told more than once.
    pub fn told_again(&self) -> usize {
        self.joined.values().map(|room| room.told_again).sum()
    }

    /// What can be read in a room.
    pub fn posts(&self, room: &str) -> Vec<Post> {
        self.joined.get(room).map(|room| shown(&room.events)).unwrap_or_default()
    }

    /// What others wrote in a room.
    pub fn heard(&self, room: &str) -> Vec<Post> {
        let mut posts = self.posts(room);
        posts.retain(|post| post.sender != self.account.user_id);
        posts
    }

    /// Messages that came since this was last asked, with their rooms; edits are not told of.
    pub fn take_news(&mut self) -> Vec<(String, Post)> {
        let mut news = Vec::new();
        for (id, room) in &mut self.joined {
            let fresh = room.events.get(room.taken..).unwrap_or_default();
            news.extend(shown(fresh).into_iter().map(|post| (id.clone(), post)));
            room.taken = room.events.len();
        }
        news
    }

    /// The same account without what it has heard: enough to speak.
    pub fn speaker(&self) -> Self {
        Self {
            address: self.address.clone(),
            account: self.account.clone(),
            since: None,
            joined: BTreeMap::new(),
        }
    }

    /// What can be read in a room, asked of the server from the beginning.
    pub async fn history(&self, room: &str) -> Result<Vec<Post>, SynapseError> {
        Ok(shown(&self.events(room).await?))
    }
}

impl Room {
    fn hear(&mut self, told: &Value) {
        for part in ["/state/events", "/timeline/events"] {
            let events = told.pointer(part).and_then(Value::as_array);
            for event in events.into_iter().flatten() {
                self.take(event, part == "/timeline/events");
            }
        }
    }

    fn take(&mut self, event: &Value, in_timeline: bool) {
        match field(event, "type") {
            "m.room.name" => {
                self.name =
                    event.pointer("/content/name").and_then(Value::as_str).map(str::to_owned);
            }
            "m.room.create" => {
                self.is_space =
                    event.pointer("/content/type").and_then(Value::as_str) == Some("m.space");
            }
            _ => {}
        }
        if !in_timeline {
            return;
        }
        if self.seen.insert(field(event, "event_id").to_owned()) {
            self.events.push(event.clone());
        } else {
            self.told_again += 1;
        }
    }
}

fn objects<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    value.pointer(pointer).and_then(Value::as_object).into_iter().flatten()
}

fn field<'a>(event: &'a Value, name: &str) -> &'a str {
    event.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Applies edits and redactions, as a client does.
pub fn shown(events: &[Value]) -> Vec<Post> {
    let mut posts: Vec<Post> = Vec::new();
    for event in events {
        let sender = field(event, "sender");
        if field(event, "type") == "m.room.redaction" {
            let gone = [event.get("redacts"), event.pointer("/content/redacts")];
            let gone = gone.into_iter().flatten().find_map(Value::as_str).unwrap_or_default();
            posts.retain(|post| post.event_id != gone);
        }
        if field(event, "type") != "m.room.message" {
            continue;
        }
        let text = |at: &str| event.pointer(at).and_then(Value::as_str).map(str::to_owned);
        let relation = event.pointer("/content/m.relates_to");
        let replaces = relation.filter(|relation| field(relation, "rel_type") == "m.replace");
        if let Some(replaced) = replaces.map(|relation| field(relation, "event_id")) {
            let post = posts.iter_mut().find(|p| p.event_id == replaced && p.sender == sender);
            if let (Some(post), Some(text)) = (post, text("/content/m.new_content/body")) {
                post.text = text;
                post.content = event.pointer("/content/m.new_content").cloned().unwrap_or_default();
                post.edits += 1;
            }
        } else if let Some(text) = text("/content/body") {
            let event_id = field(event, "event_id").to_owned();
            let content = event.get("content").cloned().unwrap_or_default();
            posts.push(Post { event_id, sender: sender.to_owned(), text, content, edits: 0 });
        }
    }
    posts
}
