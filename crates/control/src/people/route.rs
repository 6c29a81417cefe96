//! The router: from an account and a conversation on a surface to a person, a workspace and a chat.
//!
//! Who speaks is the account that the surface vouches for, never what is written in a message: not its
//! display name, not whom it was forwarded from, not what it was edited into. What is not known to lead
//! somewhere leads nowhere.

use cloister_policy::engine::{ChatCall, Ownership, Request};
use cloister_protocol::{ChatId, UserId, WorkspaceId};
use cloister_store::contexts::{Context, Conversation};
use tokio::time::Instant;

use crate::control::Control;
use crate::error::ControlError;

/// The first chat of every workspace.
const FIRST_CHAT: u32 = 1;

/// Where something was said, as the surface knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard<'a> {
    /// Between one person and the agent alone.
    Direct(&'a str),
    /// Where others read along, or may.
    Shared(&'a str),
}

impl Heard<'_> {
    const fn id(&self) -> &str {
        match self {
            Self::Direct(id) | Self::Shared(id) => id,
        }
    }
}

/// Whose message it is, and where it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routed {
    pub user: UserId,
    pub workspace: WorkspaceId,
    pub chat: ChatId,
    /// None: the workspace as a whole.
    pub context: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    To(Routed),
    /// Not taken; what to say about it, unless it was said lately.
    Refused {
        text: Option<String>,
    },
}

const UNKNOWN: &str = "I do not know you here yet. Write `pair` to get a code, and give it to whoever runs \
                       this: they enter it with `cloister pair CODE`.";
const NOT_HERE: &str = "I do not take messages in this conversation. Whoever runs this can connect it with \
                        `cloister context add`.";

impl Control {
    /// Where a message of this account, heard there, goes.
    pub async fn route(
        &self,
        surface: &str,
        external_id: &str,
        heard: Heard<'_>,
    ) -> Result<Route, ControlError> {
        let Some(identity) = self.store().identity(surface, external_id).await? else {
            return Ok(self.refuse(surface, external_id, UNKNOWN));
        };
        let id = heard.id().to_owned();
        let conversation = Conversation { surface: surface.to_owned(), id };
        let routed = match (self.store().context_of(&conversation).await?, heard) {
            (Some(context), heard) => self.routed_to_context(identity.user, context, heard).await?,
            (None, Heard::Direct(_)) => self.routed_home(identity.user).await?,
            (None, Heard::Shared(_)) => None,
        };
        Ok(routed.map_or_else(|| self.refuse(surface, external_id, NOT_HERE), Route::To))
    }

    /// Into the context that a conversation is, if this person may speak there.
    async fn routed_to_context(
        &self,
        user: UserId,
        context: Context,
        heard: Heard<'_>,
    ) -> Result<Option<Routed>, ControlError> {
        let (workspace, Some(chat)) = (context.workspace, context.chat) else { return Ok(None) };
        let place = self.place_of_chat(workspace, chat).await?;
        // What is a person's own is never told where others read along.
        let private = matches!(place.ownership, Ownership::Private { .. });
        if private && matches!(heard, Heard::Shared(_)) {
            return Ok(None);
        }
        let person = self.person(user).await?;
        let request = Request::chat(&person, ChatCall::SendMessage, &place, chat);
        if self.require(&request).is_err() {
            return Ok(None);
        }
        Ok(Some(Routed { user, workspace, chat, context: Some(context.name) }))
    }

    /// Into the person's own workspace.
    async fn routed_home(&self, user: UserId) -> Result<Option<Routed>, ControlError> {
        let workspace = self.store().user_by_id(user).await?.workspace;
        let chat = ChatId::from_number(FIRST_CHAT);
        if self.require_in_chat(user, ChatCall::SendMessage, workspace, chat).await.is_err() {
            return Ok(None);
        }
        self.store().ensure_first_chat(workspace).await?;
        Ok(Some(Routed { user, workspace, chat, context: None }))
    }

    /// Says the same to the same account once an hour at most.
    fn refuse(&self, surface: &str, external_id: &str, text: &str) -> Route {
        let key = (surface.to_owned(), external_id.to_owned());
        let told = self.inner.pairings.told.take(key, Instant::now());
        Route::Refused { text: told.is_ok().then(|| text.to_owned()) }
    }
}
