//! Names that people give conversations on their surface: they become those of the chats, if who gave them may name
//! a chat.

use cloister_policy::engine::ChatCall;
use cloister_protocol::{ErrorCode, UserId};
use cloister_store::conversations::{Conversation, ConversationKind};

use crate::people::{People, PeopleError, PeopleRefusal};

/// A name that somebody gave a conversation on its surface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<'a> {
    pub(crate) title: &'a str,
    /// The account that the surface vouches for.
    pub(crate) by: Option<&'a str>,
    /// When, by the surface's clock in Unix milliseconds, where it tells names late.
    pub(crate) at: Option<i64>,
}

impl People {
    /// The name that somebody gave a conversation on its surface becomes that of its chat, as with `/rename`: who
    /// did it, by the account that the surface vouches for, must be allowed that, and what is a person's own
    /// is named by that person alone. A name of nobody knows whom is not taken. Refused, the chat keeps its title,
    /// and where it is known who it was the surface is to show that again. A name that is told late, and is older
    /// than the title that the surface was made to show since, is nowhere any more.
    pub(crate) async fn rename_chat_from(
        &self,
        conversation: &Conversation,
        Named { title, by, at }: Named<'_>,
    ) -> Result<(), PeopleError> {
        let title = crate::commands::title(title);
        if let Some(at) = at
            && self.control.store().conversations().was_shown_after(conversation.id, at).await?
        {
            return Ok(());
        }
        // A lobby is called what its surface calls it, whatever it shows.
        if title.is_empty() || conversation.kind == ConversationKind::Lobby {
            return Ok(());
        }
        let Some(account) = by else {
            return Err(PeopleRefusal::NamedByNobody.into());
        };
        let user = match self.may_name(conversation, account).await {
            Ok(user) => user,
            Err(refused) => {
                if refused.code() == ErrorCode::Forbidden {
                    self.control.store().chats().named_by_others(conversation.id, &title).await?;
                    self.control.surfaces().chats_changed();
                }
                return Err(refused);
            }
        };
        let actor = self.control.accounts().acting(user).await?;
        self.control.store().chats().rename_from(&actor, conversation.id, &title).await?;
        self.control.surfaces().chats_changed();
        Ok(())
    }

    /// Who an account is, if they may name the chat of a conversation.
    async fn may_name(
        &self,
        conversation: &Conversation,
        account: &str,
    ) -> Result<UserId, PeopleError> {
        let surface =
            self.control.store().chats().surface_of(conversation.id).await?.unwrap_or_default();
        let identity = self.control.store().users().identity(&surface, account).await?;
        let theirs = |user| match conversation.kind {
            ConversationKind::Shared => true,
            ConversationKind::Room | ConversationKind::Lobby => conversation.user == Some(user),
        };
        let Some(user) = identity.map(|identity| identity.user).filter(|user| theirs(*user)) else {
            return Err(PeopleRefusal::NotYoursToName.into());
        };
        let (workspace, chat) = (conversation.workspace, conversation.chat);
        self.require_in_chat(user, ChatCall::Change, workspace, chat).await?;
        Ok(user)
    }
}

#[cfg(test)]
#[path = "naming_tests.rs"]
mod tests;
