//! The methods of the Bot API that are called, with what is said in each, and nothing else.
//!
//! What comes back is for who asks: each reads of a result what it looks at.

use serde::Serialize;

/// A method; its fields are what is told.
pub(crate) trait Method: Serialize {
    const NAME: &'static str;
}

macro_rules! methods {
    ($($name:ident = $said:literal),* $(,)?) => {
        $(impl Method for $name {
            const NAME: &'static str = $said;
        })*
    };
}

methods! {
    AnswerCallbackQuery = "answerCallbackQuery",
    CreateForumTopic = "createForumTopic",
    DeleteWebhook = "deleteWebhook",
    EditForumTopic = "editForumTopic",
    EditMessageText = "editMessageText",
    GetFile = "getFile",
    GetMe = "getMe",
    GetUpdates = "getUpdates",
    GetWebhookInfo = "getWebhookInfo",
    SendChatAction = "sendChatAction",
    SendMessage = "sendMessage",
    SendMessageDraft = "sendMessageDraft",
    SetMyCommands = "setMyCommands",
    SetWebhook = "setWebhook",
}

#[derive(Serialize)]
pub(crate) struct GetMe {}

#[derive(Serialize)]
pub(crate) struct GetUpdates {
    pub(crate) limit: u32,
    /// How long an answer may be held back, in seconds.
    pub(crate) timeout: u64,
    pub(crate) allowed_updates: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offset: Option<i64>,
}

#[derive(Serialize)]
pub(crate) struct GetWebhookInfo {}

#[derive(Serialize)]
pub(crate) struct SetWebhook {
    pub(crate) url: String,
    pub(crate) secret_token: String,
    pub(crate) max_connections: u32,
    pub(crate) allowed_updates: &'static [&'static str],
    pub(crate) drop_pending_updates: bool,
}

#[derive(Serialize)]
pub(crate) struct DeleteWebhook {
    pub(crate) drop_pending_updates: bool,
}

#[derive(Serialize)]
pub(crate) struct GetFile {
    pub(crate) file_id: String,
}

#[derive(Serialize)]
pub(crate) struct SendMessage {
    pub(crate) chat_id: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message_thread_id: Option<i32>,
    pub(crate) text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) entities: Vec<Entity>,
    pub(crate) link_preview_options: LinkPreview,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reply_parameters: Option<Reply>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reply_markup: Option<Keyboard>,
}

#[derive(Serialize)]
pub(crate) struct EditMessageText {
    pub(crate) chat_id: i64,
    pub(crate) message_id: i32,
    pub(crate) text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) entities: Vec<Entity>,
    pub(crate) link_preview_options: LinkPreview,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reply_markup: Option<Keyboard>,
}

#[derive(Serialize)]
pub(crate) struct SendMessageDraft {
    pub(crate) chat_id: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message_thread_id: Option<i32>,
    pub(crate) draft_id: i32,
    pub(crate) text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) entities: Vec<Entity>,
    /// The app shows a button for that; a server that does not know it leaves it out.
    pub(crate) can_stop: bool,
}

#[derive(Serialize)]
pub(crate) struct SendChatAction {
    pub(crate) chat_id: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message_thread_id: Option<i32>,
    pub(crate) action: Action,
}

#[derive(Serialize)]
pub(crate) struct AnswerCallbackQuery {
    pub(crate) callback_query_id: String,
    pub(crate) text: String,
    pub(crate) show_alert: bool,
}

#[derive(Serialize)]
pub(crate) struct CreateForumTopic {
    pub(crate) chat_id: i64,
    pub(crate) name: String,
}

#[derive(Serialize)]
pub(crate) struct EditForumTopic {
    pub(crate) chat_id: i64,
    pub(crate) message_thread_id: i32,
    pub(crate) name: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct SetMyCommands {
    pub(crate) commands: Vec<Command>,
    pub(crate) scope: CommandScope,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) language_code: Option<&'static str>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Command {
    pub(crate) command: String,
    pub(crate) description: String,
}

/// Where commands are offered.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "type")]
pub(crate) enum CommandScope {
    #[serde(rename = "all_private_chats")]
    Private,
    #[serde(rename = "all_group_chats")]
    Groups,
    #[serde(rename = "all_chat_administrators")]
    Administrators,
}

/// What a bot is shown to be doing.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    Typing,
    UploadPhoto,
    UploadVoice,
    UploadVideo,
    UploadDocument,
}

/// What some characters of a text are, counted in units of UTF-16.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Entity {
    #[serde(rename = "type")]
    pub(crate) kind: EntityKind,
    pub(crate) offset: u16,
    pub(crate) length: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) language: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EntityKind {
    Bold,
    Italic,
    Strikethrough,
    Code,
    Pre,
    TextLink,
    Blockquote,
    ExpandableBlockquote,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct LinkPreview {
    pub(crate) is_disabled: bool,
}

/// Which message is answered.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Reply {
    pub(crate) message_id: i32,
    pub(crate) allow_sending_without_reply: bool,
}

/// What can be pressed below a message, by rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Keyboard {
    pub(crate) inline_keyboard: Vec<Vec<KeyboardButton>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct KeyboardButton {
    pub(crate) text: String,
    pub(crate) callback_data: String,
}

#[cfg(test)]
#[path = "methods_tests.rs"]
mod tests;
