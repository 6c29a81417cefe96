//! Servers, channels and threads that change: renamed, deleted, left, come back to.

use std::collections::HashMap;

use cloister_kit::PlaneError;
use cloister_protocol::surface::{
    ChatOf, ChatsChanged, Conversation, ConversationAt, ConversationId, ConversationKind,
    Conversations, RenameChat, SetBroken,
};
use cloister_protocol::{ErrorCode, with_causes};

use super::{ChannelPlace, Places};
use crate::wire::{Channel, Guild};

/// Why nothing is sent any more. Set and taken back here alone.
const DELETED: &str = "it was deleted on Discord";
const LEFT: &str = "the bot is no longer on that Discord server";

impl Places {
    async fn known(&self, channel: &str) -> Result<Option<Conversation>, PlaneError> {
        let (connector, place) = (self.bot.id(), channel.to_owned());
        self.bot.plane.call(ConversationAt { connector, place }).await
    }

    /// Nothing can be sent there any more, or (none) it can again.
    pub(super) async fn set_broken(
        &self,
        conversation: ConversationId,
        why: Option<&str>,
    ) -> Result<(), PlaneError> {
        let why = why.map(str::to_owned);
        self.bot.plane.call(SetBroken { conversation, why }).await
    }

    /// A channel or thread is there, or is not as it was.
    pub(super) async fn channel_changed(&self, channel: &Channel) -> Result<(), PlaneError> {
        let Some(conversation) = self.known(&channel.id).await? else { return Ok(()) };
        let broken = conversation.broken.as_deref();
        let state = channel.thread_metadata.as_ref();
        let open = state.is_none_or(|state| !state.archived && !state.locked);
        if broken.is_some_and(|why| why != DELETED) && open {
            // It was put away and somebody took it out again, or the bot may write there again. If not, that is
            // found out once more.
            self.set_broken(conversation.id, None).await?;
            self.bot.plane.tell(ChatsChanged {});
        }
        let Some(name) = channel.name.as_deref().filter(|_| channel.is_thread()) else {
            return Ok(());
        };
        if conversation.kind == ConversationKind::Lobby
            || conversation.shown_title.as_deref() == Some(name)
        {
            return Ok(());
        }
        let (workspace, chat) = (conversation.workspace, conversation.chat);
        let chat = self.bot.plane.call(ChatOf { workspace, chat }).await?;
        if is_short_for(name, &chat.title) {
            return Ok(());
        }
        let (conversation, title) = (conversation.id, name.to_owned());
        match self
            .bot
            .plane
            .call(RenameChat { conversation, title, by: None, named_at: None })
            .await
        {
            Ok(()) => Ok(()),
            // Discord does not say who it was: the thread is called so, and the chat is not.
            Err(error) if error.code() == ErrorCode::Forbidden => {
                tracing::info!(
                    channel = channel.id,
                    error = with_causes(&error),
                    "a chat is not called what its thread is"
                );
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// A channel or thread was deleted: nothing can be said there.
    pub(super) async fn lost_channel(&self, channel: &str) -> Result<(), PlaneError> {
        self.bot.places.forget(channel);
        if let Some(conversation) = self.known(channel).await? {
            self.set_broken(conversation.id, Some(DELETED)).await?;
            tracing::info!(channel, "a channel was deleted");
        }
        Ok(())
    }

    /// The bot was taken off a server.
    pub(super) async fn lost_guild(&self, guild: &str) -> Result<(), PlaneError> {
        tracing::info!(guild, "the bot was taken off a server");
        for conversation in self.conversations_of(guild).await? {
            if conversation.broken.is_none() {
                self.set_broken(conversation.id, Some(LEFT)).await?;
            }
        }
        for channel in self.bot.places.channels_of(guild) {
            self.bot.places.forget(&channel);
        }
        Ok(())
    }

    /// A server is there: what could not be said because the bot was not on it can be said again.
    pub(super) async fn came_back_to(&self, guild: &Guild) -> Result<(), PlaneError> {
        if guild.unavailable {
            return Ok(());
        }
        let there = guild.channels.iter().chain(&guild.threads);
        let there: HashMap<&str, &Channel> = there.map(|one| (one.id.as_str(), one)).collect();
        for conversation in self.bot.plane.call(Conversations { connector: self.bot.id() }).await? {
            let id = conversation.external_id.as_deref().unwrap_or_default();
            let Some(channel) = there.get(id) else { continue };
            if conversation.broken.as_deref() == Some(LEFT) {
                self.set_broken(conversation.id, None).await?;
                self.bot.plane.tell(ChatsChanged {});
            }
            if channel.is_thread() {
                self.channel_changed(channel).await?;
            }
        }
        Ok(())
    }

    /// The conversations that are channels of a server. Which server an unknown channel is of can't be asked for
    /// once the bot has left: where it can't be read, it is taken to be of that one.
    async fn conversations_of(&self, guild: &str) -> Result<Vec<Conversation>, PlaneError> {
        let mut of = Vec::new();
        for conversation in self.bot.plane.call(Conversations { connector: self.bot.id() }).await? {
            let Some(channel) = conversation.external_id.as_deref() else { continue };
            if conversation.kind == ConversationKind::Lobby {
                continue;
            }
            let place: Option<ChannelPlace> = self.place(channel, None).await?;
            if place.is_none_or(|place| place.guild.as_deref() == Some(guild)) {
                of.push(conversation);
            }
        }
        Ok(of)
    }
}

/// Whether a thread's name is a chat's title that was too long for it.
fn is_short_for(name: &str, title: &str) -> bool {
    let cut = name.trim_end_matches(['…', '.']).trim_end();
    name == title || name.chars().count() >= 90 && title.starts_with(cut)
}

#[cfg(test)]
#[path = "guilds_tests.rs"]
mod tests;
