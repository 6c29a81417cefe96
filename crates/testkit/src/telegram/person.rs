//! A person with a client: what they send, what they press, and what they get to see.

mod sees;
mod sent;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::timeout;

pub use sees::{Button, Seen, SeenFile};
pub use sent::{FileKind, Sent};

use super::groups::{set_standing, tell_bots};
use super::methods::{begin_topic, remove_topic, service};
use super::state::{ChatKey, NewMessage, Query, Standing, State, now, said};
use super::{BotAccount, Shared};

/// The longest that anything is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is looked again where nothing tells of a change.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A chat, or a topic in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub(super) chat: ChatKey,
    pub(super) thread: Option<i64>,
}

impl Place {
    /// As conversations are named: `CHAT` or `CHAT/THREAD`.
    pub fn name(&self) -> String {
        match self.thread {
            Some(thread) => format!("{}/{thread}", self.chat.id()),
            None => self.chat.id().to_string(),
        }
    }

    pub const fn thread(&self) -> Option<i64> {
        self.thread
    }

    /// The chat that the topic is in.
    pub const fn whole(&self) -> Self {
        Self { chat: self.chat, thread: None }
    }
}

#[derive(Clone)]
pub struct Person {
    shared: Arc<Shared>,
    id: i64,
}

impl Person {
    pub(super) const fn new(shared: Arc<Shared>, id: i64) -> Self {
        Self { shared, id }
    }

    /// Telegram's number of the person.
    pub const fn id(&self) -> i64 {
        self.id
    }

    /// The same, as identities are named.
    pub fn name(&self) -> String {
        self.id.to_string()
    }

    /// The chat with a bot.
    pub fn with(&self, bot: &BotAccount) -> Place {
        self.shared.change(|state| {
            state.private(bot.id, self.id);
        });
        Place { chat: ChatKey::Private { bot: bot.id, person: self.id }, thread: None }
    }

    /// Presses Start.
    pub fn start(&self, place: &Place) -> i64 {
        self.say(place, "/start")
    }

    pub fn say(&self, place: &Place, text: &str) -> i64 {
        self.send(place, Sent::text(text))
    }

    pub fn reply(&self, place: &Place, to: i64, text: &str) -> i64 {
        self.send(place, Sent::text(text).reply_to(to))
    }

    /// Sends something; the number of the message, or 0 where the client does not let them.
    pub fn send(&self, place: &Place, sent: Sent) -> i64 {
        self.shared.change(|state| self.put(state, place, sent, None))
    }

    /// Several files at once.
    pub fn album(&self, place: &Place, files: Vec<Sent>) -> Vec<i64> {
        self.shared.change(|state| {
            let album = format!("1{}", state.random.below(1 << 40));
            let files = files.into_iter();
            files.map(|sent| self.put(state, place, sent, Some(&album))).collect()
        })
    }

    fn put(&self, state: &mut State, place: &Place, sent: Sent, album: Option<&str>) -> i64 {
        if !self.may_write(state, place) {
            return 0;
        }
        let reply_to = sent.replies_to();
        let mut content = sent.into_content(state, self.id);
        if let Some(album) = album {
            content.insert("media_group_id".to_owned(), json!(album));
        }
        let (from, thread) = (self.id, place.thread);
        let new = NewMessage { from, by_bot: false, thread, reply_to, content, markup: None };
        let id = state.store(place.chat, new);
        tell_bots(state, place.chat, id);
        id
    }

    /// Writing to a bot for the first time starts it.
    fn may_write(&self, state: &mut State, place: &Place) -> bool {
        if let ChatKey::Private { bot, person } = place.chat {
            let chat = state.private(bot, person);
            let standing = chat.bots.entry(bot).or_insert(Standing::Unknown);
            if *standing == Standing::Unknown {
                *standing = Standing::Member;
            }
        }
        let Some(chat) = state.chats.get(&place.chat) else { return false };
        let closed = place.thread.is_some_and(|thread| {
            chat.topics.get(&thread).is_none_or(|topic| topic.deleted || topic.closed)
        });
        chat.people.contains(&self.id) && !closed && chat.migrated_to.is_none()
    }

    /// Puts other words in the place of what a message of theirs said.
    pub fn edit(&self, place: &Place, message: i64, text: &str) {
        self.shared.change(|state| {
            let chat = state.chats.get_mut(&place.chat);
            let Some(stored) = chat.and_then(|chat| chat.messages.get_mut(&message)) else {
                return;
            };
            let field = if stored.content.contains_key("text") { "text" } else { "caption" };
            stored.content.insert(field.to_owned(), json!(text));
            stored.content.remove("entities");
            let entities = super::text::typed_entities(text);
            if field == "text" && !entities.is_empty() {
                stored.content.insert("entities".to_owned(), json!(entities));
            }
            stored.edited = Some(now());
            let words = said(&stored.content);
            stored.history.push(words);
            let told = state.message_json(place.chat, message, true);
            for_bots(state, place.chat, |bot| bot.push("edited_message", told.clone()));
        });
    }

    /// Deletes a message of theirs; bots are not told.
    pub fn delete(&self, place: &Place, message: i64) {
        self.shared.change(|state| {
            let chat = state.chats.get_mut(&place.chat);
            if let Some(stored) = chat.and_then(|chat| chat.messages.get_mut(&message)) {
                stored.deleted = true;
            }
        });
    }

    /// Opens a topic in the chat with a bot.
    pub fn open_topic(&self, bot: &BotAccount, name: &str) -> Place {
        let whole = self.with(bot);
        let thread = self.shared.change(|state| {
            self.may_write(state, &whole);
            let thread = begin_topic(state, whole.chat, self.id, name);
            tell_bots(state, whole.chat, thread);
            thread
        });
        Place { thread: Some(thread), ..whole }
    }

    pub fn rename_topic(&self, place: &Place, name: &str) {
        self.shared.change(|state| {
            let Some(thread) = place.thread else { return };
            let chat = state.chats.get_mut(&place.chat);
            let Some(topic) = chat.and_then(|chat| chat.topics.get_mut(&thread)) else { return };
            name.clone_into(&mut topic.name);
            let edited = json!({ "name": name });
            let told =
                service(state, place.chat, self.id, Some(thread), "forum_topic_edited", edited);
            tell_bots(state, place.chat, told);
        });
    }

    /// Closes a topic of a group, or opens it again.
    pub fn close_topic(&self, place: &Place, closed: bool) {
        self.shared.change(|state| {
            let Some(thread) = place.thread else { return };
            let chat = state.chats.get_mut(&place.chat);
            let Some(topic) = chat.and_then(|chat| chat.topics.get_mut(&thread)) else { return };
            topic.closed = closed;
            let kind = if closed { "forum_topic_closed" } else { "forum_topic_reopened" };
            let told = service(state, place.chat, self.id, Some(thread), kind, json!({}));
            tell_bots(state, place.chat, told);
        });
    }

    /// Deletes a topic with everything in it; bots are not told.
    pub fn delete_topic(&self, place: &Place) {
        self.shared.change(|state| {
            if let Some(thread) = place.thread {
                remove_topic(state, place.chat, thread);
            }
        });
    }

    pub fn block(&self, bot: &BotAccount) {
        self.stand(bot, Standing::Out);
    }

    pub fn unblock(&self, bot: &BotAccount) {
        self.stand(bot, Standing::Member);
    }

    /// The account is deleted; bots are not told.
    pub fn vanish(&self, bot: &BotAccount) {
        self.shared.change(|state| {
            state.private(bot.id, self.id).bots.insert(bot.id, Standing::Gone);
        });
    }

    fn stand(&self, bot: &BotAccount, standing: Standing) {
        let key = self.with(bot).chat;
        self.shared.change(|state| set_standing(state, key, self.id, bot.id, standing));
    }

    /// Presses the button of a message that says this.
    #[track_caller]
    pub fn press(&self, place: &Place, message: &Seen, label: &str) -> Press {
        let now = self.messages(place).into_iter().find(|seen| seen.id == message.id);
        let buttons = now.map(|seen| seen.buttons).unwrap_or_default();
        let button = buttons.iter().find(|button| button.label.contains(label));
        let Some(button) = button else {
            panic!("there is no button {label:?} under {:?}: {buttons:?}", message.text)
        };
        self.press_data(place, message.id, &button.data)
    }

    /// Tells the bot of a message that a button with this data was pressed, as a client can whatever is there.
    pub fn press_data(&self, place: &Place, message: i64, data: &str) -> Press {
        let id = self.shared.change(|state| {
            let id = format!("{}{}", self.id, state.random.below(1 << 40));
            let Some(chat) = state.chats.get(&place.chat) else { return id };
            let Some(stored) = chat.messages.get(&message) else { return id };
            let bot = stored.from;
            if !chat.people.contains(&self.id) || !state.bots.contains_key(&bot) {
                return id;
            }
            let told = if stored.deleted || state.forgetful {
                json!({"chat": state.chat_json(place.chat), "message_id": message, "date": 0})
            } else {
                state.message_json(place.chat, message, true)
            };
            let query = json!({
                "id": id, "from": state.user(self.id), "message": told,
                "chat_instance": format!("{}", place.chat.id().unsigned_abs()), "data": data,
            });
            let waiting = Query { bot, answer: None, at: Instant::now(), expired: false };
            state.queries.insert(id.clone(), waiting);
            if let Some(bot) = state.bots.get_mut(&bot) {
                bot.push("callback_query", query);
            }
            id
        });
        Press { shared: Arc::clone(&self.shared), id }
    }

    /// Presses the button of the draft that is being shown: it is over, and the bot is told.
    #[track_caller]
    pub fn stop(&self, place: &Place) {
        assert!(self.sees_stop(place), "there is no draft with a button to stop it");
        self.shared.change(|state| {
            let ChatKey::Private { bot, .. } = place.chat else { return };
            let Some(chat) = state.chats.get_mut(&place.chat) else { return };
            let Some(id) = chat.draft(place.thread).map(|draft| draft.id) else { return };
            let same = chat.drafts.iter_mut().filter(|draft| draft.id == id);
            same.for_each(|draft| draft.over = true);
            let mut told = json!({"chat": state.chat_json(place.chat), "draft_id": id});
            if let Some(thread) = place.thread {
                told["message_thread_id"] = json!(thread);
            }
            if let Some(bot) = state.bots.get_mut(&bot) {
                bot.push("stopped_message_generation", told);
            }
        });
    }

    /// Looks until there is something to see.
    async fn until<T>(&self, mut look: impl FnMut() -> Option<T>) -> Option<T> {
        until(&self.shared, &mut look).await
    }
}

async fn until<T>(shared: &Shared, look: &mut impl FnMut() -> Option<T>) -> Option<T> {
    let mut changed = shared.changed.subscribe();
    let looking = async {
        loop {
            if let Some(seen) = look() {
                return seen;
            }
            // What changes without a word is seen at the next look.
            timeout(LOOK_EVERY, changed.changed()).await.ok();
        }
    };
    timeout(PATIENCE, looking).await.ok()
}

/// The bots that are in a chat.
fn for_bots(state: &mut State, key: ChatKey, mut tell: impl FnMut(&mut super::bots::Bot)) {
    let Some(chat) = state.chats.get(&key) else { return };
    let present = chat.bots.iter();
    let present: Vec<i64> = present
        .filter(|(_, standing)| matches!(standing, Standing::Member | Standing::Admin))
        .map(|(bot, _)| *bot)
        .collect();
    for id in present {
        if let Some(bot) = state.bots.get_mut(&id) {
            tell(bot);
        }
    }
}

/// A button that was pressed: the client shows that it waits, until the bot answers.
pub struct Press {
    shared: Arc<Shared>,
    id: String,
}

impl Press {
    /// What the bot answered, shown at the top of the screen; empty where it only took note.
    pub async fn answered(&self) -> String {
        let mut look = || self.answer();
        let answer = until(&self.shared, &mut look).await;
        answer.unwrap_or_else(|| panic!("the press of a button was never answered"))
    }

    pub fn answer(&self) -> Option<String> {
        let state = self.shared.state();
        let answer = state.queries.get(&self.id)?.answer.as_ref()?;
        Some(answer["text"].as_str().unwrap_or_default().to_owned())
    }

    /// The client gives up waiting: an answer comes too late now.
    pub fn expire(&self) {
        self.shared.change(|state| {
            if let Some(query) = state.queries.get_mut(&self.id) {
                query.expired = true;
            }
        });
    }

    /// The bot is told of the same press once more.
    pub fn repeat(&self, bot: &BotAccount) {
        self.shared.change(|state| {
            let Some(bot) = state.bots.get_mut(&bot.id) else { return };
            let known = bot.confirmed.iter().chain(&bot.updates);
            let same = |update: &&Value| update["callback_query"]["id"] == self.id.as_str();
            if let Some(query) = known.rev().find(same).map(|known| known["callback_query"].clone())
            {
                bot.push("callback_query", query);
            }
        });
    }
}
