//! Who the agent is and what it knows of the person: `SOUL.md` and `USER.md`, as the guided start
//! reads and writes them.
//!
//! The files are the person's own; the control plane alone writes them, and every change is a version.
//! What is there is shown before it is replaced, and what does not fit is left alone.

use std::collections::BTreeMap;
use std::io::{self, Read};

use cloister_protocol::admin::{Identity, IdentityChange};
use cloister_protocol::{AgentId, WorkspaceId};
use cloister_store::Actor;
use cloister_store::agents::Agent;
use cloister_store::listing::folded;
use cloister_store::tokens::token_hash;

use crate::config::{Config, ConfigError, ConfigRefusal, ConfigScope};
use crate::error::Fault;
use crate::files::{FileError, RelPath, Tree, is_invisible};
use crate::layout::document_of;

const SOUL: &str = "SOUL.md";
const USER: &str = "USER.md";
const SOUL_TITLE: &str = "# Who the agent is";
const USER_TITLE: &str = "# About the person";
/// How the agent is told its name: the first line under the title.
const NAME_BEFORE: &str = "Your name is ";
/// As much as the agent reads of each file.
pub(super) const MAX_BYTES: usize = 8 << 10;
pub(super) const MAX_NAME_CHARS: usize = 40;

impl Config {
    /// What the two files say now.
    pub fn identity(&self, workspace: WorkspaceId) -> Result<Identity, ConfigError> {
        let tree = self.workspace_tree(workspace)?;
        let (soul, user) = (read(&tree, SOUL)?, read(&tree, USER)?);
        let (agent_name, manner) = split_soul(&soul);
        Ok(Identity {
            agent_name,
            manner,
            about: body(&user, USER_TITLE).to_owned(),
            seen: token_hash(&format!("{}:{soul}{user}", soul.len())),
        })
    }

    /// The agent's name, if it was given one.
    pub fn agent_name(&self, workspace: WorkspaceId) -> Option<String> {
        let identity = self.identity(workspace).ok()?;
        (!identity.agent_name.is_empty()).then_some(identity.agent_name)
    }

    /// What the first agent's `SOUL.md` says, or that of another: how it should be, and what stands for exactly that.
    pub fn soul(
        &self,
        workspace: WorkspaceId,
        agent: AgentId,
    ) -> Result<(String, String), ConfigError> {
        let text = read(&self.workspace_tree(workspace)?, &document_of(agent, SOUL))?;
        Ok((split_soul(&text).1, token_hash(&text)))
    }

    pub(crate) fn has_soul(
        &self,
        workspace: WorkspaceId,
        agent: AgentId,
    ) -> Result<bool, ConfigError> {
        let path = RelPath::parse(&document_of(agent, SOUL))?;
        match self.workspace_tree(workspace)?.read(&path) {
            Ok(_) => Ok(true),
            Err(FileError::NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes an agent's name and how it should be into its `SOUL.md`; without the latter, that stays.
    pub(crate) async fn write_soul(
        &self,
        actor: &Actor,
        (workspace, agent): (WorkspaceId, AgentId),
        name: &str,
        manner: Option<&str>,
    ) -> Result<(), ConfigError> {
        let there;
        let manner = match manner {
            Some(manner) => manner,
            None => {
                there = self.soul(workspace, agent)?.0;
                &there
            }
        };
        let path = format!("{workspace}/{}", document_of(agent, SOUL));
        let text = soul_text(name, manner)?;
        let files = BTreeMap::from([(path, Some(text.into_bytes()))]);
        let (scope, why) = (ConfigScope::Workspace(workspace), "Who the agent is");
        self.change_config(actor, scope, files, why).await.map(drop)
    }

    /// Changes how an agent should be, unless its `SOUL.md` says something else than was seen.
    pub async fn change_soul(
        &self,
        actor: &Actor,
        (workspace, agent): (WorkspaceId, AgentId),
        name: &str,
        (manner, seen): (&str, Option<&str>),
    ) -> Result<(), ConfigError> {
        let now = self.soul(workspace, agent)?.1;
        if seen.is_some_and(|seen| seen != now) {
            return Err(ConfigRefusal::IdentityChanged.into());
        }
        self.write_soul(actor, (workspace, agent), name, Some(manner)).await
    }

    /// Writes what was changed; the rest stays.
    pub async fn write_identity(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        change: &IdentityChange,
    ) -> Result<Identity, ConfigError> {
        let now = self.identity(workspace)?;
        if change.seen.as_ref().is_some_and(|seen| *seen != now.seen) {
            return Err(ConfigRefusal::IdentityChanged.into());
        }
        let agent_name = match &change.agent_name {
            Some(name) => checked_name(name)?,
            None => now.agent_name.clone(),
        };
        if agent_name != now.agent_name {
            self.require_no_other(workspace, &agent_name).await?;
        }
        let manner = change.manner.as_deref().unwrap_or(&now.manner).trim();
        let about = change.about.as_deref().unwrap_or(&now.about).trim();
        let soul = soul_text(&agent_name, manner)?;
        let user = document(USER, &format!("{USER_TITLE}\n\n{about}"))?;
        let soul_changes = agent_name != now.agent_name || manner != now.manner;
        let documents = [(SOUL, soul, soul_changes), (USER, user, about != now.about)];
        let files: BTreeMap<_, _> = documents
            .into_iter()
            .filter(|(_, _, changes)| *changes)
            .map(|(name, text, _)| (format!("{workspace}/{name}"), Some(text.into_bytes())))
            .collect();
        if !files.is_empty() {
            let scope = ConfigScope::Workspace(workspace);
            let why = "Who the agent is, and what it knows of the person";
            self.change_config(actor, scope, files, why).await?;
        }
        self.identity(workspace)
    }

    /// Refuses the first agent a name that another one has.
    async fn require_no_other(
        &self,
        workspace: WorkspaceId,
        name: &str,
    ) -> Result<(), ConfigError> {
        let others = self.control.store().agents().of(workspace).await.map_err(Fault::from)?;
        let taken = |other: &Agent| !other.removed && folded(&other.name) == folded(name);
        if others.iter().any(taken) {
            return Err(ConfigRefusal::AgentNameTaken { name: name.to_owned() }.into());
        }
        Ok(())
    }

    fn workspace_tree(&self, workspace: WorkspaceId) -> Result<Tree, Fault> {
        self.control
            .layout()
            .tree(workspace)
            .map_err(Fault::io("the workspace could not be opened"))
    }
}

/// The text of a file, or what it starts with. One that can't be shown whole is an error: it would
/// be lost when it is written.
fn read(tree: &Tree, path: &str) -> Result<String, ConfigError> {
    let path = RelPath::parse(path)?;
    let name = if path.file_name() == USER { USER } else { SOUL };
    let file = match tree.read(&path) {
        Ok(file) => file,
        Err(FileError::NotFound { .. }) => return Ok(crate::layout::initial_text(name).to_owned()),
        Err(error) => return Err(error.into()),
    };
    let unreadable = |reason| Err(ConfigRefusal::IdentityUnreadable { name, reason }.into());
    let mut text = String::new();
    match file.take(MAX_BYTES as u64 * 4).read_to_string(&mut text) {
        Ok(read) if read >= MAX_BYTES * 4 => unreadable("is too long to be changed here"),
        Ok(_) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            unreadable("is not text in UTF-8")
        }
        Err(error) => Err(Fault::io(format!("{name} could not be read"))(error).into()),
    }
}

/// What stands under the title.
fn body<'a>(text: &'a str, title: &str) -> &'a str {
    let text = text.trim();
    text.strip_prefix(title).unwrap_or(text).trim()
}

fn split_soul(text: &str) -> (String, String) {
    let body = body(text, SOUL_TITLE);
    let (first, rest) = body.split_once('\n').unwrap_or((body, ""));
    let name = first.trim().strip_prefix(NAME_BEFORE).and_then(|name| name.strip_suffix('.'));
    match name.map(checked_name) {
        Some(Ok(name)) if !name.is_empty() => (name, rest.trim().to_owned()),
        Some(_) | None => (String::new(), body.to_owned()),
    }
}

fn soul_text(name: &str, manner: &str) -> Result<String, ConfigRefusal> {
    let named = if name.is_empty() { String::new() } else { format!("{NAME_BEFORE}{name}.\n\n") };
    document(SOUL, &format!("{SOUL_TITLE}\n\n{named}{}", manner.trim()))
}

fn checked_name(name: &str) -> Result<String, ConfigRefusal> {
    let name = name.trim();
    let bad = |c: char| c.is_control() || is_invisible(c) || "<>`*_#[]".contains(c);
    if name.chars().count() > MAX_NAME_CHARS || name.contains(bad) {
        return Err(ConfigRefusal::NoAgentName);
    }
    Ok(name.to_owned())
}

fn document(name: &'static str, text: &str) -> Result<String, ConfigRefusal> {
    let text = format!("{}\n", text.replace("\r\n", "\n").trim_end());
    if text.len() > MAX_BYTES || text.contains('\0') {
        return Err(ConfigRefusal::IdentityTooLong { name, bytes: text.len() });
    }
    Ok(text)
}

#[cfg(test)]
#[path = "identity_tests.rs"]
mod tests;
