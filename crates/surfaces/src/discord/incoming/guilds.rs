//! Servers, channels and threads that change: renamed, deleted, left, come back to.

use std::collections::HashMap;

use cloister_control::ControlError;
use cloister_store::conversations::{Conversation, ConversationKind};

use super::Place;
use crate::discord::bot::Bot;
use crate::discord::wire::{Channel, Guild};

/// Why nothing is sent any more. Set and taken back here alone.
const DELETED: &str = "it was deleted on Discord";
const LEFT: &str = "the bot is no longer on that Discord server";

impl Bot {
    async fn known(&self, channel: &str) -> Result<Option<Conversation>, ControlError> {
        Ok(self.control.store().conversation(self.id(), channel).await?)
    }

    /// A channel or thread is there, or is not as it was.
    pub(super) async fn channel_changed(&self, channel: &Channel) -> Result<(), ControlError> {
        let Some(conversation) = self.known(&channel.id).await? else { return Ok(()) };
        let broken = conversation.broken.as_deref();
        let state = channel.thread_metadata.as_ref();
        let open = state.is_none_or(|state| !state.archived && !state.locked);
        if broken.is_some_and(|why| why != DELETED) && open {
            // It was put away and somebody took it out again, or the bot may write there again. If not, that is
            // found out once more.
            self.control.store().set_broken(conversation.id, None).await?;
            self.control.chats_changed();
        }
        let Some(name) = channel.name.as_deref().filter(|_| channel.is_thread()) else {
            return Ok(());
        };
        if conversation.kind == ConversationKind::Door
            || conversation.shown_title.as_deref() == Some(name)
        {
            return Ok(());
        }
        let chat = self.control.store().chat(conversation.workspace, conversation.chat).await?;
        if is_short_for(name, &chat.title) {
            return Ok(());
        }
        match self.control.rename_chat_from(&conversation, name, None).await {
            Ok(()) => Ok(()),
            // Discord does not say who it was: the thread is called so, and the chat is not.
            Err(ControlError::Refused { message, .. }) => {
                tracing::info!(
                    channel = channel.id,
                    message,
                    "a chat is not called what its thread is"
                );
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// A channel or thread was deleted: nothing can be said there.
    pub(super) async fn lost_channel(&self, channel: &str) -> Result<(), ControlError> {
        self.incoming.forget(channel);
        if let Some(conversation) = self.known(channel).await? {
            self.control.store().set_broken(conversation.id, Some(DELETED)).await?;
            tracing::info!(channel, "a channel was deleted");
        }
        Ok(())
    }

    /// The bot was taken off a server.
    pub(super) async fn lost_guild(&self, guild: &str) -> Result<(), ControlError> {
        tracing::info!(guild, "the bot was taken off a server");
        for conversation in self.conversations_of(guild).await? {
            if conversation.broken.is_none() {
                self.control.store().set_broken(conversation.id, Some(LEFT)).await?;
            }
        }
        for channel in self.incoming.channels_of(guild) {
            self.incoming.forget(&channel);
        }
        Ok(())
    }

    /// A server is there: what could not be said because the bot was not on it can be said again.
    pub(super) async fn came_back_to(&self, guild: &Guild) -> Result<(), ControlError> {
        if guild.unavailable {
            return Ok(());
        }
        let there = guild.channels.iter().chain(&guild.threads);
        let there: HashMap<&str, &Channel> = there.map(|one| (one.id.as_str(), one)).collect();
        for conversation in self.control.store().conversations(self.id()).await? {
            let id = conversation.external_id.as_deref().unwrap_or_default();
            let Some(channel) = there.get(id) else { continue };
            if conversation.broken.as_deref() == Some(LEFT) {
                self.control.store().set_broken(conversation.id, None).await?;
                self.control.chats_changed();
            }
            if channel.is_thread() {
                self.channel_changed(channel).await?;
            }
        }
        Ok(())
    }

    /// The conversations that are channels of a server. Which server an unknown channel is of can't be asked for
    /// once the bot has left: where it can't be read, it is taken to be of that one.
    async fn conversations_of(&self, guild: &str) -> Result<Vec<Conversation>, ControlError> {
        let mut of = Vec::new();
        for conversation in self.control.store().conversations(self.id()).await? {
            let Some(channel) = conversation.external_id.as_deref() else { continue };
            if conversation.kind == ConversationKind::Door {
                continue;
            }
            let place: Option<Place> = self.place(channel, None).await?;
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
