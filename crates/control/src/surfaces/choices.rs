//! What somebody may choose from while they type: chats, tasks and open questions, of their own or of the
//! community whose conversation they type in.

use cloister_policy::engine::{ChatCall, Ownership, Person, Place, Request, WorkspaceCall};
use cloister_protocol::{ChatId, TaskState, UserId, WorkspaceId};
use cloister_store::connectors::ConnectorId;
use cloister_store::contexts;
use cloister_store::conversations::ConversationKind;

use super::words::short;
use crate::control::Control;
use crate::error::ControlError;

/// The most that is offered at once.
const MOST_CHOICES: usize = 25;
/// How many tasks are looked at.
const TASKS_LOOKED_AT: u32 = 200;
/// The longest label.
const LONGEST_LABEL: usize = 90;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChoiceKind {
    Chats,
    Tasks,
    Approvals,
}

/// One thing to choose: what is typed for it, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub value: String,
    pub label: String,
}

/// Where somebody types: a conversation of a connector, as the surface knows it.
#[derive(Clone, Copy, Debug)]
pub struct TypedIn<'a> {
    pub connector: ConnectorId,
    pub conversation: &'a str,
    /// Between that person and the agent alone.
    pub private: bool,
}

/// What is chosen from.
struct Offer {
    workspace: WorkspaceId,
    person: Person,
    place: Place,
    /// Where others read along: the chat that is shown there.
    shared: Option<ChatId>,
}

impl Control {
    /// What the person behind an account may choose from where they type, if the label or the value has what they
    /// typed: by themselves from what is their own, where others read along from what is there, as the commands
    /// take it. Nobody's account chooses from nothing, nor does anybody where nothing is connected.
    pub async fn choices(
        &self,
        (by_surface, by): (&str, &str),
        typed_in: TypedIn<'_>,
        kind: ChoiceKind,
        typed: &str,
    ) -> Result<Vec<Choice>, ControlError> {
        let Some(identity) = self.store().identity(by_surface, by).await? else {
            return Ok(Vec::new());
        };
        let Some(offer) = self.offer(by_surface, identity.user, typed_in).await? else {
            return Ok(Vec::new());
        };
        let call = match kind {
            ChoiceKind::Chats => WorkspaceCall::ListChats,
            ChoiceKind::Tasks => WorkspaceCall::ListTasks,
            ChoiceKind::Approvals => WorkspaceCall::ListApprovals,
        };
        self.require(&Request::workspace(&offer.person, call, &offer.place))?;
        let all = match kind {
            ChoiceKind::Chats => self.chat_choices(&offer).await?,
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
    ) -> Result<Option<Offer>, ControlError> {
        let person = self.person(user).await?;
        let known = self.store().conversation(typed_in.connector, typed_in.conversation).await?;
        if typed_in.private {
            if known.is_some_and(|known| known.user != Some(user)) {
                return Ok(None);
            }
            let workspace = self.store().user_by_id(user).await?.workspace;
            let place = self.place(workspace).await?;
            return Ok(Some(Offer { workspace, person, place, shared: None }));
        }
        let shown = match known {
            Some(known) if known.kind == ConversationKind::Shared => {
                Some((known.workspace, known.chat))
            }
            Some(_) => None,
            None => {
                let (surface, id) = (surface.to_owned(), typed_in.conversation.to_owned());
                let there = contexts::Conversation { surface, id };
                let context = self.store().context_of(&there).await?;
                context.and_then(|context| Some((context.workspace, context.chat?)))
            }
        };
        let Some((workspace, chat)) = shown else { return Ok(None) };
        let place = self.place_of_chat(workspace, chat).await?;
        let reads = Request::chat(&person, ChatCall::Read, &place, chat);
        // What is a person's own is never offered where others read along, nor is what they may not read.
        if matches!(place.ownership, Ownership::Private { .. }) || self.require(&reads).is_err() {
            return Ok(None);
        }
        Ok(Some(Offer { workspace, person, place, shared: Some(chat) }))
    }

    /// Where others read along: the chat there, and for who administers the community the others of that context.
    async fn chat_choices(&self, offer: &Offer) -> Result<Vec<Choice>, ControlError> {
        let mut chats = self.store().chats(offer.workspace).await?;
        chats.retain(|chat| !chat.archived);
        if let Some(here) = offer.shared {
            let call = WorkspaceCall::ChangeSettings;
            let all = self.require(&Request::workspace(&offer.person, call, &offer.place)).is_ok();
            let mut offered = Vec::new();
            for chat in chats {
                if chat.id == here || all && self.is_beside(offer, chat.id).await? {
                    offered.push(chat);
                }
            }
            chats = offered;
        }
        Ok(chats.iter().rev().map(|chat| choice(chat.id, &chat.title)).collect())
    }

    /// Whether a chat is in the same context, and may be changed by who chooses.
    async fn is_beside(&self, offer: &Offer, chat: ChatId) -> Result<bool, ControlError> {
        let place = self.place_of_chat(offer.workspace, chat).await?;
        let changes = Request::chat(&offer.person, ChatCall::Change, &place, chat);
        Ok(place.context == offer.place.context && self.require(&changes).is_ok())
    }

    /// Those that are open first, the newest of each first.
    async fn task_choices(&self, offer: &Offer) -> Result<Vec<Choice>, ControlError> {
        let mut tasks = self.store().tasks(offer.workspace, TASKS_LOOKED_AT).await?;
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

    async fn approval_choices(&self, offer: &Offer) -> Result<Vec<Choice>, ControlError> {
        let pending = self.store().pending_approvals(offer.workspace).await?;
        let here = pending.iter().filter(|asked| offer.has(asked.chat));
        Ok(here.map(|asked| choice(asked.id, &asked.title)).collect())
    }
}

impl Offer {
    fn has(&self, chat: ChatId) -> bool {
        self.shared.is_none_or(|here| here == chat)
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
