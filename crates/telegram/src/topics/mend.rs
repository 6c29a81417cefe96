//! Making the topics show the chats: whatever the database wants and Telegram does not show yet.

use std::time::Duration;

use cloister_kit::PlaneError;
use cloister_protocol::UserId;
use cloister_protocol::surface::{
    ChatOf, ChatsChanged, Conversation, ConversationAt, ConversationKind, Conversations,
    ConversationsToMend, ForgetConversation, GiveUpRooms, Home, MakeAnew, NewConversation,
    PutConversation, SetBroken, SetShown, ToMend,
};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Topics;
use super::naming::topic_name;
use crate::bot::{chat_and_thread, conversation_id};
use crate::outgoing::{TOPIC_CLOSED, TOPIC_LOST};
use crate::session::Fault;
use crate::session::methods::{CreateForumTopic, EditForumTopic};

/// How often a topic is made anew at most.
const ANEW_EVERY: Duration = Duration::from_secs(10 * 60);
/// How long no topic is asked for where Telegram made none.
const REFUSED_MS: i64 = 6 * 60 * 60 * 1000;
const REFUSED: Duration = Duration::from_millis(REFUSED_MS.unsigned_abs());

const NO_TOPICS: &str = "Telegram lets me open no topics here now. Your chats are all there, and this conversation \
     shows one of them at a time: `/chats` lists them, `/new` opens another.";

/// Of a topic that was made, only the number is read: nothing else in the answer can make one that is there look as
/// if it were not, and have it made again.
#[derive(Deserialize)]
struct Made {
    message_thread_id: i32,
}

impl Topics {
    /// Makes and renames topics as the database wants it. One failure does not keep the rest from being
    /// mended.
    pub(crate) async fn mend(&self) -> Result<(), PlaneError> {
        let _one_at_a_time = self.bot.topics.making.lock().await;
        let plane = &self.bot.plane;
        let mut worst = self.go_on_in_opened().await.and(self.give_up_lost().await);
        if !self.bot.topics.enabled() {
            // Topics may have been switched off while nothing ran here.
            worst = worst.and(self.do_without_topics(None).await.map(drop));
        }
        for mend in plane.call(ConversationsToMend { connector: self.bot.id() }).await? {
            if let Err(error) = self.mend_one(&mend).await {
                let wait = error.is_busy();
                worst = Err(error);
                // Too fast for one is too fast for all.
                if wait {
                    break;
                }
            }
        }
        self.mend_group_topics().await.and(worst)
    }

    /// What waited because a topic was closed is told when it was opened again. Whoever found it closed may notice
    /// that only after it was opened: that is news of chats, too, and it is looked here again.
    async fn go_on_in_opened(&self) -> Result<(), PlaneError> {
        let plane = &self.bot.plane;
        let opened: Vec<String> = self.bot.topics.opened_again().iter().cloned().collect();
        for place in opened {
            let here = plane
                .call(ConversationAt { connector: self.bot.id(), place: place.clone() })
                .await?;
            let closed = here.filter(|here| here.broken.as_deref() == Some(TOPIC_CLOSED));
            if let Some(here) = closed {
                plane.call(SetBroken { conversation: here.id, why: None }).await?;
                self.bot.topics.is_open(place, false);
                self.bot.plane.tell(ChatsChanged {});
            }
        }
        Ok(())
    }

    /// A topic that was deleted is made anew when something was to be said there; the chat itself goes on.
    async fn give_up_lost(&self) -> Result<(), PlaneError> {
        let plane = &self.bot.plane;
        for row in plane.call(Conversations { connector: self.bot.id() }).await? {
            let lost =
                row.broken.as_deref() == Some(TOPIC_LOST) && row.kind == ConversationKind::Room;
            if !lost
                || plane.call(ChatOf { workspace: row.workspace, chat: row.chat }).await?.archived
            {
                continue;
            }
            let key = format!("anew {}", row.id.number());
            let first = self.bot.topics.lately.first_in(key, ANEW_EVERY, self.bot.plane.now_ms());
            if first || !self.bot.topics.enabled() {
                plane.call(MakeAnew { conversation: row.id }).await?;
            }
        }
        Ok(())
    }

    /// The chats of a person (none: of everybody) have no topics any more: their private chat shows one at a time,
    /// and what waits for a topic is told there. Says whether that is news.
    async fn do_without_topics(&self, user: Option<UserId>) -> Result<bool, PlaneError> {
        let news = self.bot.plane.call(GiveUpRooms { connector: self.bot.id(), user }).await?;
        if news {
            tracing::info!(bot = self.bot.connector.account, "chats are shown without topics");
            self.bot.plane.tell(ChatsChanged {});
        }
        Ok(news)
    }

    async fn mend_one(&self, mend: &ToMend) -> Result<(), PlaneError> {
        let row = &mend.conversation;
        match row.external_id.as_deref().and_then(chat_and_thread) {
            Some((chat, Some(thread))) => self.show(mend, chat, thread).await,
            // A chat that is no topic has no name of ours.
            Some((_, None)) => Ok(()),
            None => self.make(mend).await,
        }
    }

    /// Makes the topic of a chat in its person's private chat.
    async fn make(&self, mend: &ToMend) -> Result<(), PlaneError> {
        let plane = &self.bot.plane;
        let row = &mend.conversation;
        let Some(user) = row.user.filter(|_| self.bot.topics.enabled()) else { return Ok(()) };
        let Some(home) = plane.call(Home { connector: self.bot.id(), user }).await? else {
            // It was wanted in the moment in which their topics were given up.
            return self.do_without_topics(Some(user)).await.map(drop);
        };
        let Ok(chat) = home.parse::<i64>() else { return Ok(()) };
        let lobby =
            plane.call(ConversationAt { connector: self.bot.id(), place: home.clone() }).await?;
        if lobby.is_some_and(|lobby| lobby.broken.is_some()) {
            return Ok(());
        }
        let name = topic_name(row.chat, &mend.title, false);
        let _until_known = self.bot.topics.begin_making(chat);
        let made: Made = match self.bot.api.call(&CreateForumTopic { chat_id: chat, name }).await {
            Ok(made) => made,
            Err(fault) => return self.not_made(&fault, (user, chat)).await,
        };
        let external_id = conversation_id(chat, Some(made.message_thread_id));
        let new = NewConversation {
            connector: self.bot.id(),
            external_id: Some(external_id),
            chat: (row.workspace, row.chat),
            kind: ConversationKind::Room,
            user: row.user,
        };
        let put = plane.call(PutConversation { new }).await?;
        // Who was unlinked meanwhile is told nothing there.
        if plane.call(Home { connector: self.bot.id(), user }).await?.as_ref() != Some(&home) {
            return plane.call(ForgetConversation { conversation: put.id }).await;
        }
        plane
            .call(SetShown { conversation: put.id, title: mend.title.clone(), archived: false })
            .await?;
        // What was to be told there can be.
        self.bot.plane.tell(ChatsChanged {});
        Ok(())
    }

    /// What it means that no topic could be made: later, not here, or not at all.
    async fn not_made(&self, fault: &Fault, (user, chat): (UserId, i64)) -> Result<(), PlaneError> {
        match fault {
            Fault::Gone(why) => {
                for conversation in self.bot.members().in_chat(chat).await? {
                    if conversation.broken.is_none() {
                        self.bot
                            .plane
                            .call(SetBroken {
                                conversation: conversation.id,
                                why: Some(why.clone()),
                            })
                            .await?;
                    }
                }
                Ok(())
            }
            // Nothing is made with a token that is not taken, and that says nothing about topics.
            fault if fault.passes() || *fault == Fault::Unauthorized => Err(passing(fault)),
            fault => {
                tracing::warn!(chat, %fault, "no topic could be made in a private chat");
                let until = self.bot.plane.now_ms().saturating_add(REFUSED_MS);
                self.bot.topics.refuse(chat, until);
                if self.do_without_topics(Some(user)).await? {
                    self.bot.sayings().tell(&chat.to_string(), "no-topics", REFUSED, NO_TOPICS);
                }
                Ok(())
            }
        }
    }

    /// Shows a chat's title and whether it is archived: a private chat's topics can't be closed.
    async fn show(&self, mend: &ToMend, chat: i64, thread: i32) -> Result<(), PlaneError> {
        let row = &mend.conversation;
        let name = topic_name(row.chat, &mend.title, mend.archived);
        if self.rename_topic(row, (chat, thread), name).await? {
            self.bot
                .plane
                .call(SetShown {
                    conversation: row.id,
                    title: mend.title.clone(),
                    archived: mend.archived,
                })
                .await?;
        }
        Ok(())
    }

    /// Whether the topic is there.
    async fn rename_topic(
        &self,
        row: &Conversation,
        (chat, thread): (i64, i32),
        name: String,
    ) -> Result<bool, PlaneError> {
        let edit = EditForumTopic { chat_id: chat, message_thread_id: thread, name };
        match self.bot.api.call::<_, IgnoredAny>(&edit).await {
            Ok(_) | Err(Fault::NotModified) => Ok(true),
            Err(Fault::ThreadGone) => {
                self.bot
                    .plane
                    .call(SetBroken { conversation: row.id, why: Some(TOPIC_LOST.to_owned()) })
                    .await?;
                Ok(false)
            }
            Err(Fault::Gone(why)) => {
                self.bot.plane.call(SetBroken { conversation: row.id, why: Some(why) }).await?;
                Ok(false)
            }
            Err(fault) if fault.passes() => Err(passing(&fault)),
            Err(fault) => {
                // Such as a group where we may not rename topics: it is called what people call it.
                tracing::info!(chat, thread, %fault, "a topic was not renamed");
                Ok(true)
            }
        }
    }

    /// Topics of groups are people's: they are renamed with their chat, and nothing else.
    async fn mend_group_topics(&self) -> Result<(), PlaneError> {
        let plane = &self.bot.plane;
        for row in plane.call(Conversations { connector: self.bot.id() }).await? {
            let topic = row.external_id.as_deref().and_then(chat_and_thread);
            let (Some((chat, Some(thread))), ConversationKind::Shared) = (topic, row.kind) else {
                continue;
            };
            let title =
                plane.call(ChatOf { workspace: row.workspace, chat: row.chat }).await?.title;
            if row.broken.is_some()
                || title.is_empty()
                || row.shown_title.as_deref() == Some(&title)
            {
                continue;
            }
            // What it was called when it became a chat is what it is called.
            let renamed = row.shown_title.is_none()
                || self.rename_topic(&row, (chat, thread), title.clone()).await?;
            if renamed {
                plane
                    .call(SetShown { conversation: row.id, title: title.clone(), archived: false })
                    .await?;
            }
        }
        Ok(())
    }
}

fn passing(fault: &Fault) -> PlaneError {
    let wait = match fault {
        Fault::Wait(wait) => *wait,
        _ => Duration::ZERO,
    };
    PlaneError::busy(fault.to_string(), wait)
}
