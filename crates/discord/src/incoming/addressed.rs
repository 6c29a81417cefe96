//! Whether something said where others read along is meant for the agent.

use cloister_kit::PlaneError;

use super::text::Us;
use super::{ASK_AGAIN, Speakers};
use crate::rest::{Fault, at};
use crate::wire::{Message, Role, snowflake};

/// Whether a message may be for us: a person's, and direct, a mention or a reply. What names a role may name
/// ours.
pub(super) fn may_concern(message: &Message, me: &str) -> bool {
    message.is_by_a_person()
        && message.author.id != me
        && (message.guild_id.is_none()
            || is_named(message, me)
            || answers(message, me)
            || !message.mention_roles.is_empty())
}

/// Whether the message names the bot. Who names everybody names nobody.
pub(super) fn is_named(message: &Message, me: &str) -> bool {
    message.mentions.iter().any(|account| account.id == me)
}

/// Whether the message is a reply to one of ours.
pub(super) fn answers(message: &Message, me: &str) -> bool {
    message.replies_to().is_some()
        && message.referenced_message.as_ref().is_some_and(|earlier| earlier.author.id == me)
}

impl Speakers {
    /// Whether a message of a server is for the agent.
    pub(super) async fn is_addressed(&self, message: &Message) -> Result<bool, PlaneError> {
        let me = self.bot.me.id.to_string();
        if is_named(message, &me) || answers(message, &me) {
            return Ok(true);
        }
        let (false, Some(guild)) = (message.mention_roles.is_empty(), &message.guild_id) else {
            return Ok(false);
        };
        let ours = self.role_in(guild).await?;
        Ok(ours.is_some_and(|ours| message.mention_roles.contains(&ours)))
    }

    /// How the bot is called where a message was written.
    pub(super) fn called(&self, message: &Message) -> Us {
        let role = message.guild_id.as_deref().and_then(|guild| self.bot.places.role(guild));
        Us::new(&self.bot.me.id.to_string(), role.flatten().as_deref())
    }

    /// The role that a server made for the bot: apps offer it where a person begins to write its name.
    async fn role_in(&self, guild: &str) -> Result<Option<String>, PlaneError> {
        if let Some(known) = self.bot.places.role(guild) {
            return Ok(known);
        }
        let Some(guild_id) = snowflake(guild) else { return Ok(None) };
        let roles = match self.bot.get::<Vec<Role>>(at::roles(guild_id)).await {
            Ok(roles) => roles,
            Err(Fault::Gone { .. } | Fault::Forbidden { .. }) => Vec::new(),
            Err(fault) => return Err(PlaneError::busy(fault.to_string(), ASK_AGAIN)),
        };
        let me = self.bot.me.id.to_string();
        let ours = roles.into_iter().find(|role| role.tags.bot_id.as_deref() == Some(&*me));
        let ours = ours.map(|role| role.id);
        self.bot.places.remember_role(guild, ours.clone());
        Ok(ours)
    }
}

#[cfg(test)]
#[path = "addressed_tests.rs"]
mod tests;
