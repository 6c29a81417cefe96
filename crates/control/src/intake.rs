//! The way in: a message is stored, then acknowledged, then its cell is woken.

use cloister_protocol::link::Cause;
use cloister_protocol::{
    Attachment, ChatId, ErrorCode, MAX_ATTACHMENTS, MAX_TEXT_BYTES, MessageId, TurnId, UserName,
    WorkspaceId,
};
use cloister_store::inbox::{Inbound, InboxItem, Taken};

use crate::cells::Poke;
use crate::control::Control;
use crate::error::ControlError;
use crate::files::RelPath;

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
}

/// A stored message.
#[derive(Clone, Debug)]
pub struct Receipt {
    pub turn: TurnId,
    pub duplicate: bool,
}

impl Control {
    /// Stores a message and wakes the cell that answers it.
    pub async fn receive(&self, message: IncomingMessage) -> Result<Receipt, ControlError> {
        if self.stopping() {
            return Err(ControlError::with_fix(
                ErrorCode::ShuttingDown,
                "the control plane is stopping; the message was not taken",
                "send it again in a moment",
            ));
        }
        check_size(&message)?;
        let attachments = self.known_attachments(&message)?;
        let inbound = Inbound {
            source: message.surface.to_owned(),
            external_id: format!("{}:{}:{}", message.workspace, message.chat, message.id),
            workspace: message.workspace,
            chat: message.chat,
            cause: Cause::Message {
                from: message.from.to_string(),
                text: message.text,
                attachments,
            },
        };
        let accepted = match self.store().take_message(inbound, self.work().max_unanswered).await? {
            Taken::Stored(accepted) => accepted,
            Taken::Archived => {
                return Err(ControlError::with_fix(
                    ErrorCode::Conflict,
                    format!("chat {} is archived", message.chat),
                    format!("open it again with `cloister chats archive {} --undo`", message.chat),
                ));
            }
            Taken::TooMany(waiting) => {
                return Err(ControlError::with_fix(
                    ErrorCode::Busy,
                    format!("{waiting} messages wait for an answer already"),
                    "try again in 10 s",
                ));
            }
        };
        self.poke(message.workspace, Poke::Inbox);
        Ok(Receipt {
            turn: TurnId::of_trigger(&accepted.item.trigger()?),
            duplicate: accepted.duplicate,
        })
    }

    /// Starts a chat's context anew.
    pub(crate) async fn clear_chat(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        key: &str,
    ) -> Result<(), ControlError> {
        self.store().chat(workspace, chat).await?;
        let inbound = Inbound {
            source: "clear".to_owned(),
            external_id: format!("{workspace}:{chat}:{key}"),
            workspace,
            chat,
            cause: Cause::Clear,
        };
        self.store().accept(inbound).await?;
        self.poke(workspace, Poke::Inbox);
        Ok(())
    }

    /// Starts a chat's context anew, for the operator.
    pub async fn clear_chat_now(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<(), ControlError> {
        let key =
            crate::sending::random_name().map_err(ControlError::io("no key could be made"))?;
        self.clear_chat(workspace, chat, &key).await
    }

    pub fn cancel_turn(&self, workspace: WorkspaceId, turn: TurnId) {
        self.poke(workspace, Poke::CancelTurn(turn));
    }

    /// Attachments are what an upload put into this chat's `incoming/`, and nothing else.
    fn known_attachments(
        &self,
        message: &IncomingMessage,
    ) -> Result<Vec<Attachment>, ControlError> {
        let place = format!("chats/{}/incoming/", message.chat);
        let mut known = Vec::new();
        if message.attachments.is_empty() {
            return Ok(known);
        }
        let tree = self
            .layout()
            .tree(message.workspace)
            .map_err(ControlError::io("the workspace could not be opened"))?;
        for attachment in &message.attachments {
            let path = RelPath::parse(&attachment.path)?;
            if !path.as_str().starts_with(&place) {
                return Err(ControlError::with_fix(
                    ErrorCode::BadRequest,
                    format!("{:?} is not a file that was sent to this chat", attachment.path),
                    "upload it first, and use the path that the upload answers with",
                ));
            }
            let file = tree.read(&path)?;
            let size = file.metadata().map(|meta| meta.len()).unwrap_or(0);
            known.push(Attachment {
                path: path.as_str().to_owned(),
                name: path.file_name().to_owned(),
                mime: crate::uploads::mime_of(path.file_name()),
                size,
            });
        }
        Ok(known)
    }
}

fn check_size(message: &IncomingMessage) -> Result<(), ControlError> {
    if message.text.len() > MAX_TEXT_BYTES {
        return Err(ControlError::with_fix(
            ErrorCode::TooLarge,
            format!(
                "the text has {} bytes; at most {MAX_TEXT_BYTES} are taken",
                message.text.len()
            ),
            "send it as a file",
        ));
    }
    if message.attachments.len() > MAX_ATTACHMENTS {
        return Err(ControlError::refused(
            ErrorCode::TooLarge,
            format!("at most {MAX_ATTACHMENTS} files can come with one message"),
        ));
    }
    if message.text.trim().is_empty() && message.attachments.is_empty() {
        return Err(ControlError::refused(ErrorCode::BadRequest, "the message is empty"));
    }
    Ok(())
}

/// The id that the client gave a message, from its inbox row.
pub(crate) fn client_id(row: &InboxItem) -> Option<MessageId> {
    match row.cause {
        Cause::Message { .. } => row.external_id.splitn(3, ':').nth(2)?.parse().ok(),
        Cause::TasksEnded { .. } | Cause::Clear => None,
    }
}
