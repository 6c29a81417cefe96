//! A person with a Matrix client of their own: an independent session with its own keys, which sees only what
//! the homeserver tells it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cloister_testkit::synapse::{Account, Post, Synapse, shown};
use matrix_sdk::attachment::AttachmentConfig;
use matrix_sdk::authentication::matrix::MatrixSession;
use matrix_sdk::config::SyncSettings;
use matrix_sdk::media::{MediaFormat, MediaRequestParameters};
use matrix_sdk::ruma::api::client::filter::FilterDefinition;
use matrix_sdk::ruma::api::client::room::create_room::v3 as create_room;
use matrix_sdk::ruma::api::client::sync::sync_events::v3::Filter;
use matrix_sdk::ruma::events::room::MediaSource;
use matrix_sdk::ruma::{EventId, OwnedRoomId, RoomId, UserId, assign, uint};
use matrix_sdk::sync::SyncResponse;
use matrix_sdk::{Client, Room, RoomState, SessionMeta, SessionTokens};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::world::{PATIENCE, eventually};

const SYNC_WAIT: Duration = Duration::from_secs(5);
/// Pause after a sync that failed.
const AGAIN: Duration = Duration::from_millis(200);

/// What came by, per room and in order; events that can't be read yet are kept as they came.
#[derive(Default)]
struct Seen {
    events: HashMap<OwnedRoomId, Vec<Value>>,
    /// Whoever was seen writing, by room, newest last.
    typing: HashMap<OwnedRoomId, Vec<Vec<String>>>,
}

pub(crate) struct Person {
    pub(crate) client: Client,
    pub(crate) account: Account,
    seen: Arc<Mutex<Seen>>,
    _syncing: JoinSet<()>,
}

impl Person {
    /// A new account on the homeserver, with a client that listens.
    pub(crate) async fn register(synapse: &Synapse, name: &str) -> Self {
        let account = synapse.register(name).await.unwrap();
        Self::with_device(synapse, account).await
    }

    /// A client of an account, on the device the account names.
    pub(crate) async fn with_device(synapse: &Synapse, account: Account) -> Self {
        let client = Client::builder().homeserver_url(synapse.url()).build().await.unwrap();
        let meta = SessionMeta {
            user_id: UserId::parse(&account.user_id).unwrap(),
            device_id: account.device_id.as_str().into(),
        };
        let tokens =
            SessionTokens { access_token: account.access_token.clone(), refresh_token: None };
        client.restore_session(MatrixSession { meta, tokens }).await.unwrap();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let mut syncing = JoinSet::new();
        syncing.spawn(Box::pin(listen(client.clone(), Arc::clone(&seen))));
        Self { client, account, seen, _syncing: syncing }
    }

    pub(crate) fn id(&self) -> &str {
        &self.account.user_id
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes an encrypted direct room with somebody.
    pub(crate) async fn invite(&self, whom: &str) -> Room {
        self.client.create_dm(&UserId::parse(whom).unwrap()).await.unwrap()
    }

    /// Makes a direct room without encryption with somebody.
    pub(crate) async fn invite_plainly(&self, whom: &str) -> Room {
        self.make_room(&[whom], true).await
    }

    /// Makes a room without encryption with these people.
    pub(crate) async fn make_room(&self, with: &[&str], direct: bool) -> Room {
        let request = assign!(create_room::Request::new(), {
            invite: with.iter().map(|id| UserId::parse(*id).unwrap()).collect(),
            is_direct: direct,
            preset: Some(create_room::RoomPreset::TrustedPrivateChat),
        });
        self.client.create_room(request).await.unwrap()
    }

    /// The rooms the person is in, Spaces left out.
    pub(crate) fn rooms(&self) -> Vec<Room> {
        let mut rooms = self.client.joined_rooms();
        rooms.retain(|room| !room.is_space());
        rooms
    }

    pub(crate) fn spaces(&self) -> Vec<Room> {
        self.client.joined_space_rooms()
    }

    /// The room of a chat, once the person is in it: its name begins with the chat's number.
    pub(crate) async fn room_of(&self, chat: &str) -> Room {
        let names = || self.names();
        eventually(&format!("{} is in a room {chat}, but in {:?}", self.id(), names()), || async {
            self.find_room(chat)
        })
        .await
    }

    /// The room of a chat, if the person is in it now.
    pub(crate) fn find_room(&self, chat: &str) -> Option<Room> {
        let of_chat = |name: String| {
            let rest = name.strip_prefix(chat)?;
            (!rest.starts_with(|c: char| c.is_ascii_alphanumeric())).then_some(())
        };
        self.rooms().into_iter().find(|room| room.name().and_then(of_chat).is_some())
    }

    /// The names of the rooms the person is in, sorted, Spaces left out.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.rooms().iter().filter_map(|room| room.name()).collect();
        names.sort();
        names
    }

    /// The Space `Cloister`, once the person is in it.
    pub(crate) async fn home(&self) -> Room {
        eventually("the person is in a Space named Cloister", || async {
            self.spaces().into_iter().find(|space| space.name().as_deref() == Some("Cloister"))
        })
        .await
    }

    /// Says something; the id of its event.
    pub(crate) async fn say(&self, room: &Room, text: &str) -> String {
        self.send(room, "m.room.message", json!({"msgtype": "m.text", "body": text})).await
    }

    /// Sends any event.
    pub(crate) async fn send(&self, room: &Room, kind: &str, content: Value) -> String {
        let sent = room.send_raw(kind, content).await.unwrap();
        sent.response.event_id.to_string()
    }

    /// Says something in a thread, or as a reply to a message.
    pub(crate) async fn reply(&self, room: &Room, to: &str, text: &str, threaded: bool) -> String {
        let mut relation = json!({"m.in_reply_to": {"event_id": to}});
        if threaded {
            relation["rel_type"] = json!("m.thread");
            relation["event_id"] = json!(to);
            relation["is_falling_back"] = json!(true);
        }
        let content = json!({"msgtype": "m.text", "body": text, "m.relates_to": relation});
        self.send(room, "m.room.message", content).await
    }

    /// Puts other words in the place of what a message said.
    pub(crate) async fn edit(&self, room: &Room, message: &str, text: &str) -> String {
        let content = json!({
            "msgtype": "m.text", "body": format!("* {text}"),
            "m.new_content": {"msgtype": "m.text", "body": text},
            "m.relates_to": {"rel_type": "m.replace", "event_id": message},
        });
        self.send(room, "m.room.message", content).await
    }

    pub(crate) async fn redact(&self, room: &Room, message: &str) {
        room.redact(&EventId::parse(message).unwrap(), None, None).await.unwrap();
    }

    pub(crate) async fn react(&self, room: &Room, message: &str, key: &str) -> String {
        let relation = json!({"rel_type": "m.annotation", "event_id": message, "key": key});
        self.send(room, "m.reaction", json!({"m.relates_to": relation})).await
    }

    /// Sends a file; encrypted where the room is.
    pub(crate) async fn send_file(
        &self,
        room: &Room,
        name: &str,
        mime: &str,
        bytes: &[u8],
    ) -> String {
        let mime = mime.parse().unwrap();
        let sent = room.send_attachment(name, &mime, bytes.to_vec(), AttachmentConfig::new()).await;
        sent.unwrap().event_id.to_string()
    }

    /// What is behind a message with a file, decrypted.
    pub(crate) async fn fetch(&self, post: &Post) -> Vec<u8> {
        let source: MediaSource = serde_json::from_value(post.content.clone()).unwrap();
        let request = MediaRequestParameters { source, format: MediaFormat::File };
        self.client.media().get_media_content(&request, false).await.unwrap()
    }

    /// Every event of a room that came by, decrypted where that was possible.
    pub(crate) fn events(&self, room: &Room) -> Vec<Value> {
        self.seen().events.get(room.room_id()).cloned().unwrap_or_default()
    }

    /// What can be read in a room: edits applied, redacted messages left out.
    pub(crate) fn messages(&self, room: &Room) -> Vec<Post> {
        shown(&self.events(room))
    }

    /// What others wrote in a room.
    pub(crate) fn heard(&self, room: &Room) -> Vec<Post> {
        let mut posts = self.messages(room);
        posts.retain(|post| post.sender != self.account.user_id);
        posts
    }

    /// Whether anybody was seen writing in a room.
    pub(crate) fn saw_typing(&self, room: &Room) -> bool {
        let seen = self.seen();
        seen.typing.get(room.room_id()).into_iter().flatten().any(|who| !who.is_empty())
    }

    /// How many events of a room can't be read.
    pub(crate) fn unreadable(&self, room: &Room) -> usize {
        self.events(room).iter().filter(|event| event["type"] == "m.room.encrypted").count()
    }

    /// A message of somebody else whose text, edits applied, is exactly this.
    pub(crate) async fn wait_for_text(&self, room: &Room, text: &str) -> Post {
        let said = |post: &Post| post.text == text;
        self.wait_for(room, &format!("{text:?}"), said).await
    }

    /// A message of somebody else whose text, edits applied, has this in it.
    pub(crate) async fn wait_for_words(&self, room: &Room, words: &str) -> Post {
        let said = |post: &Post| post.text.contains(words);
        self.wait_for(room, &format!("…{words:?}…"), said).await
    }

    pub(crate) async fn wait_for(
        &self,
        room: &Room,
        what: &str,
        fits: impl Fn(&Post) -> bool,
    ) -> Post {
        let found = tokio::time::timeout(PATIENCE, async {
            loop {
                if let Some(post) = self.heard(room).into_iter().find(|post| fits(post)) {
                    return post;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        found.await.unwrap_or_else(|_late| {
            let heard: Vec<String> = self.heard(room).into_iter().map(|post| post.text).collect();
            let (name, unreadable) = (room.name(), self.unreadable(room));
            panic!(
                "{} never heard {what} in {name:?}; heard {heard:#?}, {unreadable} unreadable, in rooms {:?}",
                self.id(),
                self.names()
            )
        })
    }

    /// Says something and waits for a message that answers it: new, of somebody else, with these words.
    pub(crate) async fn ask(&self, room: &Room, text: &str, expected: &str) -> Post {
        let before: Vec<String> = self.heard(room).into_iter().map(|post| post.event_id).collect();
        self.say(room, text).await;
        let fits = |post: &Post| !before.contains(&post.event_id) && post.text.contains(expected);
        self.wait_for(room, &format!("{expected:?} as an answer to {text:?}"), fits).await
    }
}

async fn listen(client: Client, seen: Arc<Mutex<Seen>>) {
    let mut filter = FilterDefinition::default();
    filter.room.timeline.limit = Some(uint!(500));
    let settings = SyncSettings::new().timeout(SYNC_WAIT).filter(Filter::FilterDefinition(filter));
    loop {
        match Box::pin(client.sync_once(settings.clone())).await {
            Ok(told) => {
                take(&seen, told);
                read_again(&client, &seen).await;
                accept(&client).await;
            }
            Err(_) => tokio::time::sleep(AGAIN).await,
        }
    }
}

fn take(seen: &Mutex<Seen>, told: SyncResponse) {
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    for (id, update) in told.rooms.joined {
        let events = seen.events.entry(id.clone()).or_default();
        for event in &update.timeline.events {
            let event: Value = serde_json::from_str(event.raw().json().get()).unwrap_or_default();
            if !events.iter().any(|known| known["event_id"] == event["event_id"]) {
                events.push(event);
            }
        }
        for event in &update.ephemeral {
            let event: Value = serde_json::from_str(event.json().get()).unwrap_or_default();
            if event["type"] == "m.typing" {
                let who = serde_json::from_value(event["content"]["user_ids"].clone());
                seen.typing.entry(id.clone()).or_default().push(who.unwrap_or_default());
            }
        }
    }
}

/// Tries again to read what could not be read: keys may have come since.
async fn read_again(client: &Client, seen: &Mutex<Seen>) {
    let closed: Vec<(OwnedRoomId, Value)> = {
        let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        let all = seen.events.iter().flat_map(|(id, events)| events.iter().map(move |e| (id, e)));
        all.filter(|(_, event)| event["type"] == "m.room.encrypted")
            .map(|(id, event)| (id.clone(), event.clone()))
            .collect()
    };
    for (id, event) in closed {
        let Some(opened) = open(client, &id, &event).await else { continue };
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        let known = seen.events.get_mut(&id).into_iter().flatten();
        for known in known.filter(|known| known["event_id"] == event["event_id"]) {
            *known = opened.clone();
        }
    }
}

async fn open(client: &Client, room: &RoomId, event: &Value) -> Option<Value> {
    let room = client.get_room(room)?;
    let raw = serde_json::value::to_raw_value(event).ok()?;
    let raw = matrix_sdk::ruma::serde::Raw::from_json(raw);
    let opened = room.decrypt_event(&raw, None).await.ok()?;
    let opened: Value = serde_json::from_str(opened.raw().json().get()).ok()?;
    (opened["type"] != "m.room.encrypted").then_some(opened)
}

async fn accept(client: &Client) {
    for room in client.invited_rooms() {
        if room.state() == RoomState::Invited {
            // One that does not work is tried again after the next sync.
            room.join().await.ok();
        }
    }
}
