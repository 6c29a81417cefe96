//! Commands about chats, and the changes of chats that every surface has to show.

use cloister_policy::engine::{ChatCall, Request, WorkspaceCall};
use cloister_protocol::{ChatId, Language, TurnId, WorkspaceId};
use cloister_store::Actor;
use cloister_store::chats::{Chat, NewChat};
use cloister_store::connectors::ConnectorId;
use cloister_store::conversations::ConversationKind;
use cloister_store::inbox::{InboxItem, InboxState};
use cloister_store::listing::{Finds, ListedChat};
use cloister_store::tasks::Task;
use cloister_words::{noted, say};
use ref_cast::RefCast;

mod branching;

pub(crate) use branching::BeingMade;
pub use branching::Branching;

use super::Verb;
use super::run::who;
use super::run::{Here, line};
use crate::agents::{AgentError, Agents};
use crate::commands::{CommandError, CommandRefusal};
use crate::control::part;
use crate::error::Fault;

/// The longest chat title.
const MAX_TITLE_CHARS: usize = 80;

/// How chats are shown on a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shows {
    /// Each in a room.
    Rooms,
    /// Each in a topic of the person's conversation.
    Topics,
    /// One at a time, in the conversation itself.
    One,
    /// Others read along: each in a topic or thread that people open.
    Threads,
}

part! {
    /// The chats: made, named, shown, archived.
    pub struct Chats;
}

impl Chats {
    /// The agents that chats are with.
    pub fn agents(&self) -> &Agents {
        Agents::ref_cast(&self.control)
    }

    /// The first chat of a workspace exists from its first use.
    pub async fn ensure_first_chat(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
    ) -> Result<(), Fault> {
        Ok(self.control.store().chats().ensure_first_chat(actor, workspace).await?)
    }

    pub async fn chat(&self, workspace: WorkspaceId, chat: ChatId) -> Result<Chat, Fault> {
        Ok(self.control.store().chats().chat(workspace, chat).await?)
    }

    pub async fn of(&self, workspace: WorkspaceId) -> Result<Vec<Chat>, Fault> {
        Ok(self.control.store().chats().of(workspace).await?)
    }

    /// The chats of a workspace as a person finds them again.
    pub async fn listed(&self, workspace: WorkspaceId) -> Result<Vec<ListedChat>, Fault> {
        Ok(self.control.store().chats().listed(workspace).await?)
    }

    /// Keeps a chat at the top of the list, or no more.
    pub async fn pin_chat(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        chat: ChatId,
        pinned: bool,
    ) -> Result<Chat, Fault> {
        Ok(self.control.store().chats().pin_chat(actor, workspace, chat, pinned).await?)
    }

    /// What was said and told in a workspace with these words in it, newest first.
    pub async fn find_words(
        &self,
        workspace: WorkspaceId,
        words: &str,
        count: u32,
    ) -> Result<Finds, Fault> {
        Ok(self.control.store().chats().find_words(workspace, words, count).await?)
    }

    /// The tasks that turns of a chat began.
    pub async fn tasks_of_turns(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        turns: &[TurnId],
    ) -> Result<Vec<Task>, Fault> {
        Ok(self.control.store().tasks().of_turns(workspace, chat, turns).await?)
    }

    /// Makes a chat for web and terminal.
    pub async fn new_chat(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        new: impl Into<NewChat<'_>>,
        key: Option<&str>,
    ) -> Result<Chat, Fault> {
        let chat = self.control.store().chats().new_chat(actor, workspace, new, key).await?;
        self.control.surfaces().chats_changed();
        Ok(chat)
    }

    /// Names a chat; what shows it is to show that.
    pub async fn rename_chat(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        chat: ChatId,
        title: &str,
    ) -> Result<Chat, Fault> {
        let chat = self.control.store().chats().rename_chat(actor, workspace, chat, title).await?;
        self.control.surfaces().chats_changed();
        Ok(chat)
    }

    /// Puts a chat away or takes it out again, unless its agent is removed; what shows it is to show that.
    pub async fn archive_chat(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        chat: ChatId,
        archived: bool,
    ) -> Result<Chat, AgentError> {
        if !archived {
            self.agents().require_answers(workspace, chat).await?;
        }
        let store = self.control.store().chats();
        let done = store.archive_chat(actor, workspace, chat, archived).await;
        let chat = done.map_err(Fault::from)?;
        self.control.surfaces().chats_changed();
        Ok(chat)
    }

    /// `/new [title]`
    pub(super) async fn new_chat_command(
        &self,
        row: &InboxItem,
        here: &Here,
        rest: &str,
    ) -> Result<String, CommandError> {
        let agent = self.agents().of_new_chats_from(row.workspace, row.chat).await?;
        let title = &title(rest);
        self.open_chat(row, here, NewChat { title, agent: agent.id, context: None }).await
    }

    /// Makes a chat and shows it to who asked, as chats are shown there. A message opens one.
    pub(super) async fn open_chat(
        &self,
        row: &InboxItem,
        here: &Here,
        new: NewChat<'_>,
    ) -> Result<String, CommandError> {
        self.administers_if_shared(
            here,
            noted!(
                "others use this conversation too: a new chat is opened only by who administers it"
            ),
        )?;
        let key = row.id.to_string();
        let Some(conversation) = &here.conversation else {
            let chat = self.new_chat(&who(row), row.workspace, new, Some(&key)).await?;
            return Ok(say!(here.to, "{chat} is open.", chat = chat.id));
        };
        let shows = self.shows_chats(here).await?;
        let (chats, actor) = (self.control.store().chats(), who(row));
        let chat = match shows {
            Shows::One => {
                let lobby = conversation.id;
                chats.new_chat_in_lobby(&actor, row.workspace, new, &key, lobby).await?
            }
            Shows::Rooms | Shows::Topics => {
                let room = (conversation.connector, here.by);
                chats.new_chat_with_room(&actor, row.workspace, new, &key, room).await?
            }
            Shows::Threads => {
                return Err(CommandRefusal::ChatsAreThreads.into());
            }
        };
        self.control.surfaces().chats_changed();
        let (to, chat) = (here.to, named(&chat));
        Ok(match shows {
            Shows::One => say!(
                to,
                "{chat} is shown here from now on, and takes what you write. {sign}chats goes back to another.",
                chat,
                sign = here.sign()
            ),
            Shows::Rooms => {
                say!(to, "{chat}: its room is being opened, and you are invited to it.", chat)
            }
            Shows::Topics | Shows::Threads => {
                say!(to, "{chat}: a topic is being opened for it.", chat)
            }
        })
    }

    /// `/chats C1`
    pub(super) async fn show_chat_command(
        &self,
        row: &InboxItem,
        here: &Here,
        rest: &str,
    ) -> Result<String, CommandError> {
        let id: ChatId = rest.to_uppercase().parse()?;
        let unknown = CommandRefusal::NoChat { id };
        if here.is_shared() && id != row.chat {
            return Err(unknown.into());
        }
        let chat = match self.control.store().chats().chat(row.workspace, id).await {
            Ok(chat) => chat,
            Err(cloister_store::StoreError::NotFound { .. }) => return Err(unknown.into()),
            Err(error) => return Err(error.into()),
        };
        let place = self.control.people().place_of_chat(row.workspace, id).await?;
        self.control.people().require(&Request::chat(&here.person, ChatCall::Read, &place, id))?;
        let Some(lobby) = here.conversation.as_ref() else {
            let shown = self.shown_on(row.workspace, &chat, here).await?;
            let chat = format!("{}{shown}", named(&chat));
            return Ok(say!(here.to, "{chat}. It is opened from the list of chats.", chat));
        };
        let shows = self.shows_chats(here).await?;
        if shows != Shows::One {
            let shown = self.shown_on(row.workspace, &chat, here).await?;
            if shows == Shows::Threads && shown.is_empty() && !here.is_shared() {
                let sign = here.sign();
                return Ok(say!(
                    here.to,
                    "{chat} is in no topic: {sign}chats {id} in our conversation outside of the topics shows it.",
                    chat = named(&chat),
                    sign,
                    id
                ));
            }
            let called = format!("{}{shown}", named(&chat));
            return match shows {
                Shows::One | Shows::Threads => Ok(has_its_own(here.to, &called)),
                Shows::Rooms | Shows::Topics => {
                    Ok(self.where_shown(row, here, (lobby.connector, &chat), &called).await?)
                }
            };
        }
        self.control.store().chats().show_in_lobby(lobby.id, id, &row.id.to_string()).await?;
        let sign = here.sign();
        let (to, called) = (here.to, named(&chat));
        Ok(if chat.archived {
            say!(
                to,
                "{chat} is shown here from now on, and takes what you write. It is archived: {sign}archive undo opens it again.",
                chat = called,
                sign
            )
        } else {
            say!(to, "{chat} is shown here from now on, and takes what you write.", chat = called)
        })
    }

    /// What is said of the conversation that a chat has, or should have: never that it is there when it is not.
    async fn where_shown(
        &self,
        row: &InboxItem,
        here: &Here,
        (connector, chat): (ConnectorId, &Chat),
        called: &str,
    ) -> Result<String, Fault> {
        let to = here.to;
        if here.is_shared() || chat.id == row.chat {
            return Ok(has_its_own(to, called));
        }
        let room = self
            .control
            .store()
            .conversations()
            .room_of_chat(connector, (row.workspace, chat.id))
            .await?;
        let sign = here.sign();
        Ok(match room {
            _ if chat.archived => {
                let id = chat.id;
                say!(
                    to,
                    "{chat} is archived: {sign}archive {id} undo opens it again.",
                    chat = called,
                    sign,
                    id
                )
            }
            Some(room) => match (&room.external_id, &room.broken) {
                (Some(_), None) => {
                    if self.shows_chats(here).await? == Shows::Topics {
                        self.point_to(row, chat, here.to).await?;
                    }
                    has_its_own(to, called)
                }
                (None, None) => is_opened(to, called),
                (_, Some(why)) => say!(
                    to,
                    "{chat} has a conversation of its own that can't be used now ({why}). If you left it you are invited \
                     back, and if it is gone another one is opened.",
                    chat = called,
                    why
                ),
            },
            None => {
                self.control
                    .store()
                    .conversations()
                    .want_rooms(connector, here.by, row.workspace)
                    .await?;
                self.control.surfaces().chats_changed();
                is_opened(to, called)
            }
        })
    }

    /// Says in a topic that this is its chat. Nobody tells us of a topic that was deleted: this finds it out, and
    /// another one is made.
    async fn point_to(&self, row: &InboxItem, chat: &Chat, to: Language) -> Result<(), Fault> {
        let text = say!(to, "This is {chat}, which you asked for.", chat = named(chat));
        let key = format!("here-{}", row.id);
        self.control.notices().tell_once(row.workspace, chat.id, &key, text).await
    }

    async fn shown_on(
        &self,
        workspace: WorkspaceId,
        chat: &Chat,
        here: &Here,
    ) -> Result<String, Fault> {
        if here.is_shared() {
            return Ok(String::new());
        }
        let shown = self.control.store().chats().shown_chats(workspace).await?;
        let on: Vec<String> = shown
            .into_iter()
            .filter(|shown| shown.chat == chat.id)
            .map(|shown| shown.surface)
            .collect();
        Ok(if on.is_empty() { String::new() } else { format!(" [{}]", on.join("; ")) })
    }

    /// How the chats of who writes are shown where they write.
    pub(super) async fn shows_chats(&self, here: &Here) -> Result<Shows, Fault> {
        let Some(conversation) = &here.conversation else { return Ok(Shows::Rooms) };
        if here.customs.room_per_chat {
            return Ok(Shows::Rooms);
        }
        Ok(match conversation.kind {
            ConversationKind::Shared => Shows::Threads,
            ConversationKind::Room | ConversationKind::Lobby => {
                let home =
                    self.control.store().chats().home(conversation.connector, here.by).await?;
                match (home, conversation.kind) {
                    (Some(_), _) => Shows::Topics,
                    (None, ConversationKind::Lobby) => Shows::One,
                    // No topics are made there any more: those that are there stay what they are.
                    (None, _) => Shows::Threads,
                }
            }
        })
    }

    /// What turns a lobby has its effect before the next message is looked at, which is for the chat that is
    /// shown by then. The command itself says so later, and does nothing twice.
    pub(crate) async fn turn_lobby_now(&self, row: &InboxItem) -> Result<(), CommandError> {
        let Some(typed) = super::of(row) else { return Ok(()) };
        let turns = match typed.verb {
            Some(Verb::New) => true,
            Some(Verb::Chats) => !typed.rest.is_empty(),
            Some(Verb::Agent) => super::agents::goes_somewhere(&typed.rest),
            Some(_) | None => false,
        };
        if !turns || row.conversation.is_none() || row.state == InboxState::Answered {
            return Ok(());
        }
        let here = self.control.commands().here(row).await?;
        let is_lobby =
            here.conversation.as_ref().is_some_and(|c| c.kind == ConversationKind::Lobby);
        if is_lobby && self.shows_chats(&here).await? == Shows::One {
            // What can't be done is said by the command.
            if let Err(error) = self.control.commands().answer_command(row, &here, &typed).await {
                tracing::debug!(error = error.chain(), "a lobby is not turned");
            }
        }
        Ok(())
    }

    /// `/rename TITLE`
    pub(super) async fn rename_command(
        &self,
        row: &InboxItem,
        here: &Here,
        rest: &str,
    ) -> Result<String, CommandError> {
        let title = title(rest);
        if title.is_empty() {
            return Err(CommandRefusal::NoTitle { sign: here.sign() }.into());
        }
        let chat = self.rename_chat(&who(row), row.workspace, row.chat, &title).await?;
        Ok(say!(here.to, "{chat} is now “{title}”.", chat = chat.id, title = chat.title))
    }

    /// `/archive [C1] [undo]`
    pub(super) async fn archive_command(
        &self,
        row: &InboxItem,
        here: &Here,
        rest: &str,
    ) -> Result<String, CommandError> {
        let (mut chat, mut archived) = (row.chat, true);
        for word in rest.split_whitespace() {
            if word.eq_ignore_ascii_case("undo") {
                archived = false;
            } else {
                chat = word.to_uppercase().parse()?;
            }
        }
        self.administers_if_shared(
            here,
            noted!("others use this conversation too: a chat is put away or taken out only by who administers it"),
        )?;
        if chat != row.chat {
            let place = self.control.people().place_of_chat(row.workspace, chat).await?;
            self.control.people().require(&Request::chat(
                &here.person,
                ChatCall::Change,
                &place,
                chat,
            ))?;
        }
        let changed = self.archive_chat(&who(row), row.workspace, chat, archived).await?.id;
        if !archived {
            return Ok(say!(here.to, "{chat} is open again.", chat = changed));
        }
        let kind = here.conversation.as_ref().map(|conversation| conversation.kind);
        let (to, sign) = (here.to, here.sign());
        Ok(match kind.filter(|_| chat == row.chat) {
            None => say!(to, "{chat} is archived. Its files and history stay.", chat = changed),
            Some(ConversationKind::Room) => say!(
                to,
                "{chat} is archived. Its files and history stay. This room stays readable; {sign}archive undo opens it again.",
                chat = changed,
                sign
            ),
            Some(ConversationKind::Lobby | ConversationKind::Shared) => say!(
                to,
                "{chat} is archived. Its files and history stay. What was said stays readable; {sign}archive undo opens it again.",
                chat = changed,
                sign
            ),
        })
    }

    /// `/chats`
    pub(super) async fn list_chats(&self, row: &InboxItem, here: &Here) -> Result<String, Fault> {
        let chats = self.listed(row.workspace).await?;
        let shown = self.control.store().chats().shown_chats(row.workspace).await?;
        let (mut text, to) = (String::new(), here.to);
        let one = self.shows_chats(here).await? == Shows::One;
        let told = |one: &&ListedChat| !here.is_shared() || one.chat.id == row.chat;
        for listed in chats.iter().filter(told).filter(|one| !one.chat.archived) {
            let chat = &listed.chat;
            let is_here = chat.id == row.chat;
            let here = if is_here { format!(" ({})", say!(to, "here")) } else { String::new() };
            let on = shown.iter().filter(|shown| shown.chat == chat.id).map(|shown| {
                let coming = if shown.made { None } else { Some(say!(to, "being opened")) };
                let coming = coming.map(|coming| format!(", {coming}")).unwrap_or_default();
                format!("{}{coming}", shown.surface)
            });
            let on: Vec<String> = on.collect();
            let on = if on.is_empty() { String::new() } else { format!(" [{}]", on.join("; ")) };
            let title = name_of(listed);
            line(&mut text, &format!("{} {title}{on}{here}", chat.id));
        }
        let away = chats.iter().filter(told).filter(|one| one.chat.archived);
        let away: Vec<String> = away.map(|one| one.chat.id.to_string()).collect();
        if let Some(one) = away.first() {
            let (list, sign) = (away.join(", "), here.sign());
            line(
                &mut text,
                &say!(
                    to,
                    "Archived: {list}. {sign}archive {one} undo opens one again.",
                    list,
                    sign,
                    one
                ),
            );
        }
        if one {
            let sign = here.sign();
            let hint = say!(to, "{sign}chats C1 shows one here, {sign}new opens another.", sign);
            line(&mut text, &hint);
        }
        Ok(text)
    }

    /// Where others read along, only who administers the community changes which chats there are, and who
    /// answers in them.
    pub(super) fn administers_if_shared(
        &self,
        here: &Here,
        noted: &'static str,
    ) -> Result<(), CommandRefusal> {
        if !here.is_shared() {
            return Ok(());
        }
        let call = WorkspaceCall::ChangeSettings;
        self.control.people().require(&Request::workspace(&here.person, call, &here.place)).map_err(
            |refused| {
                tracing::debug!(
                    error = refused.chain(),
                    "a command in a shared conversation is refused"
                );
                CommandRefusal::OthersUseIt { noted }
            },
        )
    }
}

/// A chat by its number and name.
pub(super) fn named(chat: &Chat) -> String {
    match chat.title.as_str() {
        "" => chat.id.to_string(),
        title => format!("{} “{title}”", chat.id),
    }
}

fn has_its_own(to: Language, chat: &str) -> String {
    say!(to, "{chat} has a conversation of its own: write there.", chat)
}

fn is_opened(to: Language, chat: &str) -> String {
    say!(to, "{chat} has no conversation yet: it is being opened.", chat)
}

/// What a chat is called in a list, with its agent's name if that is not the first one and it does not say so itself.
fn name_of(listed: &ListedChat) -> String {
    let (called, agent) = (listed.called(), listed.agent_name.as_str());
    if listed.chat.agent.is_first() {
        return called;
    }
    if called.is_empty() { agent.to_owned() } else { format!("{called} ({agent})") }
}

/// A title as it is kept.
pub(crate) fn title(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control())
        .take(MAX_TITLE_CHARS)
        .collect::<String>()
        .trim()
        .to_owned()
}

#[cfg(test)]
#[path = "lobbies_tests.rs"]
mod tests;
