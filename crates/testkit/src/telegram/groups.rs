//! Groups: who is in them, what happens to them, and what their bots are told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::methods::begin_topic;
use super::person::Place;
use super::state::{Chat, ChatKey, Standing, State, now};
use super::{BotAccount, Person, Shared, TelegramServer};

/// A group that people share with bots.
#[derive(Clone)]
pub struct Group {
    shared: Arc<Shared>,
    key: ChatKey,
}

impl TelegramServer {
    /// A supergroup with these people in it.
    pub fn group(&self, title: &str, people: &[&Person]) -> Group {
        self.make_group(title, people, "supergroup", false)
    }

    /// A supergroup with topics.
    pub fn forum(&self, title: &str, people: &[&Person]) -> Group {
        self.make_group(title, people, "supergroup", true)
    }

    /// A small group, as Telegram makes them at first.
    pub fn basic_group(&self, title: &str, people: &[&Person]) -> Group {
        self.make_group(title, people, "group", false)
    }

    fn make_group(
        &self,
        title: &str,
        people: &[&Person],
        kind: &'static str,
        forum: bool,
    ) -> Group {
        let people = people.iter().map(|person| person.id()).collect();
        let key = self.shared.change(|state| new_group(state, title, people, kind, forum));
        Group { shared: Arc::clone(&self.shared), key }
    }
}

fn new_group(
    state: &mut State,
    title: &str,
    people: BTreeSet<i64>,
    kind: &'static str,
    forum: bool,
) -> ChatKey {
    let number = i64::try_from(state.chats.len()).unwrap_or(0);
    let base = if kind == "group" { -4_000_000 } else { -1_002_000_000_000 };
    let key = ChatKey::Group(base - number);
    state.chats.insert(
        key,
        Chat {
            kind,
            title: title.to_owned(),
            forum,
            people,
            bots: BTreeMap::new(),
            topics: BTreeMap::new(),
            messages: BTreeMap::new(),
            next_message: 10,
            migrated_to: None,
            drafts: Vec::new(),
            actions: Vec::new(),
        },
    );
    key
}

impl Group {
    /// The number bots know it by.
    pub fn id(&self) -> i64 {
        self.key.id()
    }

    /// The group itself, or its general topic.
    pub const fn place(&self) -> Place {
        Place { chat: self.key, thread: None }
    }

    /// Somebody adds a bot.
    pub fn add_bot(&self, by: &Person, bot: &BotAccount) {
        self.stand(by, bot, Standing::Member);
    }

    /// Somebody makes a bot an administrator who may manage topics.
    pub fn promote(&self, by: &Person, bot: &BotAccount) {
        self.stand(by, bot, Standing::Admin);
    }

    /// Somebody throws a bot out.
    pub fn kick(&self, by: &Person, bot: &BotAccount) {
        self.stand(by, bot, Standing::Out);
    }

    /// The group is deleted; nobody is told.
    pub fn vanish(&self) {
        self.shared.change(|state| {
            if let Some(chat) = state.chats.get_mut(&self.key) {
                chat.bots.values_mut().for_each(|standing| *standing = Standing::Gone);
            }
        });
    }

    pub fn add_person(&self, person: &Person) {
        self.shared.change(|state| {
            if let Some(chat) = state.chats.get_mut(&self.key) {
                chat.people.insert(person.id());
            }
        });
    }

    fn stand(&self, by: &Person, bot: &BotAccount, standing: Standing) {
        self.shared.change(|state| set_standing(state, self.key, by.id(), bot.id, standing));
    }

    /// Somebody opens a topic.
    pub fn open_topic(&self, by: &Person, name: &str) -> Place {
        let thread = self.shared.change(|state| {
            let thread = begin_topic(state, self.key, by.id(), name);
            tell_bots(state, self.key, thread);
            thread
        });
        Place { chat: self.key, thread: Some(thread) }
    }

    /// A small group becomes a supergroup: it has another number from then on. Bots are told in both.
    pub fn migrate(&mut self) -> i64 {
        let old = self.key;
        let new = self.shared.change(|state| {
            let (title, people, bots) = match state.chats.get(&old) {
                Some(chat) => (chat.title.clone(), chat.people.clone(), chat.bots.clone()),
                None => return old,
            };
            let by = people.iter().next().copied().unwrap_or(0);
            let new = new_group(state, &title, people, "supergroup", false);
            if let Some(chat) = state.chats.get_mut(&new) {
                chat.bots = bots;
            }
            let told = super::methods::service(
                state,
                old,
                by,
                None,
                "migrate_to_chat_id",
                json!(new.id()),
            );
            tell_bots(state, old, told);
            let told = super::methods::service(
                state,
                new,
                by,
                None,
                "migrate_from_chat_id",
                json!(old.id()),
            );
            tell_bots(state, new, told);
            if let Some(chat) = state.chats.get_mut(&old) {
                chat.migrated_to = Some(new.id());
            }
            new
        });
        self.key = new;
        new.id()
    }

    /// Becomes a supergroup without a word: bots learn it when they next write.
    pub fn migrate_silently(&mut self) -> i64 {
        let pending: Vec<(i64, usize)> =
            self.shared.state().bots.iter().map(|(id, bot)| (*id, bot.updates.len())).collect();
        let new = self.migrate();
        self.shared.change(|state| {
            for (id, count) in pending {
                if let Some(bot) = state.bots.get_mut(&id) {
                    bot.updates.truncate(count);
                }
            }
        });
        new
    }
}

fn member(standing: Standing, user: &Value) -> Value {
    let mut member = match standing {
        Standing::Member => json!({"status": "member"}),
        Standing::Admin => json!({
            "status": "administrator", "can_be_edited": false, "is_anonymous": false,
            "can_manage_chat": true, "can_delete_messages": true, "can_manage_video_chats": false,
            "can_restrict_members": false, "can_promote_members": false, "can_change_info": false,
            "can_invite_users": false, "can_post_stories": false, "can_edit_stories": false,
            "can_delete_stories": false, "can_manage_topics": true, "can_send_welcome_messages": false,
        }),
        Standing::Unknown | Standing::Left => json!({"status": "left"}),
        Standing::Out | Standing::Gone => json!({"status": "kicked", "until_date": 0}),
    };
    member["user"] = user.clone();
    member
}

/// Changes how a bot stands to a chat, and tells it.
pub(super) fn set_standing(state: &mut State, key: ChatKey, by: i64, bot: i64, standing: Standing) {
    let Some(chat) = state.chats.get_mut(&key) else { return };
    let before = chat.bots.insert(bot, standing).unwrap_or(Standing::Unknown);
    let user = state.user(bot);
    let update = json!({
        "chat": state.chat_json(key), "from": state.user(by), "date": now(),
        "old_chat_member": member(before, &user), "new_chat_member": member(standing, &user),
    });
    if let Some(bot) = state.bots.get_mut(&bot) {
        bot.push("my_chat_member", update);
    }
    let joins = standing == Standing::Member
        && matches!(before, Standing::Unknown | Standing::Left | Standing::Out);
    if joins && matches!(key, ChatKey::Group(_)) {
        let joined =
            super::methods::service(state, key, by, None, "new_chat_members", json!([user]));
        tell_bots(state, key, joined);
    }
}

/// Tells the bots of a chat of a message, as far as each of them gets to see it.
pub(super) fn tell_bots(state: &mut State, key: ChatKey, message: i64) {
    let told = state.message_json(key, message, true);
    let Some(chat) = state.chats.get(&key) else { return };
    let present: Vec<(i64, Standing)> = chat
        .bots
        .iter()
        .filter(|(_, standing)| matches!(standing, Standing::Member | Standing::Admin))
        .map(|(bot, standing)| (*bot, *standing))
        .collect();
    let private = matches!(key, ChatKey::Private { .. });
    for (id, standing) in present {
        let Some(bot) = state.bots.get_mut(&id) else { continue };
        let open = private || standing == Standing::Admin || bot.settings.reads_everything;
        if open || is_for(&told, bot.id, &bot.username) {
            bot.push("message", told.clone());
        }
    }
}

/// What a bot in privacy mode gets to see: service messages, commands, mentions, and replies to it.
fn is_for(message: &Value, bot: i64, username: &str) -> bool {
    let Some(text) = message["text"].as_str().or_else(|| message["caption"].as_str()) else {
        return message.get("photo").is_none() && message.get("document").is_none();
    };
    text.starts_with('/')
        || text.contains(&format!("@{username}"))
        || (message.pointer("/reply_to_message/from/id").and_then(Value::as_i64) == Some(bot)
            && message.pointer("/reply_to_message/forum_topic_created").is_none())
}
