//! Calls about connectors, conversations, people and chats.

use std::sync::Arc;

use cloister_protocol::surface::{AnyCall, ContextAt, Health as Reported};
use cloister_store::connectors::{ConnectorId, NewConnector};
use cloister_store::contexts;
use cloister_store::conversations::{ConversationKind, NewConversation};
use cloister_store::{Actor, StoreError};

use super::{Done, SurfaceDesk, answer, lock};
use crate::people::Named;
use crate::surfaces::remote::RemoteSurface;
use crate::surfaces::{Health, SurfaceError, credentials};

impl SurfaceDesk {
    pub(super) async fn about_rows(self: &Arc<Self>, call: AnyCall) -> Result<Done, SurfaceError> {
        let store = self.control.store();
        match call {
            AnyCall::Connectors(c) => {
                Ok(answer(&c, store.conversations().connectors(self.surface).await?)?)
            }
            AnyCall::PutConnector(c) => {
                let by = self.may_put_connector(&c).await?;
                let row = NewConnector {
                    surface: self.surface.to_owned(),
                    account: c.account.clone(),
                    address: c.address.clone(),
                    settings: c.settings.clone(),
                };
                Ok(answer(&c, store.conversations().put_connector(&by, &row).await?)?)
            }
            AnyCall::RemoveConnector(c) => {
                let by = self.operator()?;
                self.own(c.connector).await?;
                store.conversations().remove_connector(&by, c.connector).await?;
                self.gone(c.connector);
                self.control.surfaces().forget_health(c.connector);
                Ok(answer(&c, ())?)
            }
            AnyCall::SetPosition(c) => {
                self.own(c.connector).await?;
                Ok(answer(&c, store.conversations().set_position(c.connector, &c.position).await?)?)
            }
            AnyCall::KeepSecret(c) => {
                let by = self.operator()?;
                self.own(c.connector).await?;
                let value = c.value.expose().to_owned().into();
                let whose = (self.surface, c.connector);
                credentials::keep(&self.control, &by, whose.0, whose.1, &c.address, value).await?;
                Ok(answer(&c, ())?)
            }
            AnyCall::OpenSecret(c) => {
                self.own(c.connector).await?;
                let opened = credentials::open(&self.control, self.surface, c.connector).await?;
                Ok(answer(&c, opened.and_then(|value| credentials::as_key(&value)))?)
            }
            AnyCall::ForgetSecret(c) => {
                let by = self.operator()?;
                self.own(c.connector).await?;
                credentials::forget(&self.control, &by, self.surface, c.connector).await?;
                Ok(answer(&c, ())?)
            }
            AnyCall::Attach(c) => {
                self.own(c.connector).await?;
                self.attach(c.connector, &c);
                Ok(answer(&c, ())?)
            }
            AnyCall::Detach(c) => {
                self.gone(c.connector);
                Ok(answer(&c, ())?)
            }
            AnyCall::Expect(c) => {
                self.own(c.connector).await?;
                self.expect(c.connector, &c.name, &c.proof)?;
                Ok(answer(&c, ())?)
            }
            AnyCall::Report(c) => {
                // What is said last of one that was removed is nothing to anybody.
                if store.conversations().is_of_surface(c.connector, self.surface).await? {
                    self.report(c.connector, c.health.clone());
                }
                Ok(answer(&c, ())?)
            }
            AnyCall::NoteReconciled(c) => {
                self.own(c.connector).await?;
                self.control.surfaces().note_reconciled(c.connector, c.report.clone());
                Ok(answer(&c, ())?)
            }
            other => self.about_conversations(other).await,
        }
    }

    /// A connector is handed nothing more.
    fn gone(&self, id: ConnectorId) {
        lock(&self.attached).remove(&id);
        lock(&self.expected).retain(|_, (connector, _)| *connector != id);
    }

    /// The courier of a connector works with its manners of now.
    fn attach(self: &Arc<Self>, id: ConnectorId, c: &cloister_protocol::surface::Attach) {
        let known = lock(&self.attached).get(&id).map(|(surface, _)| Arc::clone(surface));
        if let Some(surface) = known {
            return surface.renew(c.manners.clone(), c.streaming);
        }
        let surface = RemoteSurface::new(
            (self.surface, id),
            (c.manners.clone(), c.streaming),
            Arc::clone(&self.reach),
            Arc::downgrade(self),
        );
        let attachment = self.control.surfaces().attach(Arc::clone(&surface) as _);
        lock(&self.attached).insert(id, (surface, attachment));
    }

    fn report(&self, id: ConnectorId, health: Option<Reported>) {
        let Some(health) = health else { return self.control.surfaces().forget_health(id) };
        let was = self.control.surfaces().health_of(id);
        let (heard, reconciled) =
            was.map_or((None, None), |was| (was.last_heard_at, was.reconciled));
        let health = Health {
            surface: self.surface,
            state: health.state,
            problem: health.problem,
            last_heard_at: health.last_heard_at.or(heard),
            reconciled: health.reconciled.or(reconciled),
        };
        self.control.surfaces().report_health(id, health);
    }

    async fn about_conversations(&self, call: AnyCall) -> Result<Done, SurfaceError> {
        let store = self.control.store();
        match call {
            AnyCall::ConversationAt(c) => {
                self.own(c.connector).await?;
                Ok(answer(&c, store.conversations().conversation(c.connector, &c.place).await?)?)
            }
            AnyCall::ConversationById(c) => {
                Ok(answer(&c, self.known_conversation(c.conversation).await?)?)
            }
            AnyCall::Conversations(c) => {
                self.own(c.connector).await?;
                Ok(answer(&c, store.conversations().of(c.connector).await?)?)
            }
            AnyCall::PutConversation(c) => {
                self.may_put(&c.new).await?;
                Ok(answer(&c, store.conversations().put_conversation(&c.new).await?)?)
            }
            AnyCall::ForgetConversation(c) => {
                self.own_conversation(c.conversation).await?;
                Ok(answer(&c, store.conversations().forget_conversation(c.conversation).await?)?)
            }
            AnyCall::ForgetConversations(c) => {
                let by = self.operator()?;
                self.own(c.connector).await?;
                Ok(answer(&c, store.conversations().forget_conversations(&by, c.connector).await?)?)
            }
            AnyCall::SetBroken(c) => {
                self.own_conversation(c.conversation).await?;
                Ok(answer(
                    &c,
                    store.conversations().set_broken(c.conversation, c.why.as_deref()).await?,
                )?)
            }
            AnyCall::SetShown(c) => {
                self.own_conversation(c.conversation).await?;
                Ok(answer(
                    &c,
                    store.conversations().set_shown(c.conversation, &c.title, c.archived).await?,
                )?)
            }
            AnyCall::MakeAnew(c) => {
                self.own_conversation(c.conversation).await?;
                Ok(answer(&c, store.conversations().make_anew(c.conversation).await?)?)
            }
            AnyCall::ConversationMoved(c) => {
                let connector = self.own_connector(c.connector).await?;
                Ok(answer(
                    &c,
                    store
                        .conversations()
                        .conversation_moved(
                            &Actor::connector(self.surface),
                            &connector,
                            &c.from,
                            &c.to,
                        )
                        .await?,
                )?)
            }
            AnyCall::ConversationsToMend(c) => {
                self.own(c.connector).await?;
                Ok(answer(&c, store.conversations().conversations_to_mend(c.connector).await?)?)
            }
            AnyCall::LastHeard(c) => {
                self.own(c.connector).await?;
                Ok(answer(&c, store.conversations().last_heard(c.connector).await?)?)
            }
            AnyCall::HasToTell(c) => {
                self.own_conversation(c.conversation).await?;
                Ok(answer(&c, !store.outbox().to_tell(c.conversation).await?.is_empty())?)
            }
            AnyCall::ContextOf(c) => {
                let (surface, id) = (self.surface.to_owned(), c.place.clone());
                let found =
                    store.chats().context_of(&contexts::Conversation { surface, id }).await?;
                Ok(answer(
                    &c,
                    found.map(|context| ContextAt {
                        workspace: context.workspace,
                        chat: context.chat,
                        created_at: context.created_at,
                    }),
                )?)
            }
            other => self.about_people(other).await,
        }
    }

    /// A conversation is put in place for a person who has an account here, in their own workspace, or where an
    /// operator connected it.
    async fn may_put(&self, new: &NewConversation) -> Result<(), SurfaceError> {
        self.own(new.connector).await?;
        let (workspace, chat) = new.chat;
        self.control.store().chats().chat(workspace, chat).await?;
        match new.user {
            Some(user) if self.own_person(user).await?.workspace == workspace => Ok(()),
            Some(_) => Err(super::not_found()),
            None => {
                let id = new.external_id.clone().unwrap_or_default();
                let there = contexts::Conversation { surface: self.surface.to_owned(), id };
                let context = self.control.store().chats().context_of(&there).await?;
                let connected = context.is_some_and(|context| {
                    (context.workspace, context.chat) == (workspace, Some(chat))
                });
                let shared = new.kind == ConversationKind::Shared;
                if connected && shared { Ok(()) } else { Err(super::not_found()) }
            }
        }
    }

    async fn about_people(&self, call: AnyCall) -> Result<Done, SurfaceError> {
        let store = self.control.store();
        match call {
            AnyCall::ChatsChanged(c) => {
                self.control.surfaces().chats_changed();
                Ok(answer(&c, ())?)
            }
            AnyCall::Home(c) => {
                self.own(c.connector).await?;
                Ok(answer(&c, store.chats().home(c.connector, c.user).await?)?)
            }
            AnyCall::Homes(c) => {
                self.own(c.connector).await?;
                Ok(answer(&c, store.chats().homes(c.connector).await?)?)
            }
            AnyCall::SetHome(c) => {
                self.own(c.connector).await?;
                Ok(answer(
                    &c,
                    store.chats().set_home(c.connector, c.user, c.place.as_deref()).await?,
                )?)
            }
            AnyCall::WantRooms(c) => {
                self.own(c.connector).await?;
                let person = self.own_person(c.user).await?;
                Ok(answer(
                    &c,
                    store.conversations().want_rooms(c.connector, c.user, person.workspace).await?,
                )?)
            }
            AnyCall::GiveUpRooms(c) => {
                self.own(c.connector).await?;
                Ok(answer(&c, store.chats().give_up_rooms(c.connector, c.user).await?)?)
            }
            AnyCall::IsKnown(c) => {
                Ok(answer(&c, store.users().identity(self.surface, &c.account).await?.is_some())?)
            }
            AnyCall::WhoIs(c) => {
                let whose = store.users().identity(self.surface, &c.account).await?;
                let person = match whose {
                    Some(identity) => Some(self.own_person(identity.user).await?),
                    None => None,
                };
                Ok(answer(&c, person)?)
            }
            AnyCall::PersonById(c) => Ok(answer(&c, self.own_person(c.user).await?)?),
            AnyCall::AccountsOf(c) => Ok(answer(&c, self.accounts_of(c.user).await?)?),
            AnyCall::IsUser(c) => {
                let known = store.users().all().await?.iter().any(|user| user.name == c.name);
                Ok(answer(&c, known)?)
            }
            AnyCall::ChatOf(c) => {
                self.may_see(c.workspace).await?;
                Ok(answer(&c, store.chats().chat(c.workspace, c.chat).await?)?)
            }
            AnyCall::Chats(c) => {
                self.may_see(c.workspace).await?;
                Ok(answer(&c, store.chats().of(c.workspace).await?)?)
            }
            AnyCall::RenameChat(c) => {
                let conversation = self.own_conversation(c.conversation).await?;
                let named = Named { title: &c.title, by: c.by.as_deref(), at: c.named_at };
                Ok(answer(&c, self.control.people().rename_chat_from(&conversation, named).await?)?)
            }
            other => self.about_chats(other).await,
        }
    }

    async fn about_chats(&self, call: AnyCall) -> Result<Done, SurfaceError> {
        let store = self.control.store();
        match call {
            AnyCall::ShownAs(c) => {
                self.own_conversation(c.conversation).await?;
                let whose = match &c.by {
                    Some(account) => store.users().identity(self.surface, account).await?,
                    None => None,
                };
                let by = match whose {
                    Some(whose) => self.control.accounts().acting(whose.user).await?,
                    None => Actor::somebody(),
                };
                Ok(answer(&c, store.chats().rename_from(&by, c.conversation, &c.title).await?)?)
            }
            AnyCall::EnsureFirstChat(c) => {
                let person = self.own_person(c.user).await?;
                Ok(answer(
                    &c,
                    store
                        .chats()
                        .ensure_first_chat(&Actor::person(&person.name), person.workspace)
                        .await?,
                )?)
            }
            AnyCall::RestoreChat(c) => {
                self.may_see(c.workspace).await?;
                Ok(answer(
                    &c,
                    store
                        .chats()
                        .restore_chat(
                            &Actor::connector(self.surface),
                            c.workspace,
                            c.chat,
                            &c.title,
                        )
                        .await?,
                )?)
            }
            AnyCall::IsWorkspace(c) => {
                let known = match store.users().user_of(c.workspace).await {
                    Ok(_) => true,
                    Err(StoreError::NotFound { .. }) => false,
                    Err(error) => return Err(error.into()),
                };
                Ok(answer(&c, known)?)
            }
            other => Ok(Done::NotMine(Box::new(other))),
        }
    }

    /// The chats of a workspace are seen by a surface that shows one of them, or has an account of whose it is.
    pub(super) async fn may_see(
        &self,
        workspace: cloister_protocol::WorkspaceId,
    ) -> Result<(), SurfaceError> {
        let owner = self.control.store().users().user_of(workspace).await?.id;
        if !self.accounts_of(owner).await?.is_empty() {
            return Ok(());
        }
        let shown =
            self.control.store().conversations().is_shown_on(self.surface, workspace).await?;
        if shown { Ok(()) } else { Err(super::not_found()) }
    }
}
