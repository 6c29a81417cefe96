//! The way in: a message is stored, then acknowledged, then its cell is woken.

use std::time::Duration;

use cloister_policy::engine::Ownership;
use cloister_protocol::link::Cause;
use cloister_protocol::surface::Speaker;
use cloister_protocol::{
    Attachment, ChatId, MAX_ATTACHMENTS, MAX_TEXT_BYTES, MessageId, TurnId, UserName, WorkspaceId,
};
use cloister_store::Actor;
use cloister_store::audit::Entry;
use cloister_store::conversations::{Conversation, ConversationKind};
use cloister_store::inbox::{Accepted, HeardIn, Inbound, InboxItem, MostOpen, Taken};
use tokio::time::Instant;

use crate::cells::Poke;
use crate::commands::{self, Typed};
use crate::error::Fault;
use crate::files::RelPath;
use crate::inbox::{Inbox, InboxError, InboxRefusal};
use crate::limits::{Knock, TooMuch, URGENT_HEADROOM, share};

/// What a turn is taken to last when none has ended lately.
const USUAL_TURN: Duration = Duration::from_secs(10);
/// The longest that anybody is told to wait.
const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// A message as a surface received it.
#[derive(Clone, Debug)]
pub struct IncomingMessage {
    pub surface: &'static str,
    pub workspace: WorkspaceId,
    pub chat: ChatId,
    /// The surface's own id of it; the same id again is the same message.
    pub id: MessageId,
    pub from: UserName,
    pub text: String,
    pub attachments: Vec<Attachment>,
    /// The turn that it takes the place of, with all that came after.
    pub instead: Option<TurnId>,
    /// The conversation it was written in; none: web or terminal.
    pub heard_in: Option<HeardIn>,
}

/// A stored message.
#[derive(Clone, Debug)]
pub struct Receipt {
    pub turn: TurnId,
    pub duplicate: bool,
}

impl Inbox {
    /// Stores a message and wakes the cell that answers it. What was stored before is never refused.
    pub async fn receive(&self, message: IncomingMessage) -> Result<Receipt, InboxError> {
        let began = Instant::now();
        let surface = message.surface;
        if self.control.closing() {
            self.control.metrics().refused(surface, "stopping");
            return Err(InboxRefusal::Stopping.into());
        }
        check_size(&message)?;
        let workspace = message.workspace;
        let typed = commands::parse(&message.text);
        let urgent = typed.as_ref().is_some_and(Typed::is_urgent);
        let external_id = self.known_as(&message).await?;
        let knock = Knock { surface, workspace, from: message.from.clone(), urgent };
        let limiter = &self.control.inner.limiter;
        if let Err(too_much) = limiter.person(&knock) {
            return self.unless_stored(surface, &external_id, too_much).await;
        }
        // Who may not speak there takes nothing from those who may.
        let place =
            self.control.people().require_speaker(&message.from, workspace, message.chat).await?;
        if let Err(too_much) = limiter.together(&knock) {
            return self.unless_stored(surface, &external_id, too_much).await;
        }
        let mut attachments = self.known_attachments(&message)?;
        let instead = match (&typed, &message.instead) {
            (None, Some(turn)) => Some(self.own_message(&message, turn).await?),
            // What a command does is not undone by another.
            (Some(_), _) | (None, None) => None,
        };
        let pasted = match &typed {
            Some(_command) => None,
            None => self.keep_pasted(&message, &attachments, &external_id).await,
        };
        attachments.extend(pasted);
        let inbound = Inbound {
            source: surface.to_owned(),
            external_id,
            workspace,
            chat: message.chat,
            cause: Cause::Message {
                from: message.from.to_string(),
                text: message.text,
                attachments,
                instead,
            },
            meant: Typed::meant(typed.as_ref()),
            heard_in: message.heard_in,
        };
        let on_surface = inbound.heard_in.is_some();
        let again = typed.map(|_command| inbound.clone());
        let most = self.most_open(place.ownership, urgent);
        let mut taken = self.control.store().inbox().take_message(inbound, most).await?;
        if let (Taken::Archived, Some(command)) = (&taken, again) {
            taken = Taken::Stored(Box::new(self.take_command(command).await?));
        }
        let item = match taken {
            Taken::Stored(accepted) if accepted.duplicate => {
                return self.again(surface, &accepted.item).await;
            }
            Taken::Stored(accepted) => accepted.item,
            Taken::Archived if on_surface => {
                return Err(InboxRefusal::ArchivedHere { chat: message.chat }.into());
            }
            Taken::Archived => return Err(InboxRefusal::Archived { chat: message.chat }.into()),
            Taken::TooMany(waiting) => {
                self.control.metrics().refused(surface, "unanswered");
                let retry_after = self.answered_after(waiting - self.control.work().max_unanswered);
                return Err(InboxRefusal::Unanswered { waiting, retry_after }.into());
            }
            Taken::Full(waiting) => {
                self.control.metrics().refused(surface, "queue_full");
                let most = self.control.inner.limiter.options().unanswered;
                let retry_after = self.answered_after(waiting - most);
                return Err(InboxRefusal::Full { waiting, retry_after }.into());
            }
        };
        self.control.metrics().accepted(surface, began.elapsed());
        self.control.chats().turn_lobby_now(&item).await?;
        let trigger = item.trigger()?;
        let turn = TurnId::of_trigger(&trigger);
        self.control.hub().taken(&item, trigger, turn.clone());
        self.control.cells().poke((workspace, item.chat), Poke::Stored(Box::new(item)));
        Ok(Receipt { turn, duplicate: false })
    }

    /// The turn of an earlier message that the same person wrote here.
    async fn own_message(
        &self,
        message: &IncomingMessage,
        turn: &TurnId,
    ) -> Result<TurnId, InboxError> {
        let row = turn.message().ok_or(InboxRefusal::NotYours)?;
        let inbox = self.control.store().inbox();
        let said = inbox.said(message.workspace, message.chat, row).await?;
        let is_own = said.is_some_and(|said| match said.cause {
            Cause::Message { from, .. } => from == message.from.as_str(),
            Cause::TasksEnded { .. } | Cause::Clear => false,
        });
        if !is_own {
            return Err(InboxRefusal::NotYours.into());
        }
        let place = (message.workspace, message.chat);
        // Nobody takes back what somebody else has said.
        if inbox.others_since(place, row, message.from.as_str()).await? {
            return Err(InboxRefusal::OthersSince.into());
        }
        Ok(TurnId::of_message(row))
    }

    /// The refusal of what comes too fast, unless it was stored before.
    async fn unless_stored(
        &self,
        surface: &'static str,
        external_id: &str,
        too_much: TooMuch,
    ) -> Result<Receipt, InboxError> {
        match self.control.store().inbox().stored_before(surface, external_id).await? {
            Some(item) => self.again(surface, &item).await,
            None => {
                self.control.metrics().refused(surface, too_much.reason);
                Err(too_much.into())
            }
        }
    }

    /// Takes a command in an archived chat: without it, who has but one conversation could not open another.
    async fn take_command(&self, command: Inbound) -> Result<Accepted, Fault> {
        if let Cause::Message { from, .. } = &command.cause {
            let entry = Entry::new(&Actor::person(from), "message.in", command.chat)
                .with(format!("a command by {} in an archived chat", command.source))
                .of_workspace(command.workspace);
            self.control.store().audit().record(entry).await?;
        }
        Ok(self.control.store().inbox().accept(command).await?)
    }

    /// What the inbox knows a message by. A lobby may show another chat when the same message comes again, so
    /// there it is known by the conversation.
    async fn known_as(&self, message: &IncomingMessage) -> Result<String, Fault> {
        let lobby = match &message.heard_in {
            Some(heard) => {
                self.control.store().conversations().conversation_by_id(heard.conversation).await?
            }
            None => None,
        };
        let lobby = lobby.filter(|found| found.kind == ConversationKind::Lobby);
        Ok(match lobby {
            Some(lobby) => known_in_lobby(&lobby, &message.id),
            None => known_in_chat(message.workspace, message.chat, &message.id),
        })
    }

    /// What was stored of a message of a surface, if it was.
    pub async fn stored_message(
        &self,
        surface: &str,
        speaker: &Speaker,
        id: &MessageId,
    ) -> Result<Option<InboxItem>, Fault> {
        self.stored_in(surface, &speaker.conversation, (speaker.workspace, speaker.chat), id).await
    }

    /// The same of a message that was said in a conversation, whoever said it.
    pub(crate) async fn stored_in(
        &self,
        surface: &str,
        conversation: &Conversation,
        (workspace, chat): (WorkspaceId, ChatId),
        id: &MessageId,
    ) -> Result<Option<InboxItem>, Fault> {
        if conversation.kind == ConversationKind::Lobby {
            let key = known_in_lobby(conversation, id);
            if let Some(item) = self.control.store().inbox().stored_before(surface, &key).await? {
                return Ok(Some(item));
            }
        }
        let key = known_in_chat(workspace, chat, id);
        Ok(self.control.store().inbox().stored_before(surface, &key).await?)
    }

    /// The receipt of a message that was stored before.
    async fn again(&self, surface: &'static str, item: &InboxItem) -> Result<Receipt, InboxError> {
        self.control.metrics().duplicate(surface);
        self.control.chats().turn_lobby_now(item).await?;
        self.control.cells().poke((item.workspace, item.chat), Poke::Inbox);
        Ok(Receipt { turn: TurnId::of_trigger(&item.trigger()?), duplicate: true })
    }

    fn most_open(&self, ownership: Ownership, urgent: bool) -> MostOpen {
        let more = if urgent { URGENT_HEADROOM } else { 0 };
        let in_workspace = self.control.work().max_unanswered;
        let of_person = share(ownership, usize::try_from(in_workspace).unwrap_or(0));
        MostOpen {
            of_person: i64::try_from(of_person).unwrap_or(i64::MAX).saturating_add(more),
            in_workspace: in_workspace.saturating_add(more),
            in_all: self.control.inner.limiter.options().unanswered.saturating_add(more),
        }
    }

    /// As long as turns have taken lately, for each that must be answered first.
    fn answered_after(&self, over: i64) -> Duration {
        let turn = self.control.metrics().recent_turn_median().unwrap_or(USUAL_TURN);
        let turns = u32::try_from(over.clamp(0, 60) + 1).unwrap_or(1);
        turn.saturating_mul(turns).min(LONGEST_WAIT)
    }

    /// Starts a chat's context anew.
    pub(crate) async fn clear_chat(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        chat: ChatId,
        key: &str,
    ) -> Result<(), Fault> {
        self.control.store().chats().chat(workspace, chat).await?;
        self.control.store().inbox().clear(actor, (workspace, chat), key).await?;
        self.control.cells().poke((workspace, chat), Poke::Inbox);
        Ok(())
    }

    /// Starts a chat's context anew, for who administers it.
    pub async fn clear_chat_now(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<(), Fault> {
        let key = crate::tasks::random_name().map_err(Fault::io("no key could be made"))?;
        self.clear_chat(actor, workspace, chat, &key).await
    }

    /// Attachments are what an upload put into this chat's `incoming/`, and nothing else.
    fn known_attachments(&self, message: &IncomingMessage) -> Result<Vec<Attachment>, InboxError> {
        let place = format!("chats/{}/incoming/", message.chat);
        let mut known = Vec::new();
        if message.attachments.is_empty() {
            return Ok(known);
        }
        let tree = self
            .control
            .layout()
            .tree(message.workspace)
            .map_err(Fault::io("the workspace could not be opened"))?;
        for attachment in &message.attachments {
            let path = RelPath::parse(&attachment.path)?;
            if !path.as_str().starts_with(&place) {
                return Err(InboxRefusal::NotSentHere { path: attachment.path.clone() }.into());
            }
            let file = tree.read(&path)?;
            let size = file.metadata().map(|meta| meta.len()).unwrap_or(0);
            known.push(Attachment {
                path: path.as_str().to_owned(),
                name: path.file_name().to_owned(),
                mime: crate::inbox::mime_of(path.file_name()),
                size,
            });
        }
        Ok(known)
    }
}

fn check_size(message: &IncomingMessage) -> Result<(), InboxRefusal> {
    if message.text.len() > MAX_TEXT_BYTES {
        return Err(InboxRefusal::TextTooLong { bytes: message.text.len() });
    }
    if message.attachments.len() > MAX_ATTACHMENTS {
        return Err(InboxRefusal::TooManyFiles);
    }
    if message.text.trim().is_empty() && message.attachments.is_empty() {
        return Err(InboxRefusal::Empty);
    }
    Ok(())
}

fn known_in_chat(workspace: WorkspaceId, chat: ChatId, id: &MessageId) -> String {
    format!("{workspace}:{chat}:{id}")
}

fn known_in_lobby(lobby: &Conversation, id: &MessageId) -> String {
    format!("{}:lobby{}:{id}", lobby.workspace, lobby.id.number())
}

/// The id that the client gave a message, from its inbox row.
pub(crate) fn client_id(row: &InboxItem) -> Option<MessageId> {
    match row.cause {
        Cause::Message { .. } => row.external_id.splitn(3, ':').nth(2)?.parse().ok(),
        Cause::TasksEnded { .. } | Cause::Clear => None,
    }
}
