//! The router: from an account and a conversation on a surface to a person, a workspace and a chat.
//!
//! Who speaks is the account that the surface vouches for, never what is written in a message: not its
//! display name, not whom it was forwarded from, not what it was edited into. What is not known to lead
//! somewhere leads nowhere.

use cloister_policy::engine::{ChatCall, Ownership, Request};
use cloister_protocol::surface::{Located, Speaker};
use cloister_protocol::{ChatId, Language, UserId, WorkspaceId};
use cloister_store::Actor;
use cloister_store::connectors::ConnectorId;
use cloister_store::contexts::{self, Context};
use cloister_store::conversations::{Conversation, ConversationKind, NewConversation};
use cloister_store::lobbies::Thread;

use crate::error::Fault;
use crate::people::{Contexts, PeopleError};

/// The first chat of every workspace.
const FIRST_CHAT: u32 = 1;

/// Where something was said, as the surface knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard<'a> {
    /// Between one person and the agent alone.
    Direct(&'a str),
    /// Where others read along, or may.
    Shared(&'a str),
    /// In a topic or thread where others read along: a chat of its own in the context that it is in.
    Thread { of: &'a str, id: &'a str, title: &'a str },
    /// In a topic of a conversation between one person and the agent alone: a chat of its own.
    OwnThread { of: &'a str, id: &'a str, title: &'a str },
}

impl Heard<'_> {
    const fn id(&self) -> &str {
        match self {
            Self::Direct(id)
            | Self::Shared(id)
            | Self::Thread { id, .. }
            | Self::OwnThread { id, .. } => id,
        }
    }

    /// What an operator would connect: not a thread, but what it is a thread of.
    const fn connectable(&self) -> &str {
        match self {
            Self::Direct(id) | Self::Shared(id) | Self::OwnThread { id, .. } => id,
            Self::Thread { of, .. } => of,
        }
    }

    /// Whether others read along.
    const fn is_shared(&self) -> bool {
        match self {
            Self::Shared(_) | Self::Thread { .. } => true,
            Self::Direct(_) | Self::OwnThread { .. } => false,
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

/// Where it leads.
enum Leads {
    To(Routed),
    /// To a chat that is still to be made, beside this one.
    Beside(Routed),
    /// Nowhere; what to say about it.
    Nowhere(&'static str),
}

const NOT_CONNECTED: &str = "I do not take messages in this conversation. Whoever runs this can connect it \
                             with `cloister context add`.";
const NOT_A_MEMBER: &str = "I may not take your messages in this conversation. Whoever runs this can give you \
                            a role here with `cloister role give`.";
const OTHERS_READ_ALONG: &str = "Others read along in this conversation, and what you have with me is yours \
                                 alone. Write to me where the two of us are by ourselves.";
const NOT_YOURS: &str = "This conversation is somebody else's. Write to me directly.";

impl Contexts {
    /// Where a message of this account, heard there, goes.
    pub async fn route(
        &self,
        surface: &str,
        external_id: &str,
        heard: Heard<'_>,
    ) -> Result<Route, PeopleError> {
        let Some(identity) = self.control.store().users().identity(surface, external_id).await?
        else {
            return Ok(Route::Refused {
                text: self.control.surfaces().refusal(surface, external_id, None).await?,
            });
        };
        Ok(match self.leads(identity.user, (surface, heard), None).await? {
            Leads::To(routed) | Leads::Beside(routed) => Route::To(routed),
            Leads::Nowhere(words) => Route::Refused {
                text: self.control.surfaces().not_here(surface, heard.connectable(), words),
            },
        })
    }

    /// Who speaks and to which chat, for something that a connector heard in one of its conversations. One
    /// that leads somewhere is known from then on. `reads` is what its surface says of who speaks.
    pub async fn locate(
        &self,
        connector: ConnectorId,
        surface: &str,
        sender: &str,
        heard: Heard<'_>,
        reads: Option<Language>,
    ) -> Result<Located, PeopleError> {
        let Some(identity) = self.control.store().users().identity(surface, sender).await? else {
            return Ok(Located::Stranger {
                tell: self.control.surfaces().refusal(surface, sender, reads).await?,
            });
        };
        if let Some(reads) = reads {
            self.control.people().languages().note_language(identity.user, reads).await?;
        }
        let language = self.control.people().languages().language_of(identity.user).await?;
        let known =
            self.control.store().conversations().conversation(connector, heard.id()).await?;
        let mut leads = self.leads(identity.user, (surface, heard), known.as_ref()).await?;
        if !self.is_their_own(connector, identity.user, heard).await? {
            leads = Leads::Nowhere(NOT_YOURS);
        }
        let before = known.as_ref().map(|known| known.id);
        let (user, conversation) = match leads {
            Leads::To(routed) => {
                (routed.user, self.put_in_place(connector, heard, known, &routed).await?)
            }
            Leads::Beside(routed) => {
                (routed.user, self.make_beside(connector, heard, known, &routed).await?)
            }
            Leads::Nowhere(words) => {
                return Ok(Located::NotHere {
                    tell: self.control.surfaces().not_here(surface, heard.connectable(), words),
                });
            }
        };
        let made = before != Some(conversation.id) && conversation.user.is_some();
        if made
            && self.control.store().users().identity(surface, sender).await?.map(|it| it.user)
                != Some(user)
        {
            // Unlinked in this moment: what was forgotten with the account must not come back.
            self.control.store().conversations().forget_conversation(conversation.id).await?;
            return Ok(Located::Stranger { tell: None });
        }
        let (workspace, chat) = (conversation.workspace, conversation.chat);
        let name = self.control.store().users().user_by_id(user).await?.name;
        Ok(Located::To(Box::new(Speaker { user, name, workspace, chat, conversation, language })))
    }

    /// A topic lies in a conversation of the person's own, or in one that nobody has spoken in yet.
    async fn is_their_own(
        &self,
        connector: ConnectorId,
        user: UserId,
        heard: Heard<'_>,
    ) -> Result<bool, Fault> {
        let Heard::OwnThread { of, .. } = heard else { return Ok(true) };
        let around = self.control.store().conversations().conversation(connector, of).await?;
        Ok(around.is_none_or(|around| around.user == Some(user)))
    }

    /// What an operator connected comes first, then what the conversation is known to show.
    async fn leads(
        &self,
        user: UserId,
        (surface, heard): (&str, Heard<'_>),
        known: Option<&Conversation>,
    ) -> Result<Leads, PeopleError> {
        let id = heard.id().to_owned();
        let there = contexts::Conversation { surface: surface.to_owned(), id };
        if let Some(context) = self.control.store().chats().context_of(&there).await?
            && self.takes(user, &context, heard, known).await?
        {
            return self.leads_to_context(user, context, heard).await;
        }
        match (known.map(|known| (known.kind, known)), heard) {
            (Some((ConversationKind::Room | ConversationKind::Lobby, known)), heard) => {
                let chat = (known.workspace, known.chat);
                self.leads_to_chat(user, chat, None, heard).await
            }
            (known, Heard::Thread { of, .. }) => {
                let known = known.map(|(_, known)| known);
                self.leads_to_thread(user, (surface, of), known, heard).await
            }
            // Its context is gone.
            (Some((ConversationKind::Shared, _)), _) | (None, Heard::Shared(_)) => {
                Ok(Leads::Nowhere(NOT_CONNECTED))
            }
            (None, Heard::Direct(_)) => self.leads_home(user, heard).await,
            (None, Heard::OwnThread { .. }) => Ok(match self.leads_home(user, heard).await? {
                Leads::To(home) => Leads::Beside(home),
                nowhere => nowhere,
            }),
        }
    }

    /// Whether a conversation is what a context says it is. What somebody says to the agent alone stays theirs,
    /// whoever connected it to a community, or to a workspace of their own; a room of a community in which only one
    /// is left stays the community's.
    async fn takes(
        &self,
        user: UserId,
        context: &Context,
        heard: Heard<'_>,
        known: Option<&Conversation>,
    ) -> Result<bool, Fault> {
        let known = known.map(|known| known.kind);
        if heard.is_shared() || known == Some(ConversationKind::Shared) {
            return Ok(true);
        }
        Ok(match self.control.people().place(context.workspace).await?.ownership {
            Ownership::Community => false,
            Ownership::Private { owner } => owner == user || known.is_none(),
        })
    }

    /// Into the chat of a thread, in the context that the conversation around it is now.
    async fn leads_to_thread(
        &self,
        user: UserId,
        (surface, of): (&str, &str),
        known: Option<&Conversation>,
        heard: Heard<'_>,
    ) -> Result<Leads, PeopleError> {
        let around = contexts::Conversation { surface: surface.to_owned(), id: of.to_owned() };
        let Some(context) = self.control.store().chats().context_of(&around).await? else {
            return Ok(Leads::Nowhere(NOT_CONNECTED));
        };
        let (workspace, name) = (context.workspace, context.name.clone());
        let beside = match self.leads_to_context(user, context, heard).await? {
            Leads::To(beside) => beside,
            nowhere => return Ok(nowhere),
        };
        if let Some(known) = known.filter(|known| known.workspace == workspace)
            && self.control.store().chats().context_of_chat(workspace, known.chat).await?.as_ref()
                == Some(&name)
        {
            return self.leads_to_chat(user, (workspace, known.chat), Some(name), heard).await;
        }
        Ok(Leads::Beside(beside))
    }

    /// Into the context that a conversation is, if this person may speak there.
    async fn leads_to_context(
        &self,
        user: UserId,
        context: Context,
        heard: Heard<'_>,
    ) -> Result<Leads, PeopleError> {
        let (workspace, Some(chat)) = (context.workspace, context.chat) else {
            return Ok(Leads::Nowhere(NOT_CONNECTED));
        };
        self.leads_to_chat(user, (workspace, chat), Some(context.name), heard).await
    }

    async fn leads_to_chat(
        &self,
        user: UserId,
        (workspace, chat): (WorkspaceId, ChatId),
        context: Option<String>,
        heard: Heard<'_>,
    ) -> Result<Leads, PeopleError> {
        let place = self.control.people().place_of_chat(workspace, chat).await?;
        if let Ownership::Private { owner } = place.ownership {
            // What is a person's own is never told where others read along, and to nobody else, whatever
            // they may do elsewhere.
            if owner != user {
                return Ok(Leads::Nowhere(NOT_YOURS));
            }
            if heard.is_shared() {
                return Ok(Leads::Nowhere(OTHERS_READ_ALONG));
            }
        }
        let person = self.control.people().person(user).await?;
        let request = Request::chat(&person, ChatCall::SendMessage, &place, chat);
        if self.control.people().require(&request).is_err() {
            return Ok(Leads::Nowhere(NOT_A_MEMBER));
        }
        Ok(Leads::To(Routed { user, workspace, chat, context }))
    }

    /// Into the person's own workspace.
    async fn leads_home(&self, user: UserId, heard: Heard<'_>) -> Result<Leads, PeopleError> {
        let own = self.control.store().users().user_by_id(user).await?;
        let workspace = own.workspace;
        let chat = ChatId::from_number(FIRST_CHAT);
        let leads = self.leads_to_chat(user, (workspace, chat), None, heard).await?;
        if matches!(leads, Leads::To(_)) {
            self.control
                .store()
                .chats()
                .ensure_first_chat(&Actor::person(own.name), workspace)
                .await?;
        }
        Ok(leads)
    }

    /// The conversation, as it is known from now on. One that showed another chat is forgotten first: what
    /// was still to be told of that is not told to whoever reads here now.
    async fn put_in_place(
        &self,
        connector: ConnectorId,
        heard: Heard<'_>,
        known: Option<Conversation>,
        routed: &Routed,
    ) -> Result<Conversation, Fault> {
        match known {
            Some(known) if (known.workspace, known.chat) == (routed.workspace, routed.chat) => {
                return Ok(known);
            }
            Some(known) => {
                self.control.store().conversations().forget_conversation(known.id).await?
            }
            None => {}
        }
        let (kind, user) = match self.control.people().place(routed.workspace).await?.ownership {
            Ownership::Private { owner } => (ConversationKind::Lobby, Some(owner)),
            Ownership::Community => (ConversationKind::Shared, None),
        };
        let new = NewConversation {
            connector,
            external_id: Some(heard.id().to_owned()),
            chat: (routed.workspace, routed.chat),
            kind,
            user,
        };
        Ok(self.control.store().conversations().put_conversation(&new).await?)
    }

    /// The conversation of a thread, with a chat of its own in the same place as another.
    async fn make_beside(
        &self,
        connector: ConnectorId,
        heard: Heard<'_>,
        known: Option<Conversation>,
        beside: &Routed,
    ) -> Result<Conversation, Fault> {
        if let Some(known) = known {
            self.control.store().conversations().forget_conversation(known.id).await?;
        }
        let (Heard::Thread { id, title, .. } | Heard::OwnThread { id, title, .. }) = heard else {
            return self.put_in_place(connector, heard, None, beside).await;
        };
        let title = crate::commands::title(title);
        let thread = Thread { connector, external_id: id, title: &title };
        let actor = self.control.accounts().acting(beside.user).await?;
        let made = match &beside.context {
            Some(context) => {
                self.control
                    .store()
                    .chats()
                    .put_thread(&actor, thread, (beside.workspace, context))
                    .await?
            }
            None => {
                self.control
                    .store()
                    .chats()
                    .put_own_thread(&actor, thread, (beside.user, beside.workspace))
                    .await?
            }
        };
        self.control.surfaces().chats_changed();
        Ok(made)
    }

    /// A context no longer is the conversation that it was: what is still to be told is not told there, nor in
    /// the threads of it.
    pub(super) async fn disconnect(
        &self,
        (workspace, context): (WorkspaceId, &str),
        conversation: &contexts::Conversation,
    ) -> Result<(), Fault> {
        let store = self.control.store();
        for thread in store.chats().threads_of(&conversation.surface, (workspace, context)).await? {
            store.conversations().forget_conversation(thread).await?;
        }
        for connector in store.conversations().connectors(&conversation.surface).await? {
            let known = store.conversations().conversation(connector.id, &conversation.id).await?;
            if let Some(known) = known.filter(|known| known.kind == ConversationKind::Shared) {
                store.conversations().forget_conversation(known.id).await?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "route_tests.rs"]
mod tests;
