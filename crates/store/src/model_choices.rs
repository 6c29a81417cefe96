//! Which of the models in use answers first: in one chat, or in all chats of an agent, for all that it is asked for or
//! for one kind of work.
//!
//! Promises: a choice changes the order alone. What the operator has put into no chain and not on offer is never asked,
//! whoever chose it: who reads what people write is the operator's to say.

use std::fmt;

use cloister_protocol::{AgentId, ChatId, Level, WorkKind, WorkspaceId};

use crate::actor::Actor;
use crate::audit;
use crate::db::Tx;
use crate::error::{StoreError, Tried, corrupt};
use crate::model_kinds::join;
use crate::models::{Model, Models};

/// The number of no chat: the choice is for all of an agent.
const ALL_CHATS: u32 = 0;
/// The choice is for every kind of work.
const EVERY_KIND: &str = "";

/// A model that was chosen, and what for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ModelChoice {
    /// None: all that have no choice of their own.
    pub(crate) chat: Option<ChatId>,
    /// None: every kind that has no choice of its own.
    pub(crate) kind: Option<WorkKind>,
    pub(crate) model: String,
}

struct ChoiceRow {
    chat: u32,
    kind: String,
    model: String,
}

from_row!(ChoiceRow { chat, kind, model });

impl ChoiceRow {
    fn into_choice(self) -> Result<ModelChoice, StoreError> {
        let kind = match self.kind.as_str() {
            EVERY_KIND => None,
            word => Some(word.parse().map_err(|error| corrupt("kind of work", error))?),
        };
        let chat = (self.chat != ALL_CHATS).then(|| ChatId::from_number(self.chat));
        Ok(ModelChoice { chat, kind, model: self.model })
    }
}

/// What was chosen in one place.
struct ChosenHere {
    chat: ChatId,
    choices: Vec<ModelChoice>,
}

impl ChosenHere {
    /// For this kind of work, or for every kind: the chat's own choice, or that for all.
    fn of(&self, kind: Option<WorkKind>) -> Option<&str> {
        let find = |chat: Option<ChatId>| {
            self.choices.iter().find(|choice| choice.chat == chat && choice.kind == kind)
        };
        find(Some(self.chat)).or_else(|| find(None)).map(|choice| choice.model.as_str())
    }
}

/// What a model is chosen for.
struct Choosing {
    workspace: WorkspaceId,
    chat: u32,
    /// Whose chats, where it is for all of them; none: every agent's.
    agent: Option<AgentId>,
    kind: &'static str,
}

impl Choosing {
    async fn take_back(&self, tx: &mut Tx) -> Result<(), StoreError> {
        sqlx::query(
            "DELETE FROM model_choices WHERE workspace_id = ?1 AND chat = ?2 AND kind = ?3 \
             AND agent = coalesce(?4, agent)",
        )
        .bind(self.workspace.number())
        .bind(self.chat)
        .bind(self.kind)
        .bind(self.agent.map(AgentId::number))
        .execute(&mut *tx)
        .await
        .tried("take back the choice of a model")?;
        Ok(())
    }

    /// A chat's choice is kept with the agent that answers in it.
    async fn put(&self, tx: &mut Tx, model: &str) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO model_choices (workspace_id, agent, chat, kind, model) \
             SELECT ?1, a.number, ?2, ?3, ?5 FROM \
               (SELECT 1 AS number UNION SELECT number FROM agents WHERE workspace_id = ?1) a \
             WHERE a.number = coalesce(?4, CASE WHEN ?2 = 0 THEN a.number ELSE coalesce( \
               (SELECT c.agent FROM chats c WHERE c.workspace_id = ?1 AND c.number = ?2), 1) END)",
        )
        .bind(self.workspace.number())
        .bind(self.chat)
        .bind(self.kind)
        .bind(self.agent.map(AgentId::number))
        .bind(model)
        .execute(&mut *tx)
        .await
        .tried("choose a model")?;
        Ok(())
    }
}

impl fmt::Display for Choosing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.workspace)?;
        match (self.chat, self.agent) {
            (ALL_CHATS, Some(agent)) if !agent.is_first() => write!(f, "all chats of {agent}")?,
            (ALL_CHATS, _) => f.write_str("all chats")?,
            (chat, _) => write!(f, "{}", ChatId::from_number(chat))?,
        }
        if self.kind == EVERY_KIND { Ok(()) } else { write!(f, ", for {}", self.kind) }
    }
}

impl Models {
    /// Chooses the model that answers first in a chat, or in every chat of every agent that has no choice of its own,
    /// for one kind of work or for every one that has none; none takes the choice back.
    pub async fn choose(
        &self,
        actor: &Actor,
        (workspace, chat): (WorkspaceId, Option<ChatId>),
        kind: Option<WorkKind>,
        model: Option<&str>,
    ) -> Result<(), StoreError> {
        let choosing = Choosing {
            workspace,
            chat: chat.map_or(ALL_CHATS, ChatId::number),
            agent: None,
            kind: kind.map_or(EVERY_KIND, WorkKind::as_str),
        };
        self.put_choice(actor, choosing, model).await
    }

    /// The same for all chats of one agent.
    pub async fn choose_for_agent(
        &self,
        actor: &Actor,
        (workspace, agent): (WorkspaceId, AgentId),
        kind: Option<WorkKind>,
        model: Option<&str>,
    ) -> Result<(), StoreError> {
        let kind = kind.map_or(EVERY_KIND, WorkKind::as_str);
        let choosing = Choosing { workspace, chat: ALL_CHATS, agent: Some(agent), kind };
        self.put_choice(actor, choosing, model).await
    }

    async fn put_choice(
        &self,
        actor: &Actor,
        choosing: Choosing,
        model: Option<&str>,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.begin().await?;
        choosing.take_back(&mut tx).await?;
        if let Some(model) = model {
            choosing.put(&mut tx, model).await?;
        }
        let entry = audit::Entry::new(actor, "model.choose", model.unwrap_or("default"))
            .with(choosing.to_string())
            .of_workspace(choosing.workspace);
        audit::record(&mut tx, self.store.clock.now_ms(), entry).await?;
        tx.commit().await.tried("choose a model")
    }

    /// What was chosen for a chat, or for all of them: for this kind of work, or none for every kind.
    pub async fn chosen(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        kind: Option<WorkKind>,
    ) -> Result<Option<String>, StoreError> {
        Ok(self.chosen_here((workspace, chat)).await?.of(kind).map(str::to_owned))
    }

    async fn chosen_here(
        &self,
        (workspace, chat): (WorkspaceId, ChatId),
    ) -> Result<ChosenHere, StoreError> {
        let read = self.read_choices(workspace, chat);
        let choices = self.store.memory.model_choices.or_read((workspace, chat), read).await?;
        Ok(ChosenHere { chat, choices })
    }

    /// The chats for which a model was chosen; none is all of a workspace.
    pub async fn chosen_by(
        &self,
        model: &str,
    ) -> Result<Vec<(WorkspaceId, Option<ChatId>)>, StoreError> {
        let rows: Vec<(u32, u32)> = sqlx::query_as(
            "SELECT DISTINCT workspace_id, chat FROM model_choices WHERE model = ? \
             ORDER BY workspace_id, chat",
        )
        .bind(model)
        .fetch_all(self.store.reader())
        .await
        .tried("read who chose a model")?;
        let chat = |number: u32| (number != ALL_CHATS).then(|| ChatId::from_number(number));
        let place = |(workspace, number)| (WorkspaceId::from_number(workspace), chat(number));
        Ok(rows.into_iter().map(place).collect())
    }

    /// What was chosen for a chat, and for all of its agent.
    async fn read_choices(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<Vec<ModelChoice>, StoreError> {
        let rows: Vec<ChoiceRow> = sqlx::query_as(
            "SELECT chat, kind, model FROM model_choices WHERE workspace_id = ?1 \
             AND (chat = ?2 OR chat = 0 AND agent = coalesce( \
               (SELECT c.agent FROM chats c WHERE c.workspace_id = ?1 AND c.number = ?2), 1))",
        )
        .bind(workspace.number())
        .bind(chat.number())
        .fetch_all(self.store.reader())
        .await
        .tried("read the choices of models")?;
        rows.into_iter().map(ChoiceRow::into_choice).collect()
    }

    /// The models that serve a kind of work of a level in a chat, in the order in which they are tried. What was said
    /// of this kind goes before what was said of all, and what people chose before what the operator set; the level's
    /// chain is behind it all. Pictures come, in the end, to any model in use that is known to see.
    pub async fn chain_for(
        &self,
        place: (WorkspaceId, ChatId),
        level: Level,
        kind: WorkKind,
    ) -> Result<Vec<Model>, StoreError> {
        let chosen = self.chosen_here(place).await?;
        let mut usable = Vec::new();
        if !chosen.choices.is_empty() {
            usable = self.own_in(place.0).await?;
            usable.extend(self.in_use().await?);
        }
        let found = |kind: Option<WorkKind>| {
            let name = chosen.of(kind);
            usable.iter().find(move |model| Some(model.name.as_str()) == name).cloned()
        };
        let mut order = Vec::new();
        join(&mut order, found(Some(kind)));
        if kind.level().is_none() {
            join(&mut order, self.kind_chain(kind).await?);
        }
        join(&mut order, found(Some(WorkKind::of(level))));
        join(&mut order, found(None));
        join(&mut order, self.chain(level).await?);
        if kind == WorkKind::Vision {
            let seeing = self.in_use().await?.into_iter();
            join(&mut order, seeing.filter(|model| model.profile.vision == Some(true)));
        }
        Ok(order)
    }
}

#[cfg(test)]
#[path = "model_choices_tests.rs"]
mod tests;
