//! The agents of a workspace: the first one, who is whom the workspace's own documents make it, and others, each with
//! its own documents, memory, skills, models and chats in the same cell.
//!
//! Promises: an agent is shown its own documents and chats and nothing of the others; a removed one keeps all that it
//! had, and nobody talks with it until it is taken back.

mod error;
mod naming;

use cloister_protocol::{AgentId, ChatId, Language, WorkspaceId};
use cloister_store::agents::{Agent, AgentChange};
use cloister_store::chats::Chat;
use cloister_store::listing::folded;
use cloister_store::{Actor, StoreError};
use cloister_words::say;

pub use error::{AgentError, AgentRefusal};
pub(crate) use naming::{MAX_NAME_CHARS, checked_name};

use crate::control::part;
use crate::error::Fault;
use crate::layout::AGENTS_FOLDER;

part! {
    /// The agents of workspaces.
    pub struct Agents;
}

/// An agent, as people know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownAgent {
    pub id: AgentId,
    /// Empty: the first one, that nobody named.
    pub name: String,
    pub removed: bool,
}

impl KnownAgent {
    /// What it is called in somebody's language.
    pub fn called(&self, to: Language) -> String {
        if self.name.is_empty() { say!(to, "the first agent") } else { self.name.clone() }
    }

    /// Whether somebody means it by this.
    fn is_meant(&self, said: &str) -> bool {
        let names = !self.name.is_empty() && folded(&self.name) == folded(said);
        names || said.to_lowercase() == self.id.to_string()
    }
}

impl From<Agent> for KnownAgent {
    fn from(agent: Agent) -> Self {
        Self { id: agent.id, name: agent.name, removed: agent.removed }
    }
}

/// An agent that is to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewAgent<'a> {
    pub name: &'a str,
    /// What it is, and how it should be; empty: as the first one began.
    pub manner: &'a str,
}

impl Agents {
    /// As many as there may be in one workspace.
    pub fn most(&self) -> u32 {
        self.control.users().agents.max(1)
    }

    /// Those of a workspace, the first one first, also those that were removed.
    pub async fn all(&self, workspace: WorkspaceId) -> Result<Vec<KnownAgent>, Fault> {
        let name = self.control.config().agent_name(workspace).unwrap_or_default();
        let mut agents = vec![KnownAgent { id: AgentId::FIRST, name, removed: false }];
        let others = self.control.store().agents().of(workspace).await?;
        agents.extend(others.into_iter().map(KnownAgent::from));
        Ok(agents)
    }

    /// Those that are not removed.
    pub async fn of(&self, workspace: WorkspaceId) -> Result<Vec<KnownAgent>, Fault> {
        let mut agents = self.all(workspace).await?;
        agents.retain(|agent| !agent.removed);
        Ok(agents)
    }

    /// The one that is meant: by its name, whatever its capital letters, or by its number.
    pub async fn find(&self, workspace: WorkspaceId, said: &str) -> Result<KnownAgent, AgentError> {
        let found = self.of(workspace).await?.into_iter().find(|agent| agent.is_meant(said.trim()));
        found.ok_or_else(|| AgentRefusal::NoAgent { said: shown(said) }.into())
    }

    /// The same, and if there is none, among those that were removed.
    pub async fn find_ever(
        &self,
        workspace: WorkspaceId,
        said: &str,
    ) -> Result<KnownAgent, AgentError> {
        let meant = self.all(workspace).await?.into_iter().filter(|a| a.is_meant(said.trim()));
        let (there, removed): (Vec<_>, Vec<_>) = meant.partition(|agent| !agent.removed);
        let found = there.into_iter().chain(removed.into_iter().rev()).next();
        found.ok_or_else(|| AgentRefusal::NoAgent { said: shown(said) }.into())
    }

    /// The same of those that were removed, the one removed last first.
    async fn find_removed(
        &self,
        workspace: WorkspaceId,
        said: &str,
    ) -> Result<KnownAgent, AgentError> {
        let all = self.all(workspace).await?.into_iter().rev();
        let found = all.filter(|agent| agent.removed).find(|agent| agent.is_meant(said.trim()));
        found.ok_or_else(|| AgentRefusal::NotRemoved { said: shown(said) }.into())
    }

    /// Where the documents of an agent are, below its workspace; empty: there itself.
    pub fn folder(&self, agent: AgentId) -> String {
        if agent.is_first() { String::new() } else { format!("{AGENTS_FOLDER}/{agent}") }
    }

    pub(crate) async fn agent_of_chat(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<AgentId, Fault> {
        Ok(self.control.store().chats().agent_of_chat(workspace, chat).await?)
    }

    pub async fn named(
        &self,
        workspace: WorkspaceId,
        agent: AgentId,
    ) -> Result<KnownAgent, AgentError> {
        let found = self.all(workspace).await?.into_iter().find(|known| known.id == agent);
        found.ok_or_else(|| AgentRefusal::NoAgent { said: agent.to_string() }.into())
    }

    /// The agent of a chat, or the first one if that was removed: with whom a chat is opened from there.
    pub(crate) async fn of_new_chats_from(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<KnownAgent, AgentError> {
        let agent = self.agent_of_chat(workspace, chat).await?;
        match self.named(workspace, agent).await? {
            known if known.removed => self.named(workspace, AgentId::FIRST).await,
            known => Ok(known),
        }
    }

    /// Makes an agent and its documents. With a key, the same key again makes no second one.
    pub async fn add(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        new: NewAgent<'_>,
        key: Option<&str>,
    ) -> Result<KnownAgent, AgentError> {
        let name = checked_name(new.name)?;
        self.require_not_first(workspace, &name).await?;
        let most = self.most();
        let made = self.control.store().agents().add(actor, workspace, (&name, most), key).await;
        let id = made.map_err(|error| self.refused(error, &name))?;
        let config = self.control.config();
        // What was written by an earlier try, or since, stays.
        if !config.has_soul(workspace, id)? {
            let manner = Some(new.manner).filter(|manner| !manner.trim().is_empty());
            config.write_soul(actor, (workspace, id), &name, manner).await?;
        }
        Ok(KnownAgent { id, name, removed: false })
    }

    /// Gives an agent another name, in its documents, too.
    pub async fn rename(
        &self,
        actor: &Actor,
        (workspace, agent): (WorkspaceId, AgentId),
        name: &str,
        key: Option<&str>,
    ) -> Result<KnownAgent, AgentError> {
        let name = checked_name(name)?;
        if !agent.is_first() {
            self.require_not_first(workspace, &name).await?;
            let change = AgentChange::Rename(&name);
            self.change(actor, (workspace, agent), change, (&name, key)).await?;
            self.control.surfaces().chats_changed();
        }
        self.control.config().write_soul(actor, (workspace, agent), &name, None).await?;
        Ok(KnownAgent { id: agent, name, removed: false })
    }

    /// Removes an agent: its tasks end, its chats are put away. Its files stay.
    pub async fn remove(
        &self,
        actor: &Actor,
        (workspace, agent): (WorkspaceId, AgentId),
        key: Option<&str>,
    ) -> Result<(), AgentError> {
        if agent.is_first() {
            return Err(AgentRefusal::FirstStays.into());
        }
        self.change(actor, (workspace, agent), AgentChange::Remove, ("", key)).await?;
        let chats = self.control.chats().of(workspace).await?;
        for chat in chats.into_iter().filter(|chat| chat.agent == agent) {
            self.control.tasks().cancel_tasks(actor, workspace, Some(chat.id)).await?;
        }
        self.control.surfaces().chats_changed();
        Ok(())
    }

    /// Takes back an agent that was removed, and takes out again the chats that were put away with it.
    pub async fn restore(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        said: &str,
        key: Option<&str>,
    ) -> Result<KnownAgent, AgentError> {
        let known = match self.done_before(workspace, key).await? {
            Some(agent) => self.named(workspace, agent).await?,
            None => self.find_removed(workspace, said).await?,
        };
        self.require_not_first(workspace, &known.name).await?;
        let change = AgentChange::Restore { most: self.most() };
        self.change(actor, (workspace, known.id), change, (&known.name, key)).await?;
        self.control.surfaces().chats_changed();
        Ok(KnownAgent { removed: false, ..known })
    }

    /// The agent that a request was about, if it was carried out before.
    pub(crate) async fn done_before(
        &self,
        workspace: WorkspaceId,
        key: Option<&str>,
    ) -> Result<Option<AgentId>, Fault> {
        match key {
            Some(key) => Ok(self.control.store().agents().of_request(workspace, key).await?),
            None => Ok(None),
        }
    }

    /// Makes what a coordinator of an agent is to read, and shows it to the cell. The first one's is the workspace's own.
    pub(crate) async fn prepare(
        &self,
        workspace: WorkspaceId,
        agent: AgentId,
    ) -> Result<(), Fault> {
        if agent.is_first() {
            return Ok(());
        }
        let failed = "the documents of an agent could not be prepared";
        let control = self.control.clone();
        let prepared = tokio::task::spawn_blocking(move || -> Result<(), Fault> {
            for file in control.layout().prepare_agent(workspace, agent)? {
                control.backend().show(workspace, &file).map_err(Fault::io(failed))?;
            }
            Ok(())
        })
        .await;
        prepared.map_err(Fault::interrupted(failed))?
    }

    /// What an agent is called, where there are others.
    pub(crate) async fn one_of_several(
        &self,
        workspace: WorkspaceId,
        agent: AgentId,
        to: Language,
    ) -> Result<Option<String>, Fault> {
        let agents = self.of(workspace).await?;
        let found = agents.iter().find(|known| known.id == agent && agents.len() > 1);
        Ok(found.map(|known| known.called(to)))
    }

    /// Its chats that are not put away.
    pub async fn chats(
        &self,
        workspace: WorkspaceId,
        agent: AgentId,
    ) -> Result<Vec<ChatId>, Fault> {
        let chats = self.control.store().chats().of(workspace).await?;
        let its = chats.into_iter().filter(|chat| chat.agent == agent && !chat.archived);
        Ok(its.map(|chat| chat.id).collect())
    }

    /// A chat's title, with its agent's name if that is not the first one and it does not say so itself.
    pub(crate) async fn title_of(
        &self,
        workspace: WorkspaceId,
        chat: &Chat,
    ) -> Result<String, StoreError> {
        if chat.agent.is_first() {
            return Ok(chat.title.clone());
        }
        let agents = self.control.store().agents().of(workspace).await?;
        let its = agents.into_iter().find(|agent| agent.id == chat.agent);
        let name = its.map(|agent| agent.name).unwrap_or_default();
        Ok(match chat.title.as_str() {
            "" => name,
            title if title == name => name,
            title => format!("{title} ({name})"),
        })
    }

    /// Refuses to take a chat out again whose agent was removed.
    pub async fn require_answers(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<(), AgentError> {
        let agent = self.agent_of_chat(workspace, chat).await?;
        match self.named(workspace, agent).await? {
            KnownAgent { removed: true, name, .. } => Err(AgentRefusal::Removed { name }.into()),
            KnownAgent { .. } => Ok(()),
        }
    }

    async fn change(
        &self,
        actor: &Actor,
        agent: (WorkspaceId, AgentId),
        change: AgentChange<'_>,
        (name, key): (&str, Option<&str>),
    ) -> Result<(), AgentError> {
        let changed = self.control.store().agents().change(actor, agent, change, key).await;
        changed.map_err(|error| self.refused(error, name))
    }

    /// The first one's name is in its documents alone.
    async fn require_not_first(
        &self,
        workspace: WorkspaceId,
        name: &str,
    ) -> Result<(), AgentError> {
        match self.control.config().agent_name(workspace) {
            Some(first) if folded(&first) == folded(name) => {
                Err(AgentRefusal::Taken { name: name.to_owned() }.into())
            }
            Some(_) | None => Ok(()),
        }
    }

    /// What the database refuses, as people are told it.
    fn refused(&self, error: StoreError, name: &str) -> AgentError {
        match error {
            StoreError::Exists { .. } => AgentRefusal::Taken { name: name.to_owned() }.into(),
            StoreError::TooMany { .. } => AgentRefusal::TooMany { most: self.most() }.into(),
            error => Fault::from(error).into(),
        }
    }
}

/// What somebody said, as it may stand in a sentence.
fn shown(said: &str) -> String {
    said.chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect()
}

#[cfg(test)]
#[path = "agents_tests.rs"]
mod tests;
