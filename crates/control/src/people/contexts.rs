//! Contexts: what may be used in a chat. An inner context only takes away from those around it.

use std::collections::{BTreeSet, HashMap};

use cloister_policy::engine::{ContextLists, Names};
use cloister_protocol::admin::{ContextChange, NameList};
use cloister_protocol::{ChatId, WorkspaceId};
use cloister_store::Actor;
use cloister_store::contexts::{Context, Conversation, Lists, OUTERMOST};

use crate::error::Fault;
use crate::people::{Contexts, PeopleError, PeopleRefusal};
use crate::ports::Principal;

/// How deep contexts may lie in one another.
const MAX_DEPTH: usize = 8;
pub(super) const MAX_NAME_BYTES: usize = 64;
pub(super) const MAX_PROMPT_BYTES: usize = 16 << 10;
pub(super) const MAX_NAMES: usize = 200;

impl Contexts {
    pub async fn of(&self, workspace: WorkspaceId) -> Result<Vec<Context>, Fault> {
        Ok(self.control.store().chats().contexts(workspace).await?)
    }

    /// What may be used in a chat: what its context allows, narrowed by every one around it. A context
    /// that is gone allows nothing.
    pub async fn context_lists(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<ContextLists, Fault> {
        let contexts = self.control.store().chats().contexts(workspace).await?;
        let inner = self.control.store().chats().context_of_chat(workspace, chat).await?;
        Ok(effective(&contexts, inner.as_deref().unwrap_or(OUTERMOST)))
    }

    /// What a context of a workspace allows in the end.
    pub async fn lists_of_context(
        &self,
        workspace: WorkspaceId,
        name: &str,
    ) -> Result<ContextLists, Fault> {
        Ok(effective(&self.control.store().chats().contexts(workspace).await?, name))
    }

    /// What the agent is told in a chat beyond what it is always told: the prompts of its context and of
    /// those around it, the outermost first.
    pub async fn context_prompt(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<String, Fault> {
        let contexts = self.control.store().chats().contexts(workspace).await?;
        if contexts.is_empty() {
            return Ok(String::new());
        }
        let inner = self.control.store().chats().context_of_chat(workspace, chat).await?;
        let around = around(&contexts, inner.as_deref().unwrap_or(OUTERMOST)).unwrap_or_default();
        let prompts = around.iter().rev().map(|context| context.prompt.trim());
        let prompts: Vec<&str> = prompts.filter(|prompt| !prompt.is_empty()).collect();
        Ok(prompts.join("\n\n"))
    }

    /// The models that whoever is behind a door may use: those of its chat's context. When that can't be
    /// read, none.
    pub(crate) async fn models_of(&self, who: Principal) -> Names {
        let lists = self.context_lists(who.workspace, who.chat);
        lists.await.map(|lists| lists.models).unwrap_or_else(|error| {
            tracing::error!(workspace = %who.workspace, error = error.chain(), "the models of a context could not be read");
            Names::none()
        })
    }

    /// Makes or changes a context.
    pub async fn change_context(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        name: &str,
        change: ContextChange,
    ) -> Result<Context, PeopleError> {
        check_name(name)?;
        let contexts = self.control.store().chats().contexts(workspace).await?;
        let before = contexts.iter().find(|context| context.name == name).cloned();
        if change.new && before.is_some() {
            return Err(PeopleRefusal::ContextExists { name: name.to_owned() }.into());
        }
        if !change.new && before.is_none() && name != OUTERMOST {
            return Err(PeopleRefusal::NoContext { name: name.to_owned() }.into());
        }
        let was = before.as_ref().and_then(|context| context.conversation.clone());
        let changed = changed(before.unwrap_or_else(|| fresh(workspace, name)), change)?;
        let mut after: Vec<Context> =
            contexts.into_iter().filter(|context| context.name != name).collect();
        after.push(changed.clone());
        if around(&after, name).is_none() {
            let (inherits, name) = (changed.inherits, name.to_owned());
            return Err(PeopleRefusal::NotAround { inherits, name }.into());
        }
        let put = self.control.store().chats().put_context(actor, &changed).await?;
        if let Some(was) = was.filter(|was| put.conversation.as_ref() != Some(was)) {
            self.disconnect((workspace, name), &was).await?;
        }
        Ok(put)
    }

    pub async fn remove_context(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        name: &str,
    ) -> Result<(), PeopleError> {
        let contexts = self.control.store().chats().contexts(workspace).await?;
        if let Some(inner) = contexts.iter().find(|context| context.inherits == name) {
            let (inner, name) = (inner.name.clone(), name.to_owned());
            return Err(PeopleRefusal::ContextInside { inner, name }.into());
        }
        let removed = contexts.into_iter().find(|context| context.name == name);
        self.control.store().chats().remove_context(actor, workspace, name).await?;
        if let Some(was) = removed.and_then(|context| context.conversation) {
            self.disconnect((workspace, name), &was).await?;
        }
        self.control.people().access().changed();
        self.control.surfaces().chats_changed();
        Ok(())
    }
}

fn fresh(workspace: WorkspaceId, name: &str) -> Context {
    Context {
        workspace,
        name: name.to_owned(),
        inherits: OUTERMOST.to_owned(),
        prompt: String::new(),
        lists: Lists::default(),
        conversation: None,
        chat: None,
        created_at: 0,
    }
}

/// A context and all around it, the innermost first; none if one of them is not there, or they lie in a
/// ring.
fn around<'a>(contexts: &'a [Context], name: &str) -> Option<Vec<&'a Context>> {
    let by_name: HashMap<&str, &Context> =
        contexts.iter().map(|context| (context.name.as_str(), context)).collect();
    let mut found = Vec::new();
    let mut name = name;
    for _ in 0..MAX_DEPTH {
        match by_name.get(name) {
            Some(context) => found.push(*context),
            // Without a row, the workspace as a whole limits nothing.
            None if name == OUTERMOST => return Some(found),
            None => return None,
        }
        if name == OUTERMOST {
            return Some(found);
        }
        name = found.last()?.inherits.as_str();
    }
    None
}

fn effective(contexts: &[Context], name: &str) -> ContextLists {
    let Some(around) = around(contexts, name) else {
        let none = Names::none;
        return ContextLists { tools: none(), models: none(), skills: none() };
    };
    around.iter().fold(ContextLists::UNLIMITED, |inner, context| inner.inside(&own(&context.lists)))
}

fn own(lists: &Lists) -> ContextLists {
    let names = |list: &Option<Vec<String>>| match list {
        None => Names::All,
        Some(names) => Names::Only(names.iter().cloned().collect::<BTreeSet<_>>()),
    };
    ContextLists {
        tools: names(&lists.tools),
        models: names(&lists.models),
        skills: names(&lists.skills),
    }
}

fn changed(mut context: Context, change: ContextChange) -> Result<Context, PeopleError> {
    let ContextChange { inherits, prompt, tools, models, skills, surface, conversation, new: _ } =
        change;
    if let Some(inherits) = inherits {
        context.inherits = inherits;
    }
    if let Some(prompt) = prompt {
        if prompt.len() > MAX_PROMPT_BYTES {
            return Err(PeopleRefusal::PromptTooLong.into());
        }
        context.prompt = prompt;
    }
    let lists = &mut context.lists;
    for (list, change) in
        [(&mut lists.tools, tools), (&mut lists.models, models), (&mut lists.skills, skills)]
    {
        match change {
            None => {}
            Some(NameList::All) => *list = None,
            Some(NameList::Only(names)) if names.len() <= MAX_NAMES => *list = Some(names),
            Some(NameList::Only(_)) => return Err(PeopleRefusal::ListTooLong.into()),
        }
    }
    match (surface, conversation) {
        (None, None) => {}
        (Some(surface), Some(id)) if context.name != OUTERMOST => {
            let there = super::account(&surface, &id, "")?;
            context.conversation =
                Some(Conversation { surface: there.surface, id: there.external_id });
        }
        (Some(_), Some(_)) => return Err(PeopleRefusal::OutermostConversation.into()),
        (Some(_), None) | (None, Some(_)) => return Err(PeopleRefusal::HalfConversation.into()),
    }
    Ok(context)
}

fn check_name(name: &str) -> Result<(), PeopleRefusal> {
    let fits = (1..=MAX_NAME_BYTES).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b));
    if fits { Ok(()) } else { Err(PeopleRefusal::NoContextName) }
}

#[cfg(test)]
#[path = "contexts_tests.rs"]
mod tests;
