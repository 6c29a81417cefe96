//! Calls about what was heard: who speaks, messages, what waits, what was posted.

use cloister_protocol::link::Cause;
use cloister_protocol::surface::{
    AnyCall, ConversationKind, Heard as Said, HeardIn, Incoming, Receipt, Speaker, Stored,
};
use cloister_protocol::{AgentFrame, Language};
use cloister_store::Actor;
use cloister_store::audit::Entry;
use cloister_store::inbox::{InboxItem, InboxState};
use cloister_store::waiting::ToWait;

use super::{Done, SurfaceDesk, answer, not_found};
use crate::error::Fault;
use crate::inbox::IncomingMessage;
use crate::people::Heard;
use crate::surfaces::SurfaceError;
use crate::surfaces::words::short;

/// The most of a reason that is kept in the audit.
const LONGEST_REASON: usize = 300;

impl SurfaceDesk {
    pub(super) async fn about_what_is_heard(&self, call: AnyCall) -> Result<Done, SurfaceError> {
        let store = self.control.store();
        match call {
            AnyCall::Locate(c) => {
                self.own(c.connector).await?;
                let heard = borrowed(&c.heard);
                let reads = c.language.as_deref().and_then(Language::of_tag);
                let found = self
                    .control
                    .contexts()
                    .locate(c.connector, self.surface, &c.sender, heard, reads)
                    .await;
                Ok(answer(&c, found?)?)
            }
            AnyCall::Receive(c) => Ok(answer(&c, self.receive(&c.message).await?)?),
            AnyCall::StoredMessage(c) => {
                let speaker = self.speaker(&c.speaker).await?;
                let item =
                    self.control.inbox().stored_message(self.surface, &speaker, &c.id).await?;
                let stored = match item {
                    Some(item) => Some(self.stored(item).await?),
                    None => None,
                };
                Ok(answer(&c, stored)?)
            }
            AnyCall::StoredIn(c) => {
                let here = self.own_conversation(c.conversation).await?;
                let place = (here.workspace, here.chat);
                let item =
                    self.control.inbox().stored_in(self.surface, &here, place, &c.id).await?;
                let stored = match item {
                    Some(item) => Some(self.stored(item).await?),
                    None => None,
                };
                Ok(answer(&c, stored)?)
            }
            AnyCall::WasStored(c) => {
                Ok(answer(&c, store.inbox().stored_before(self.surface, &c.id).await?.is_some())?)
            }
            AnyCall::CancelTurn(c) => {
                let item = store.inbox().inbox_item(c.message).await?.ok_or_else(not_found)?;
                // Its conversation may have been put in place anew since.
                match item.conversation {
                    Some(heard) if self.known_conversation(heard).await?.is_some() => {}
                    _ => self.may_see(item.workspace).await?,
                }
                Ok(answer(&c, self.control.tasks().cancel_turn(&item)?)?)
            }
            AnyCall::AnswerToldBy(c) => {
                self.own_conversation(c.conversation).await?;
                Ok(answer(&c, self.answer_told_by(c.conversation, &c.message).await?)?)
            }
            AnyCall::Asks(c) => {
                self.own_conversation(c.conversation).await?;
                let told = store.outbox().told_by(c.conversation, &c.message).await?;
                Ok(answer(&c, told.is_some_and(|row| matches!(row.frame, AgentFrame::Ask(_))))?)
            }
            AnyCall::IsPosted(c) => {
                self.own_conversation(c.conversation).await?;
                Ok(answer(&c, store.outbox().is_posted(c.conversation, &c.message).await?)?)
            }
            AnyCall::InDoubtSince(c) => {
                self.own_conversation(c.conversation).await?;
                Ok(answer(&c, store.outbox().in_doubt_since(c.conversation, &c.key).await?)?)
            }
            other => self.about_what_waits(other).await,
        }
    }

    async fn about_what_waits(&self, call: AnyCall) -> Result<Done, SurfaceError> {
        let store = self.control.store();
        match call {
            AnyCall::LetWait(c) => {
                self.own(c.connector).await?;
                let event = ToWait {
                    connector: c.connector,
                    place: &c.place,
                    event: &c.event,
                    why: c.why,
                    sealed: c.sealed.as_deref(),
                };
                Ok(answer(&c, store.inbox().let_wait(event).await?)?)
            }
            AnyCall::StopWaiting(c) => {
                self.own(c.connector).await?;
                Ok(answer(&c, store.inbox().stop_waiting(c.connector, &c.place, &c.event).await?)?)
            }
            AnyCall::WaitsIn(c) => {
                self.own(c.connector).await?;
                Ok(answer(&c, store.inbox().waits_in(c.connector, &c.place).await?)?)
            }
            AnyCall::WaitingPlaces(c) => {
                self.own(c.connector).await?;
                let unreadable = c.unreadable.unwrap_or(false);
                Ok(answer(&c, store.inbox().waiting_places(c.connector, unreadable).await?)?)
            }
            AnyCall::FirstWaiting(c) => {
                self.own(c.connector).await?;
                Ok(answer(&c, store.inbox().first_waiting(c.connector, &c.place, c.most).await?)?)
            }
            AnyCall::WaitingEvents(c) => {
                self.own(c.connector).await?;
                let mut waiting = store.inbox().waiting_events(c.connector, &c.place).await?;
                waiting.iter_mut().for_each(|event| event.sealed = None);
                Ok(answer(&c, waiting)?)
            }
            AnyCall::SealedEvent(c) => {
                self.own(c.connector).await?;
                Ok(answer(&c, store.inbox().sealed_event(c.connector, c.waiting).await?)?)
            }
            AnyCall::ToldThatItWaits(c) => {
                self.own(c.connector).await?;
                Ok(answer(&c, store.inbox().told_that_it_waits(c.connector, c.waiting).await?)?)
            }
            other => self.about_what_is_not_taken(other).await,
        }
    }

    async fn about_what_is_not_taken(&self, call: AnyCall) -> Result<Done, SurfaceError> {
        let store = self.control.store();
        match call {
            AnyCall::RefuseEvent(c) => {
                self.own(c.connector).await?;
                Ok(answer(&c, store.conversations().refuse_event(c.connector, &c.event).await?)?)
            }
            AnyCall::WasRefused(c) => {
                self.own(c.connector).await?;
                Ok(answer(&c, store.conversations().was_refused(c.connector, &c.event).await?)?)
            }
            AnyCall::RefusedDevice(c) => {
                self.own(c.connector).await?;
                let what = format!("device {}, event {}", c.device, c.event);
                let entry =
                    Entry::new(&Actor::person(&c.account), "message.refused_device", &c.place)
                        .with(what);
                let entry = match store.users().identity(self.surface, &c.account).await? {
                    Some(whose) => entry.of(whose.user),
                    None => entry,
                };
                Ok(answer(&c, store.audit().record(entry).await?)?)
            }
            AnyCall::SetEncrypted(c) => {
                Ok(answer(&c, store.conversations().set_encrypted(self.surface, &c.place).await?)?)
            }
            AnyCall::WasEncrypted(c) => {
                Ok(answer(&c, store.conversations().was_encrypted(self.surface, &c.place).await?)?)
            }
            AnyCall::Dropped(c) => {
                let account = self.own_connector(c.connector).await?.account;
                let subject = format!("{} {account}", self.surface);
                let why = format!("{}: {}", short(&c.what, 100), short(&c.why, LONGEST_REASON));
                let entry = Entry::new(&Actor::connector(self.surface), "message.dropped", subject)
                    .with(why);
                Ok(answer(&c, store.audit().record(entry).await?)?)
            }
            AnyCall::CountError(c) => {
                self.control.metrics().connector_error(self.surface, error_kind(&c.kind));
                Ok(answer(&c, ())?)
            }
            other => Ok(Done::NotMine(Box::new(other))),
        }
    }

    async fn receive(&self, message: &Incoming) -> Result<Receipt, SurfaceError> {
        let speaker = self.speaker(&message.speaker).await?;
        let conversation = speaker.conversation.id;
        let received = self.control.inbox().receive(IncomingMessage {
            surface: self.surface,
            workspace: speaker.workspace,
            chat: speaker.chat,
            id: message.id.clone(),
            from: speaker.name,
            text: message.text.clone(),
            attachments: message.attachments.clone(),
            instead: None,
            heard_in: Some(HeardIn { conversation, origin: message.origin.clone() }),
        });
        let receipt = received.await?;
        if !receipt.duplicate {
            for file in &message.attachments {
                self.files.take_loose(speaker.workspace, file);
            }
        }
        Ok(Receipt { turn: receipt.turn, duplicate: receipt.duplicate })
    }

    /// Who speaks, as it is known here. What a connector says of it names the person and the conversation, and is
    /// believed nothing else: the person has an account on its surface, the conversation is one of its own, and in
    /// what is somebody's own nobody else speaks.
    pub(super) async fn speaker(&self, said: &Speaker) -> Result<Speaker, SurfaceError> {
        let person = self.own_person(said.user).await?;
        let conversation = self.own_conversation(said.conversation.id).await?;
        let shared = conversation.kind == ConversationKind::Shared;
        let theirs = shared || conversation.user == Some(said.user);
        let there =
            said.workspace == conversation.workspace && (!shared || said.chat == conversation.chat);
        if !theirs || !there {
            return Err(not_found());
        }
        Ok(Speaker {
            language: self.control.people().languages().language_of(person.user).await?,
            user: person.user,
            name: person.name,
            workspace: conversation.workspace,
            chat: said.chat,
            conversation,
        })
    }

    async fn stored(&self, item: InboxItem) -> Result<Stored, Fault> {
        let origin = self.control.store().outbox().origin_of_turn(item.id).await?;
        let said = match &item.cause {
            Cause::Message { from, text, .. } => Some((from.clone(), text.clone())),
            _ => None,
        };
        Ok(Stored {
            id: item.id,
            said,
            answered: item.state == InboxState::Answered,
            origin: origin.and_then(|(_, origin)| origin),
        })
    }

    /// The text of the answer whose first message this is.
    async fn answer_told_by(
        &self,
        conversation: cloister_store::conversations::ConversationId,
        message: &str,
    ) -> Result<Option<String>, Fault> {
        let store = self.control.store();
        let Some(row) = store.outbox().told_by(conversation, message).await? else {
            return Ok(None);
        };
        let first = store.outbox().post(conversation, &format!("{}/0", row.turn)).await?;
        let is_first = first.is_some_and(|post| post.external_id.as_deref() == Some(message));
        Ok(match row.frame {
            AgentFrame::End(end) if is_first => Some(end.text),
            _ => None,
        })
    }
}

/// The kinds of errors that are counted; what is none of them is another.
fn error_kind(kind: &str) -> &'static str {
    const KINDS: [&str; 9] = [
        "skipped",
        "interaction",
        "unauthorised",
        "rate_limited",
        "unreachable",
        "timeout",
        "server_error",
        "lost",
        "other",
    ];
    KINDS.into_iter().find(|known| *known == kind).unwrap_or("other")
}

fn borrowed(heard: &Said) -> Heard<'_> {
    match heard {
        Said::Direct(id) => Heard::Direct(id),
        Said::Shared(id) => Heard::Shared(id),
        Said::Thread { of, id, title } => Heard::Thread { of, id, title },
        Said::OwnThread { of, id, title } => Heard::OwnThread { of, id, title },
    }
}
