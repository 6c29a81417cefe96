//! `/agent`: which agents there are, going to one, making, renaming and removing one.

use cloister_policy::engine::{Request, WorkspaceCall};
use cloister_protocol::ChatId;
use cloister_store::chats::NewChat;
use cloister_store::inbox::InboxItem;
use cloister_store::listing::ListedChat;
use cloister_words::{count, noted, say};
use ref_cast::RefCast;

use super::offering::label;
use super::run::{Here, line, who};
use crate::agents::{KnownAgent, NewAgent};
use crate::commands::{CommandError, CommandRefusal, Commands};
use crate::control::part;
use crate::error::Fault;
use crate::surfaces::Button;

/// The most agents that get buttons.
const MOST_AGENTS: usize = 10;

/// What was typed behind `/agent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish<'a> {
    List,
    GoTo(&'a str),
    New {
        name: &'a str,
        manner: &'a str,
    },
    /// Without a name, the agent of this chat.
    Rename {
        agent: Option<&'a str>,
        name: &'a str,
    },
    Remove(&'a str),
    Restore(&'a str),
}

impl<'a> Wish<'a> {
    fn read(rest: &'a str) -> Result<Self, CommandRefusal> {
        let (word, behind) = first_word(rest);
        let one_name = |text: &'a str| match first_word(text) {
            (name, "") if !name.is_empty() => Ok(name),
            _ => Err(CommandRefusal::AgentWhat),
        };
        Ok(match word.to_lowercase().as_str() {
            "" | "list" => Self::List,
            "new" | "add" => match first_word(behind) {
                ("", _) => return Err(CommandRefusal::AgentWhat),
                (name, manner) => Self::New { name, manner },
            },
            "rename" => match first_word(behind) {
                ("", _) => return Err(CommandRefusal::AgentWhat),
                (name, "") => Self::Rename { agent: None, name },
                (agent, rest) => Self::Rename { agent: Some(agent), name: one_name(rest)? },
            },
            "restore" => Self::Restore(one_name(behind)?),
            "rm" | "remove" => match first_word(behind) {
                (name, undo) if undo.eq_ignore_ascii_case("undo") && !name.is_empty() => {
                    Self::Restore(name)
                }
                (name, "") if !name.is_empty() => Self::Remove(name),
                _ => return Err(CommandRefusal::AgentWhat),
            },
            _ => Self::GoTo(rest.trim()),
        })
    }
}

fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim())
}

/// Whether it shows another chat where one is shown at a time.
pub(super) fn goes_somewhere(rest: &str) -> bool {
    matches!(Wish::read(rest), Ok(Wish::GoTo(_) | Wish::New { .. }))
}

part! {
    /// `/agent`, carried out.
    pub(super) struct AgentCommands;
}

impl Commands {
    pub(super) fn agents(&self) -> &AgentCommands {
        AgentCommands::ref_cast(&self.control)
    }
}

impl AgentCommands {
    pub(super) async fn agent_command(
        &self,
        row: &InboxItem,
        here: &Here,
        rest: &str,
    ) -> Result<String, CommandError> {
        match Wish::read(rest)? {
            Wish::List => Ok(self.list_agents(row, here).await?),
            Wish::GoTo(said) => {
                let agent = self.control.chats().agents().find(row.workspace, said).await?;
                self.go_to_agent(row, here, &agent).await
            }
            Wish::New { name, manner } => self.new_agent(row, here, (name, manner)).await,
            Wish::Rename { agent, name } => self.rename_agent(row, here, (agent, name)).await,
            Wish::Remove(said) => self.remove_agent(row, here, said).await,
            Wish::Restore(said) => self.restore_agent(row, here, said).await,
        }
    }

    async fn list_agents(&self, row: &InboxItem, here: &Here) -> Result<String, Fault> {
        let (agents, to, p) = (self.control.chats().agents(), here.to, here.sign());
        let all = agents.all(row.workspace).await?;
        let chats = self.control.chats().listed(row.workspace).await?;
        let this = chats.iter().find(|one| one.chat.id == row.chat).map(|one| one.chat.agent);
        let (there, removed): (Vec<_>, Vec<_>) = all.into_iter().partition(|agent| !agent.removed);
        let most = agents.most();
        let mut text = count!(
            to,
            there.len(),
            "{n} agent, of at most {most}:",
            "{n} agents, of at most {most}:",
            most
        );
        for agent in &there {
            let is_its = |one: &&ListedChat| one.chat.agent == agent.id && !one.chat.archived;
            let its = chats.iter().filter(is_its);
            // Where others read along, which chats there are is not told.
            let its = its.filter(|one| !here.is_shared() || one.chat.id == row.chat);
            let its: Vec<String> = its.map(called).collect();
            let its = if its.is_empty() { String::new() } else { format!(": {}", its.join(", ")) };
            let name = agent.called(to);
            let is_here = this == Some(agent.id);
            let here = if is_here { format!(" ({})", say!(to, "here")) } else { String::new() };
            line(&mut text, &format!("{} {name}{its}{here}", agent.id));
        }
        if let Some(one) = removed.last() {
            let names: Vec<&str> = removed.iter().map(|agent| agent.name.as_str()).collect();
            let (list, name) = (names.join(", "), one.name.as_str());
            line(
                &mut text,
                &say!(
                    to,
                    "Removed: {list}. {p}agent rm {name} undo takes one back.",
                    list,
                    p,
                    name
                ),
            );
        }
        line(
            &mut text,
            &say!(to, "{p}agent NAME goes to one, {p}agent new NAME makes another.", p),
        );
        Ok(text)
    }

    /// Leads to the chat of an agent that was spoken in last; to a new one if there is none.
    async fn go_to_agent(
        &self,
        row: &InboxItem,
        here: &Here,
        agent: &KnownAgent,
    ) -> Result<String, CommandError> {
        let store = self.control.store();
        let name = agent.called(here.to);
        if store.chats().agent_of_chat(row.workspace, row.chat).await? == agent.id
            && !store.chats().chat(row.workspace, row.chat).await?.archived
        {
            return Ok(say!(here.to, "{name} is whom you talk with in this chat.", name));
        }
        let made = store.agents().chat_made_by(row.workspace, &row.id.to_string()).await?;
        let latest = store.agents().latest_chat(row.workspace, agent.id).await?;
        match latest.filter(|_| made.is_none()) {
            Some(chat) => {
                let there = self.show_agents_chat(row, here, chat).await?;
                Ok(say!(here.to, "{name}: {there}", name, there))
            }
            None => self.open_agents_chat(row, here, agent).await,
        }
    }

    async fn show_agents_chat(
        &self,
        row: &InboxItem,
        here: &Here,
        chat: ChatId,
    ) -> Result<String, CommandError> {
        if !here.is_shared() {
            return self.control.chats().show_chat_command(row, here, &chat.to_string()).await;
        }
        // Which other chats there are is told to nobody else.
        self.control.chats().administers_if_shared(
            here,
            noted!(
                "others use this conversation too: who answers in it is decided by who administers it"
            ),
        )?;
        Ok(chat.to_string())
    }

    async fn open_agents_chat(
        &self,
        row: &InboxItem,
        here: &Here,
        agent: &KnownAgent,
    ) -> Result<String, CommandError> {
        let request = Request::workspace(&here.person, WorkspaceCall::CreateChat, &here.place);
        self.control.people().require(&request)?;
        let new = NewChat { agent: agent.id, ..NewChat::default() };
        let there = self.control.chats().open_chat(row, here, new).await?;
        Ok(say!(here.to, "{name}: {there}", name = agent.called(here.to), there))
    }

    async fn new_agent(
        &self,
        row: &InboxItem,
        here: &Here,
        (name, manner): (&str, &str),
    ) -> Result<String, CommandError> {
        self.may_change_agents(here)?;
        let new = NewAgent { name, manner };
        let key = row.id.to_string();
        let agents = self.control.chats().agents();
        let agent = agents.add(&who(row), row.workspace, new, Some(&key)).await?;
        self.open_agents_chat(row, here, &agent).await
    }

    async fn rename_agent(
        &self,
        row: &InboxItem,
        here: &Here,
        (agent, name): (Option<&str>, &str),
    ) -> Result<String, CommandError> {
        self.may_change_agents(here)?;
        let agents = self.control.chats().agents();
        let key = row.id.to_string();
        let known = match (agents.done_before(row.workspace, Some(&key)).await?, agent) {
            (Some(agent), _) => agents.named(row.workspace, agent).await?,
            (None, Some(said)) => agents.find(row.workspace, said).await?,
            (None, None) => {
                let chats = self.control.store().chats();
                let agent = chats.agent_of_chat(row.workspace, row.chat).await?;
                agents.named(row.workspace, agent).await?
            }
        };
        let agent = (row.workspace, known.id);
        let renamed = agents.rename(&who(row), agent, name, Some(&key)).await?;
        Ok(say!(here.to, "{id} is called {name} now.", id = known.id, name = renamed.name))
    }

    async fn remove_agent(
        &self,
        row: &InboxItem,
        here: &Here,
        said: &str,
    ) -> Result<String, CommandError> {
        self.may_change_agents(here)?;
        let agents = self.control.chats().agents();
        let key = row.id.to_string();
        let known = match agents.done_before(row.workspace, Some(&key)).await? {
            Some(agent) => agents.named(row.workspace, agent).await?,
            None => agents.find(row.workspace, said).await?,
        };
        agents.remove(&who(row), (row.workspace, known.id), Some(&key)).await?;
        Ok(say!(
            here.to,
            "{name} is removed: its chats are archived, its tasks ended. Its files stay where they are; \
             {p}agent rm {name} undo takes it back, with its chats.",
            name = known.name,
            p = here.sign()
        ))
    }

    async fn restore_agent(
        &self,
        row: &InboxItem,
        here: &Here,
        said: &str,
    ) -> Result<String, CommandError> {
        self.may_change_agents(here)?;
        let key = row.id.to_string();
        let agents = self.control.chats().agents();
        let known = agents.restore(&who(row), row.workspace, said, Some(&key)).await?;
        Ok(say!(here.to, "{name} is back, with its chats.", name = known.name))
    }

    /// One for each agent but that of this chat, wherever it leads to their chat.
    pub(super) async fn agent_buttons(
        &self,
        row: &InboxItem,
        here: &Here,
    ) -> Result<Vec<Button>, Fault> {
        if here.is_shared() {
            return Ok(Vec::new());
        }
        let this = self.control.store().chats().agent_of_chat(row.workspace, row.chat).await?;
        let agents = self.control.chats().agents().of(row.workspace).await?;
        let others = agents.into_iter().filter(|agent| agent.id != this).take(MOST_AGENTS);
        let button = |agent: KnownAgent| {
            let called = label(&agent.called(here.to), "");
            Button::command(called, format!("/agent {}", agent.id))
        };
        Ok(others.map(button).collect())
    }

    /// Who an agent is, is its owner's to say; of a community's, who administers it.
    fn may_change_agents(&self, here: &Here) -> Result<(), CommandError> {
        let call = WorkspaceCall::ChangeIdentity;
        self.control.chats().administers_if_shared(
            here,
            noted!(
                "others use this conversation too: its agents are changed only by who administers it"
            ),
        )?;
        Ok(self.control.people().require(&Request::workspace(&here.person, call, &here.place))?)
    }
}

/// A chat by its number and what it is called.
fn called(listed: &ListedChat) -> String {
    match listed.called() {
        called if called.is_empty() => listed.chat.id.to_string(),
        called => format!("{} “{called}”", listed.chat.id),
    }
}
