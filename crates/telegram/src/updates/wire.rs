//! Updates as they come: what is looked at of them, and nothing else. What is not known here is left out, so
//! that nothing new at Telegram makes a message unreadable.

use serde::Deserialize;
use serde_json::Value;

/// What is asked for; everything else Telegram keeps to itself.
pub(crate) const ALLOWED: [&str; 5] =
    ["message", "edited_message", "callback_query", "my_chat_member", "stopped_message_generation"];

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(crate) struct Update {
    pub(crate) update_id: i64,
    #[serde(default)]
    pub(crate) message: Option<Box<Message>>,
    #[serde(default)]
    pub(crate) edited_message: Option<Box<Message>>,
    #[serde(default)]
    pub(crate) callback_query: Option<Box<CallbackQuery>>,
    #[serde(default)]
    pub(crate) my_chat_member: Option<Box<ChatMemberUpdated>>,
    #[serde(default)]
    pub(crate) stopped_message_generation: Option<Box<Stopped>>,
}

impl Update {
    /// The number alone, of an update that can't be read otherwise.
    pub(crate) fn number(raw: &Value) -> Option<i64> {
        raw.get("update_id")?.as_i64()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct User {
    pub(crate) id: i64,
    pub(crate) is_bot: bool,
    pub(crate) first_name: String,
    pub(crate) last_name: Option<String>,
    pub(crate) username: Option<String>,
    /// A tag such as `de`, of the app they use.
    pub(crate) language_code: Option<String>,
}

impl User {
    /// How people call them.
    pub(crate) fn name(&self) -> String {
        full_name(&self.first_name, self.last_name.as_deref())
    }

    /// Who an operator is to recognise: the name, and the one that can't be taken by somebody else.
    pub(crate) fn described(&self) -> String {
        match &self.username {
            Some(username) => format!("{} (@{username})", self.name()),
            None => self.name(),
        }
    }
}

pub(crate) fn full_name(first: &str, last: Option<&str>) -> String {
    match last {
        Some(last) if !last.is_empty() => format!("{first} {last}"),
        _ => first.to_owned(),
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ChatKind {
    Private,
    Group,
    Supergroup,
    Channel,
    #[default]
    #[serde(other)]
    Other,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Chat {
    pub(crate) id: i64,
    #[serde(rename = "type")]
    pub(crate) kind: ChatKind,
    pub(crate) title: Option<String>,
    pub(crate) first_name: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Entity {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// In UTF-16 units.
    pub(crate) offset: usize,
    pub(crate) length: usize,
    pub(crate) url: Option<String>,
    pub(crate) user: Option<User>,
    pub(crate) language: Option<String>,
}

/// Any file: what the kinds of them have in common.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Media {
    pub(crate) file_id: String,
    pub(crate) file_size: Option<u64>,
    pub(crate) file_name: Option<String>,
    pub(crate) mime_type: Option<String>,
    pub(crate) duration: Option<u64>,
    pub(crate) performer: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) emoji: Option<String>,
    pub(crate) is_animated: bool,
    pub(crate) is_video: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Location {
    pub(crate) latitude: f64,
    pub(crate) longitude: f64,
    pub(crate) horizontal_accuracy: Option<f64>,
    pub(crate) live_period: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Venue {
    pub(crate) location: Location,
    pub(crate) title: String,
    pub(crate) address: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Contact {
    pub(crate) phone_number: String,
    pub(crate) first_name: String,
    pub(crate) last_name: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Poll {
    pub(crate) question: String,
    pub(crate) options: Vec<Texted>,
    pub(crate) allows_multiple_answers: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Checklist {
    pub(crate) title: String,
    pub(crate) tasks: Vec<Texted>,
}

/// Anything with a text: an option of a poll, a task of a checklist, the quoted part of a message.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Texted {
    pub(crate) text: String,
    /// Of a task that is done.
    pub(crate) completion_date: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Dice {
    pub(crate) emoji: String,
    pub(crate) value: i64,
}

/// Whom a forwarded message is from.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Origin {
    pub(crate) sender_user: Option<User>,
    pub(crate) sender_user_name: Option<String>,
    pub(crate) sender_chat: Option<Chat>,
    pub(crate) chat: Option<Chat>,
    pub(crate) author_signature: Option<String>,
}

impl Origin {
    pub(crate) fn name(&self) -> String {
        let chat = self.chat.as_ref().or(self.sender_chat.as_ref());
        if let Some(user) = &self.sender_user {
            return user.name();
        }
        if let Some(title) = chat.and_then(|chat| chat.title.clone()) {
            return match &self.author_signature {
                Some(author) => format!("{author} in {title}"),
                None => title,
            };
        }
        self.sender_user_name.clone().unwrap_or_else(|| "somebody".to_owned())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct ExternalReply {
    pub(crate) origin: Option<Origin>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct TopicCreated {
    pub(crate) name: String,
    /// The name was not given by a person.
    pub(crate) is_name_implicit: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct TopicEdited {
    /// None: something else was changed, such as the icon.
    pub(crate) name: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Message {
    pub(crate) message_id: i64,
    pub(crate) message_thread_id: Option<i32>,
    pub(crate) is_topic_message: bool,
    pub(crate) from: Option<User>,
    /// Who speaks as a chat: an anonymous admin, a channel.
    pub(crate) sender_chat: Option<Chat>,
    pub(crate) date: i64,
    pub(crate) edit_date: Option<i64>,
    pub(crate) chat: Chat,
    /// The number of the chat when it was written, where that has another one now.
    #[serde(skip)]
    pub(crate) written_in: Option<i64>,
    /// The bot that made it, where a person chose it from what a bot offered them.
    pub(crate) via_bot: Option<User>,
    pub(crate) forward_origin: Option<Origin>,
    pub(crate) reply_to_message: Option<Box<Self>>,
    pub(crate) external_reply: Option<ExternalReply>,
    pub(crate) quote: Option<Texted>,
    pub(crate) media_group_id: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) entities: Vec<Entity>,
    pub(crate) caption: Option<String>,
    pub(crate) caption_entities: Vec<Entity>,
    pub(crate) animation: Option<Media>,
    pub(crate) audio: Option<Media>,
    pub(crate) document: Option<Media>,
    pub(crate) photo: Vec<Media>,
    pub(crate) sticker: Option<Media>,
    pub(crate) video: Option<Media>,
    pub(crate) video_note: Option<Media>,
    pub(crate) voice: Option<Media>,
    pub(crate) contact: Option<Contact>,
    pub(crate) dice: Option<Dice>,
    pub(crate) poll: Option<Poll>,
    pub(crate) checklist: Option<Checklist>,
    pub(crate) venue: Option<Venue>,
    pub(crate) location: Option<Location>,
    pub(crate) story: Option<Value>,
    pub(crate) game: Option<Value>,
    pub(crate) invoice: Option<Value>,
    pub(crate) paid_media: Option<Value>,
    pub(crate) live_photo: Option<Value>,
    pub(crate) giveaway: Option<Value>,
    pub(crate) rich_message: Option<Value>,
    pub(crate) migrate_to_chat_id: Option<i64>,
    pub(crate) migrate_from_chat_id: Option<i64>,
    pub(crate) forum_topic_created: Option<TopicCreated>,
    pub(crate) forum_topic_edited: Option<TopicEdited>,
    pub(crate) forum_topic_closed: Option<Value>,
    pub(crate) forum_topic_reopened: Option<Value>,
}

impl Message {
    /// The topic that it is in. Replies in an ordinary group carry a thread, too, which is none.
    pub(crate) fn thread(&self) -> Option<i32> {
        self.message_thread_id.filter(|_| self.is_topic_message)
    }

    /// The external id of its conversation.
    pub(crate) fn place(&self) -> String {
        crate::bot::conversation_id(self.chat.id, self.thread())
    }

    /// The name that the inbox and the waiting list know it by.
    pub(crate) fn name(&self) -> String {
        format!("{}-{}", self.written_in.unwrap_or(self.chat.id), self.message_id)
    }

    /// The number that an answer refers to; zero: none. Where the chat has another number by now, another message
    /// has this one.
    pub(crate) const fn answerable(&self) -> i64 {
        match self.written_in {
            Some(_) => 0,
            None => self.message_id,
        }
    }

    /// The chat has this number now. What it was known by it stays known by.
    pub(crate) fn move_to(&mut self, chat: i64) {
        if chat != self.chat.id {
            self.written_in.get_or_insert(self.chat.id);
            self.chat.id = chat;
        }
    }

    /// What it replies to, if that is more than the topic that it is in.
    pub(crate) fn reply(&self) -> Option<&Self> {
        let reply = self.reply_to_message.as_deref()?;
        let is_topic = reply.forum_topic_created.is_some()
            || self.thread().is_some_and(|thread| i64::from(thread) == reply.message_id);
        (!is_topic).then_some(reply)
    }

    pub(crate) fn is_private(&self) -> bool {
        self.chat.kind == ChatKind::Private
    }

    /// Whether Telegram tells no more than that there was a message: it was deleted, or is too old.
    pub(crate) const fn is_inaccessible(&self) -> bool {
        self.date == 0
    }

    /// Whether the words that it has now were written at this time, in Unix milliseconds, or later. Telegram counts in
    /// seconds.
    pub(crate) fn was_written_since(&self, ms: i64) -> bool {
        self.edit_date.unwrap_or(self.date) >= ms.div_euclid(1000)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct CallbackQuery {
    pub(crate) id: String,
    pub(crate) from: User,
    pub(crate) message: Option<Box<Message>>,
    pub(crate) data: Option<String>,
}

/// Somebody stopped an answer that was being written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Stopped {
    pub(crate) chat: Chat,
    pub(crate) message_thread_id: Option<i32>,
}

impl Stopped {
    /// The message that they might have written instead.
    pub(crate) fn as_message(&self) -> Message {
        Message {
            message_thread_id: self.message_thread_id,
            is_topic_message: self.message_thread_id.is_some(),
            // In a private chat the number is the person's.
            from: Some(User { id: self.chat.id, ..User::default() }),
            chat: self.chat.clone(),
            ..Message::default()
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct ChatMemberUpdated {
    pub(crate) chat: Chat,
    pub(crate) from: User,
    pub(crate) new_chat_member: Member,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Member {
    pub(crate) status: String,
    pub(crate) is_member: Option<bool>,
}

impl Member {
    /// Whether it is in the chat, or not blocked there.
    pub(crate) fn is_in(&self) -> bool {
        match self.status.as_str() {
            "left" | "kicked" => false,
            "restricted" => self.is_member.unwrap_or(true),
            _ => true,
        }
    }
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
