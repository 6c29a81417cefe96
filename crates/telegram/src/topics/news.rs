//! What people do with topics: open, rename, close them.

use cloister_kit::PlaneError;
use cloister_protocol::ErrorCode;
use cloister_protocol::surface::{
    ChatsChanged, ConversationAt, Home, RenameChat, SetHome, Speaker, WantRooms,
};

use super::{Topics, naming};
use crate::SURFACE;
use crate::updates::wire::Message;

impl Topics {
    /// Takes news about a topic; whether the message was that.
    pub(crate) async fn take_news(&self, message: &Message) -> Result<bool, PlaneError> {
        let ours = message.from.as_ref().is_some_and(|from| from.is_bot);
        if let Some(made) = &message.forum_topic_created {
            if !ours && message.thread().is_some() {
                let name = if made.is_name_implicit { "" } else { made.name.as_str() };
                self.bot.topics.remember(message.place(), naming::title(name));
                self.topic_opened(message).await?;
            }
            return Ok(true);
        }
        if let Some(edited) = &message.forum_topic_edited {
            if let Some(name) = edited.name.as_ref().filter(|_| !ours) {
                self.topic_renamed(message, name).await?;
            }
            return Ok(true);
        }
        let (closed, opened) = (&message.forum_topic_closed, &message.forum_topic_reopened);
        if closed.is_none() && opened.is_none() {
            return Ok(false);
        }
        // Closed: what is said there is still taken, and what is archived is a command away.
        self.bot.topics.is_open(message.place(), opened.is_some());
        self.bot.plane.tell(ChatsChanged {});
        Ok(true)
    }

    /// A topic that a person opens in their private chat is a new chat. One in a group becomes one when we are
    /// spoken to there.
    async fn topic_opened(&self, message: &Message) -> Result<(), PlaneError> {
        if message.is_private() {
            self.bot.speakers().speaker(message, "").await?;
        }
        Ok(())
    }

    async fn topic_renamed(&self, message: &Message, name: &str) -> Result<(), PlaneError> {
        let place = message.place();
        let at = ConversationAt { connector: self.bot.id(), place: place.clone() };
        let Some(here) = self.bot.plane.call(at).await? else {
            self.bot.topics.remember(place, naming::title(name));
            return Ok(());
        };
        let title = naming::title_in(name, here.chat);
        self.bot.topics.remember(place.clone(), title.clone());
        if here.shown_title.as_deref() == Some(title.as_str()) {
            return Ok(());
        }
        // In a group others may rename a topic: who may not rename the chat sees it renamed back.
        let by = message.from.as_ref().map(|from| from.id.to_string());
        // It may be told late, and we have called it something else since. Telegram counts whole seconds.
        let named_at = Some(message.date.saturating_mul(1000).saturating_add(999));
        match self.bot.plane.call(RenameChat { conversation: here.id, title, by, named_at }).await {
            Ok(()) => Ok(()),
            Err(error) => match error.code() {
                ErrorCode::Internal | ErrorCode::ShuttingDown | ErrorCode::Busy => Err(error),
                _ => {
                    tracing::info!(place, error = error.chain(), "a chat was not renamed");
                    self.bot.plane.tell(ChatsChanged {});
                    Ok(())
                }
            },
        }
    }

    /// Somebody was heard in a topic that nobody knows, while we make one there: it may be that one, whose number
    /// is still on its way to us, and no chat of its own.
    pub(crate) async fn until_known(&self, message: &Message) -> Result<(), PlaneError> {
        let chat = message.chat.id;
        if message.thread().is_none() || !self.bot.topics.is_making(chat) {
            return Ok(());
        }
        let at = ConversationAt { connector: self.bot.id(), place: message.place() };
        if self.bot.plane.call(at).await?.is_none() {
            self.bot.topics.until_made(chat).await;
        }
        Ok(())
    }

    /// A person was heard in their private chat: where the bot has topics, each of their chats gets one there.
    pub(crate) async fn at_home(&self, speaker: &Speaker, chat: &str) -> Result<(), PlaneError> {
        let plane = &self.bot.plane;
        let id = chat.parse().unwrap_or_default();
        if !self.bot.topics.may_make(id, self.bot.plane.now_ms()) {
            return Ok(());
        }
        let (connector, user) = (self.bot.id(), speaker.user);
        if plane.call(Home { connector, user }).await?.as_deref() == Some(chat) {
            return Ok(());
        }
        plane.call(SetHome { connector, user, place: Some(chat.to_owned()) }).await?;
        plane.call(WantRooms { connector, user }).await?;
        self.bot.plane.tell(ChatsChanged {});
        tracing::info!(surface = SURFACE, chat, "the chats of a person get topics");
        Ok(())
    }
}
