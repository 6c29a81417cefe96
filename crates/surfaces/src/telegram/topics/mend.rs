//! Making the topics show the chats: whatever the database wants and Telegram does not show yet.

use std::time::Duration;

use cloister_control::ControlError;
use cloister_store::conversations::{Conversation, ConversationKind, NewConversation, ToMend};
use frankenstein::AsyncTelegramApi;
use frankenstein::methods::{CreateForumTopicParams, EditForumTopicParams};
use frankenstein::types::ChatId as TelegramChat;

use super::naming::topic_name;
use crate::telegram::bot::{Bot, chat_and_thread, conversation_id};
use crate::telegram::outgoing::TOPIC_LOST;
use crate::telegram::session::Fault;

/// How often a topic is made anew at most.
const ANEW_EVERY: Duration = Duration::from_secs(10 * 60);

impl Bot {
    /// Makes and renames topics as the database wants it. One failure does not keep the rest from being
    /// mended.
    pub(crate) async fn mend_topics(&self) -> Result<(), ControlError> {
        let _one_at_a_time = self.topics.making.lock().await;
        let store = self.control.store();
        let mut worst = self.give_up_lost_topics().await;
        for mend in store.conversations_to_mend(self.id()).await? {
            if let Err(error) = self.mend_topic(&mend).await {
                let wait = matches!(error, ControlError::Busy { .. });
                worst = Err(error);
                // Too fast for one is too fast for all.
                if wait {
                    break;
                }
            }
        }
        self.mend_group_topics().await.and(worst)
    }

    /// A topic that was deleted is made anew when something was to be said there; the chat itself goes on.
    async fn give_up_lost_topics(&self) -> Result<(), ControlError> {
        let store = self.control.store();
        for row in store.conversations(self.id()).await? {
            let lost =
                row.broken.as_deref() == Some(TOPIC_LOST) && row.kind == ConversationKind::Room;
            if !lost || store.chat(row.workspace, row.chat).await?.archived {
                continue;
            }
            let key = format!("anew {}", row.id.number());
            if self.incoming.first_in(key, ANEW_EVERY, store.clock.now_ms()) {
                store.make_anew(row.id).await?;
            }
        }
        Ok(())
    }

    async fn mend_topic(&self, mend: &ToMend) -> Result<(), ControlError> {
        let row = &mend.conversation;
        match row.external_id.as_deref().and_then(chat_and_thread) {
            Some((chat, Some(thread))) => self.show(mend, chat, thread).await,
            // A chat that is no topic has no name of ours.
            Some((_, None)) => Ok(()),
            None => self.make(mend).await,
        }
    }

    /// Makes the topic of a chat in its person's private chat.
    async fn make(&self, mend: &ToMend) -> Result<(), ControlError> {
        let store = self.control.store();
        let row = &mend.conversation;
        let Some(user) = row.user.filter(|_| self.topics.enabled()) else { return Ok(()) };
        let Some(home) = store.home(self.id(), user).await? else { return Ok(()) };
        let Ok(chat) = home.parse::<i64>() else { return Ok(()) };
        let door = store.conversation(self.id(), &home).await?;
        if door.is_some_and(|door| door.broken.is_some()) {
            return Ok(());
        }
        let params = CreateForumTopicParams::builder()
            .chat_id(TelegramChat::Integer(chat))
            .name(topic_name(row.chat, &mend.title, false))
            .build();
        let made = match self.api.call(self.api.bot().create_forum_topic(&params)).await {
            Ok(made) => made,
            Err(fault) => return self.not_made(&fault, chat).await,
        };
        let external_id = conversation_id(chat, Some(made.message_thread_id));
        let new = NewConversation {
            connector: self.id(),
            external_id: Some(external_id),
            chat: (row.workspace, row.chat),
            kind: ConversationKind::Room,
            user: row.user,
        };
        let put = store.put_conversation(&new).await?;
        // Who was unlinked meanwhile is told nothing there.
        if store.home(self.id(), user).await?.as_ref() != Some(&home) {
            return Ok(store.forget_conversation(put.id).await?);
        }
        store.set_shown(put.id, &mend.title, false).await?;
        // What was to be told there can be.
        self.control.chats_changed();
        Ok(())
    }

    /// What it means that no topic could be made: later, not here, or not at all.
    async fn not_made(&self, fault: &Fault, chat: i64) -> Result<(), ControlError> {
        match fault {
            Fault::Gone(why) => {
                for conversation in self.in_chat(chat).await? {
                    if conversation.broken.is_none() {
                        self.control.store().set_broken(conversation.id, Some(why)).await?;
                    }
                }
                Ok(())
            }
            fault if fault.passes() => Err(passing(fault)),
            fault => {
                if self.control.once_a_while(&format!("telegram topics {chat}")) {
                    tracing::warn!(chat, %fault, "no topic could be made in a private chat");
                }
                Ok(())
            }
        }
    }

    /// Shows a chat's title and whether it is archived: a private chat's topics can't be closed.
    async fn show(&self, mend: &ToMend, chat: i64, thread: i32) -> Result<(), ControlError> {
        let row = &mend.conversation;
        let name = topic_name(row.chat, &mend.title, mend.archived);
        if self.rename_topic(row, (chat, thread), name).await? {
            self.control.store().set_shown(row.id, &mend.title, mend.archived).await?;
        }
        Ok(())
    }

    /// Whether the topic is there.
    async fn rename_topic(
        &self,
        row: &Conversation,
        (chat, thread): (i64, i32),
        name: String,
    ) -> Result<bool, ControlError> {
        let params = EditForumTopicParams::builder()
            .chat_id(TelegramChat::Integer(chat))
            .message_thread_id(thread)
            .name(name)
            .build();
        match self.api.call(self.api.bot().edit_forum_topic(&params)).await {
            Ok(_) | Err(Fault::NotModified) => Ok(true),
            Err(Fault::ThreadGone) => {
                self.control.store().set_broken(row.id, Some(TOPIC_LOST)).await?;
                Ok(false)
            }
            Err(Fault::Gone(why)) => {
                self.control.store().set_broken(row.id, Some(&why)).await?;
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
    async fn mend_group_topics(&self) -> Result<(), ControlError> {
        let store = self.control.store();
        for row in store.conversations(self.id()).await? {
            let topic = row.external_id.as_deref().and_then(chat_and_thread);
            let (Some((chat, Some(thread))), ConversationKind::Shared) = (topic, row.kind) else {
                continue;
            };
            let title = store.chat(row.workspace, row.chat).await?.title;
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
                store.set_shown(row.id, &title, false).await?;
            }
        }
        Ok(())
    }
}

fn passing(fault: &Fault) -> ControlError {
    let wait = match fault {
        Fault::Wait(wait) => *wait,
        _ => Duration::ZERO,
    };
    ControlError::busy(fault.to_string(), wait)
}
