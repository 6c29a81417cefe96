//! What becomes of chats themselves: the bot is blocked or removed, a group gets another number.

use cloister_control::ControlError;
use cloister_store::conversations::Conversation;

use crate::telegram::bot::Bot;
use crate::telegram::updates::wire::{ChatMemberUpdated, Message};

const BLOCKED: &str = "the person blocked the bot";
const REMOVED: &str = "the bot was removed from the group";

impl Bot {
    /// Takes that a group has another number; whether the message says that.
    pub(super) async fn take_move(&self, message: &Message) -> Result<bool, ControlError> {
        if let Some(to) = message.migrate_to_chat_id {
            self.group_moved(message.chat.id, to).await?;
            return Ok(true);
        }
        if let Some(from) = message.migrate_from_chat_id {
            self.group_moved(from, message.chat.id).await?;
            return Ok(true);
        }
        Ok(false)
    }

    /// A group is a supergroup now, and has another number. What it was it stays.
    pub(crate) async fn group_moved(&self, from: i64, to: i64) -> Result<(), ControlError> {
        let (from, to) = (from.to_string(), to.to_string());
        if self.control.store().conversation_moved(&self.connector, &from, &to).await? {
            tracing::info!(from, to, "a group has another number");
            self.control.chats_changed();
        }
        // What waits has moved along.
        self.incoming.working.wake();
        Ok(())
    }

    /// Whether what is known of a conversation has followed its group to another number. It has not where something
    /// else is known by that one.
    pub(crate) async fn has_moved(&self, from: &str, to: &str) -> Result<bool, ControlError> {
        let store = self.control.store();
        let left = store.conversation(self.id(), from).await?;
        Ok(left.is_none() && store.conversation(self.id(), to).await?.is_some())
    }

    /// The bot was blocked, let in or put out.
    pub(super) async fn take_membership(
        &self,
        change: &ChatMemberUpdated,
    ) -> Result<(), ControlError> {
        let private = change.chat.kind == crate::telegram::updates::wire::ChatKind::Private;
        let why = match (change.new_chat_member.is_in(), private) {
            (true, _) => None,
            (false, true) => Some(BLOCKED),
            (false, false) => Some(REMOVED),
        };
        let store = self.control.store();
        for conversation in self.in_chat(change.chat.id).await? {
            let told = conversation.broken.is_some();
            if told != why.is_some() {
                store.set_broken(conversation.id, why).await?;
            }
        }
        match why {
            Some(why) => {
                tracing::info!(chat = change.chat.id, why, "nothing can be said in a chat")
            }
            None => self.control.chats_changed(),
        }
        Ok(())
    }

    /// Every conversation in a chat: the chat itself and its topics.
    pub(crate) async fn in_chat(&self, chat: i64) -> Result<Vec<Conversation>, ControlError> {
        let chat = chat.to_string();
        let mut all = self.control.store().conversations(self.id()).await?;
        all.retain(|one| {
            let id = one.external_id.as_deref().unwrap_or_default();
            id == chat || id.split_once('/').is_some_and(|(of, _)| of == chat)
        });
        Ok(all)
    }
}
