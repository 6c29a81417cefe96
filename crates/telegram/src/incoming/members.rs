//! What becomes of chats themselves: the bot is blocked or removed, a group gets another number.

use cloister_kit::{PlaneError, part};
use cloister_protocol::surface::{
    ChatsChanged, Conversation, ConversationAt, ConversationMoved, Conversations, SetBroken,
};

use crate::bot::Bot;
use crate::updates::wire::{ChatMemberUpdated, Message};

const BLOCKED: &str = "the person blocked the bot";
const REMOVED: &str = "the bot was removed from the group";

part! {
    /// The chats that the bot is in.
    pub(crate) struct Members of Bot;
}

impl Members {
    /// Takes that a group has another number; whether the message says that.
    pub(super) async fn take_move(&self, message: &Message) -> Result<bool, PlaneError> {
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
    pub(crate) async fn group_moved(&self, from: i64, to: i64) -> Result<(), PlaneError> {
        let (from, to) = (from.to_string(), to.to_string());
        let moved =
            ConversationMoved { connector: self.bot.id(), from: from.clone(), to: to.clone() };
        if self.bot.plane.call(moved).await? {
            tracing::info!(from, to, "a group has another number");
            self.bot.plane.tell(ChatsChanged {});
        }
        // What waits has moved along.
        self.bot.intake.working.wake();
        Ok(())
    }

    /// Whether what is known of a conversation has followed its group to another number. It has not where something
    /// else is known by that one.
    pub(crate) async fn has_moved(&self, from: &str, to: &str) -> Result<bool, PlaneError> {
        let plane = &self.bot.plane;
        let at = |place: &str| ConversationAt { connector: self.bot.id(), place: place.to_owned() };
        Ok(plane.call(at(from)).await?.is_none() && plane.call(at(to)).await?.is_some())
    }

    /// The bot was blocked, let in or put out.
    pub(super) async fn take_membership(
        &self,
        change: &ChatMemberUpdated,
    ) -> Result<(), PlaneError> {
        let private = change.chat.kind == crate::updates::wire::ChatKind::Private;
        let why = match (change.new_chat_member.is_in(), private) {
            (true, _) => None,
            (false, true) => Some(BLOCKED),
            (false, false) => Some(REMOVED),
        };
        let plane = &self.bot.plane;
        for conversation in self.in_chat(change.chat.id).await? {
            let told = conversation.broken.is_some();
            if told != why.is_some() {
                let why = why.map(str::to_owned);
                plane.call(SetBroken { conversation: conversation.id, why }).await?;
            }
        }
        match why {
            Some(why) => {
                tracing::info!(chat = change.chat.id, why, "nothing can be said in a chat")
            }
            None => self.bot.plane.tell(ChatsChanged {}),
        }
        Ok(())
    }

    /// Every conversation in a chat: the chat itself and its topics.
    pub(crate) async fn in_chat(&self, chat: i64) -> Result<Vec<Conversation>, PlaneError> {
        let chat = chat.to_string();
        let mut all = self.bot.plane.call(Conversations { connector: self.bot.id() }).await?;
        all.retain(|one| {
            let id = one.external_id.as_deref().unwrap_or_default();
            id == chat || id.split_once('/').is_some_and(|(of, _)| of == chat)
        });
        Ok(all)
    }
}
