//! What somebody may choose from while they type: chats, tasks and open questions, of their own or of the
//! community whose conversation they type in.

use cloister_policy::engine::{ChatCall, Ownership, Person, Place, Request, WorkspaceCall};
pub use cloister_protocol::surface::{Choice, ChoiceKind};
use cloister_protocol::{ChatId, TaskState, UserId, WorkspaceId};
use cloister_store::connectors::ConnectorId;
use cloister_store::contexts;
use cloister_store::conversations::ConversationKind;

use super::words::short;
use crate::error::Fault;
use crate::surfaces::{SurfaceError, Surfaces};

/// The most that is offered at once.
const MOST_CHOICES: usize = 25;
/// How many tasks are looked at.
const TASKS_LOOKED_AT: u32 = 200;
/// The longest label.
const LONGEST_LABEL: usize = 90;

/// Where somebody types: a conversation of a connector, as the surface knows it.
#[derive(Clone, Copy, Debug)]
pub struct TypedIn<'a> {
    pub connector: ConnectorId,
    pub conversation: &'a str,
    /// The conversation that it is a thread of.
    pub thread_of: Option<&'a str>,
    /// Between that person and the agent alone.
    pub private: bool,
}

/// What is chosen from.
struct Offer {
    workspace: WorkspaceId,
    person: Person,
    place: Place,
    from: Whose,
}

/// Whose things are offered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// Those of the person who types.
    Own,
    /// Others read along: those of the chat that is shown there. None where a thread becomes one with the first
    /// thing that is said in it: until then there is nothing in it.
    Chat(Option<ChatId>),
}

impl Surfaces {
    /// What the person behind an account may choose from where they type, if the label or the value has what they
    /// typed: by themselves from what is their own, where others read along from what is there, as the commands
    /// take it. Nobody's account chooses from nothing, nor does anybody where nothing is connected.
    pub async fn choices(
        &self,
        (by_surface, by): (&str, &str),
        typed_in: TypedIn<'_>,
        kind: ChoiceKind,
        typed: &str,
    ) -> Result<Vec<Choice>, SurfaceError> {
        let Some(identity) = self.control.store().users().identity(by_surface, by).await? else {
            return Ok(Vec::new());
        };
        let Some(offer) = self.offer(by_surface, identity.user, typed_in).await? else {
            return Ok(Vec::new());
        };
        let call = match kind {
            ChoiceKind::Chats | ChoiceKind::ToArchive => WorkspaceCall::ListChats,
            ChoiceKind::Tasks => WorkspaceCall::ListTasks,
            ChoiceKind::Approvals => WorkspaceCall::ListApprovals,
        };
        self.control.people().require(&Request::workspace(&offer.person, call, &offer.place))?;
        let all = match kind {
            ChoiceKind::Chats => self.chat_choices(&offer).await?,
            ChoiceKind::ToArchive => self.archive_choices(&offer).await?,
            ChoiceKind::Tasks => self.task_choices(&offer).await?,
            ChoiceKind::Approvals => self.approval_choices(&offer).await?,
        };
        let typed = typed.trim().to_lowercase();
        let fits = |choice: &Choice| choice.label.to_lowercase().contains(&typed);
        Ok(all.into_iter().filter(fits).take(MOST_CHOICES).collect())
    }

    /// What there is to choose from; none: nothing.
    async fn offer(
        &self,
        surface: &str,
        user: UserId,
        typed_in: TypedIn<'_>,
    ) -> Result<Option<Offer>, SurfaceError> {
        let person = self.control.people().person(user).await?;
        let known = self
            .control
            .store()
            .conversations()
            .conversation(typed_in.connector, typed_in.conversation)
            .await?;
        if typed_in.private {
            if known.is_some_and(|known| known.user != Some(user)) {
                return Ok(None);
            }
            let workspace = self.control.store().users().user_by_id(user).await?.workspace;
            let place = self.control.people().place(workspace).await?;
            return Ok(Some(Offer { workspace, person, place, from: Whose::Own }));
        }
        let shown = match known {
            Some(known) if known.kind == ConversationKind::Shared => {
                Some((known.workspace, known.chat, Whose::Chat(Some(known.chat))))
            }
            Some(_) => None,
            None => match self.connected(surface, typed_in.conversation).await? {
                Some((workspace, chat)) => Some((workspace, chat, Whose::Chat(Some(chat)))),
                None => {
                    let around = typed_in.thread_of.unwrap_or_default();
                    let around = self.connected(surface, around).await?;
                    around.map(|(workspace, chat)| (workspace, chat, Whose::Chat(None)))
                }
            },
        };
        let Some((workspace, chat, from)) = shown else { return Ok(None) };
        let place = self.control.people().place_of_chat(workspace, chat).await?;
        let reads = Request::chat(&person, ChatCall::Read, &place, chat);
        // What is a person's own is never offered where others read along, nor is what they may not read.
        if matches!(place.ownership, Ownership::Private { .. })
            || self.control.people().require(&reads).is_err()
        {
            return Ok(None);
        }
        Ok(Some(Offer { workspace, person, place, from }))
    }

    /// The workspace and the chat that a conversation was connected to.
    async fn connected(
        &self,
        surface: &str,
        id: &str,
    ) -> Result<Option<(WorkspaceId, ChatId)>, Fault> {
        let there = contexts::Conversation { surface: surface.to_owned(), id: id.to_owned() };
        let context = self.control.store().chats().context_of(&there).await?;
        Ok(context.and_then(|context| Some((context.workspace, context.chat?))))
    }

    async fn chat_choices(&self, offer: &Offer) -> Result<Vec<Choice>, Fault> {
        let chats = self.control.store().chats().of(offer.workspace).await?;
        let open = chats.iter().rev().filter(|chat| !chat.archived && offer.has(chat.id));
        Ok(open.map(|chat| choice(chat.id, &chat.title)).collect())
    }

    /// Where others read along: for who administers the community, those of that context. What is put away already
    /// comes last.
    async fn archive_choices(&self, offer: &Offer) -> Result<Vec<Choice>, SurfaceError> {
        let call = WorkspaceCall::ChangeSettings;
        let administers = Request::workspace(&offer.person, call, &offer.place);
        if offer.from != Whose::Own && self.control.people().require(&administers).is_err() {
            return Ok(Vec::new());
        }
        let mut chats = self.control.store().chats().of(offer.workspace).await?;
        chats.reverse();
        chats.sort_by_key(|chat| chat.archived);
        let mut offered = Vec::new();
        for chat in chats {
            if offer.has(chat.id) || self.is_beside(offer, chat.id).await? {
                let away = if chat.archived { " (archived)" } else { "" };
                let title = short(&chat.title, LONGEST_LABEL - 30);
                offered.push(choice(chat.id, &format!("{title}{away}")));
            }
        }
        Ok(offered)
    }

    /// Whether a chat is in the same context, and may be changed by who chooses.
    async fn is_beside(&self, offer: &Offer, chat: ChatId) -> Result<bool, SurfaceError> {
        let place = self.control.people().place_of_chat(offer.workspace, chat).await?;
        let changes = Request::chat(&offer.person, ChatCall::Change, &place, chat);
        Ok(place.context == offer.place.context && self.control.people().require(&changes).is_ok())
    }

    /// Those that are open first, the newest of each first.
    async fn task_choices(&self, offer: &Offer) -> Result<Vec<Choice>, Fault> {
        let mut tasks = self.control.store().tasks().list(offer.workspace, TASKS_LOOKED_AT).await?;
        tasks.retain(|task| offer.has(task.chat));
        tasks.sort_by_key(|task| (task.state.is_final(), std::cmp::Reverse(task.id.number())));
        let named = tasks.iter().map(|task| {
            let state = match task.state {
                TaskState::Done => String::new(),
                state => format!(" ({})", state.as_str()),
            };
            choice(task.id, &format!("{}{state}", short(&task.title, LONGEST_LABEL - 30)))
        });
        Ok(named.collect())
    }

    async fn approval_choices(&self, offer: &Offer) -> Result<Vec<Choice>, Fault> {
        let pending = self.control.store().approvals().pending_approvals(offer.workspace).await?;
        let here = pending.iter().filter(|asked| offer.has(asked.chat));
        Ok(here.map(|asked| choice(asked.id, &asked.title)).collect())
    }
}

impl Offer {
    fn has(&self, chat: ChatId) -> bool {
        match self.from {
            Whose::Own => true,
            Whose::Chat(here) => here == Some(chat),
        }
    }
}

fn choice(id: impl ToString, title: &str) -> Choice {
    let value = id.to_string();
    let title: String = title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let label = match title.trim() {
        "" => value.clone(),
        title => short(&format!("{value} · {title}"), LONGEST_LABEL),
    };
    Choice { value, label }
}

#[cfg(test)]
#[path = "choices_tests.rs"]
mod tests;
