//! Commands about chats, and the changes of chats that every surface has to show.

use cloister_policy::engine::{ChatCall, Request, WorkspaceCall};
use cloister_protocol::{ChatId, ErrorCode, WorkspaceId};
use cloister_store::chats::Chat;
use cloister_store::conversations::ConversationKind;
use cloister_store::inbox::InboxItem;

use super::run::{Here, line};
use crate::control::Control;
use crate::error::ControlError;

/// The longest chat title.
const MAX_TITLE_CHARS: usize = 80;

impl Control {
    /// Makes a chat for web and terminal.
    pub async fn new_chat(
        &self,
        workspace: WorkspaceId,
        title: &str,
        key: Option<&str>,
    ) -> Result<Chat, ControlError> {
        let chat = self.store().new_chat(workspace, title, key).await?;
        self.chats_changed();
        Ok(chat)
    }

    /// Names a chat; what shows it is to show that.
    pub async fn rename_chat(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        title: &str,
    ) -> Result<Chat, ControlError> {
        let chat = self.store().rename_chat(workspace, chat, title).await?;
        self.chats_changed();
        Ok(chat)
    }

    /// Puts a chat away or takes it out again; what shows it is to show that.
    pub async fn archive_chat(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        archived: bool,
    ) -> Result<Chat, ControlError> {
        let chat = self.store().archive_chat(workspace, chat, archived).await?;
        self.chats_changed();
        Ok(chat)
    }

    /// `/new [title]`
    pub(super) async fn new_chat_command(
        &self,
        row: &InboxItem,
        here: &Here,
        rest: &str,
    ) -> Result<String, ControlError> {
        self.administers_if_shared(here, "a new chat is opened")?;
        let key = row.id.to_string();
        let Some(conversation) = &here.conversation else {
            let chat = self.new_chat(row.workspace, &title(rest), Some(&key)).await?;
            return Ok(format!("{} is open.", chat.id));
        };
        let room = (conversation.connector, here.by);
        let chat = self.store().new_chat_with_room(row.workspace, &title(rest), &key, room).await?;
        self.chats_changed();
        let named =
            if chat.title.is_empty() { String::new() } else { format!(" “{}”", chat.title) };
        Ok(format!("{}{named}: its room is being opened, and you are invited to it.", chat.id))
    }

    /// `/rename TITLE`
    pub(super) async fn rename_command(
        &self,
        row: &InboxItem,
        here: &Here,
        rest: &str,
    ) -> Result<String, ControlError> {
        let title = title(rest);
        if title.is_empty() {
            let message = format!("say the new title: {}rename TITLE", here.sign());
            return Err(ControlError::refused(ErrorCode::BadRequest, message));
        }
        let chat = self.rename_chat(row.workspace, row.chat, &title).await?;
        Ok(format!("{} is now “{}”.", chat.id, chat.title))
    }

    /// `/archive [C1] [undo]`
    pub(super) async fn archive_command(
        &self,
        row: &InboxItem,
        here: &Here,
        rest: &str,
    ) -> Result<String, ControlError> {
        let (mut chat, mut archived) = (row.chat, true);
        for word in rest.split_whitespace() {
            if word.eq_ignore_ascii_case("undo") {
                archived = false;
            } else {
                chat = word.to_uppercase().parse()?;
            }
        }
        self.administers_if_shared(here, "a chat is put away or taken out")?;
        if chat != row.chat {
            let place = self.place_of_chat(row.workspace, chat).await?;
            self.require(&Request::chat(&here.person, ChatCall::Change, &place, chat))?;
        }
        let changed = self.archive_chat(row.workspace, chat, archived).await?.id;
        if !archived {
            return Ok(format!("{changed} is open again."));
        }
        let kind = here.conversation.as_ref().map(|conversation| conversation.kind);
        let stays = match kind.filter(|_| chat == row.chat) {
            None => String::new(),
            Some(ConversationKind::Room) => {
                format!(" This room stays readable; {}archive undo opens it again.", here.sign())
            }
            Some(ConversationKind::Door | ConversationKind::Shared) => {
                format!(
                    " What was said stays readable; {}archive undo opens it again.",
                    here.sign()
                )
            }
        };
        Ok(format!("{changed} is archived. Its files and history stay.{stays}"))
    }

    /// `/chats`
    pub(super) async fn list_chats(
        &self,
        row: &InboxItem,
        here: &Here,
    ) -> Result<String, ControlError> {
        let chats = self.store().chats(row.workspace).await?;
        let shown = self.store().shown_chats(row.workspace).await?;
        let mut text = String::new();
        let listed = |chat: &&Chat| !chat.archived && (!here.is_shared() || chat.id == row.chat);
        for chat in chats.iter().filter(listed) {
            let here = if chat.id == row.chat { " (here)" } else { "" };
            let on = shown.iter().filter(|shown| shown.chat == chat.id).map(|shown| {
                let coming = if shown.made { "" } else { ", being opened" };
                format!("{}{coming}", shown.surface)
            });
            let on: Vec<String> = on.collect();
            let on = if on.is_empty() { String::new() } else { format!(" [{}]", on.join("; ")) };
            line(&mut text, &format!("{} {}{on}{here}", chat.id, chat.title));
        }
        let away = chats.iter().filter(|chat| chat.archived);
        let away = away.filter(|chat| !here.is_shared() || chat.id == row.chat);
        let away: Vec<String> = away.map(|chat| chat.id.to_string()).collect();
        if let Some(one) = away.first() {
            let (list, sign) = (away.join(", "), here.sign());
            line(
                &mut text,
                &format!("Archived: {list}. {sign}archive {one} undo opens one again."),
            );
        }
        Ok(text)
    }

    /// Where others read along, only who administers the community changes which chats there are.
    fn administers_if_shared(&self, here: &Here, what: &str) -> Result<(), ControlError> {
        if !here.is_shared() {
            return Ok(());
        }
        let call = WorkspaceCall::ChangeSettings;
        self.require(&Request::workspace(&here.person, call, &here.place)).map_err(|refused| {
            tracing::debug!(
                error = refused.chain(),
                "a command in a shared conversation is refused"
            );
            ControlError::with_fix(
                ErrorCode::Forbidden,
                format!("others use this conversation too: {what} only by who administers it"),
                "write to me in a conversation of your own for a chat of your own",
            )
        })
    }
}

fn title(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control())
        .take(MAX_TITLE_CHARS)
        .collect::<String>()
        .trim()
        .to_owned()
}
