//! Which of the models in use answers first: in one chat, or in all chats of a workspace.
//!
//! Promises: a choice changes the order alone. What no level uses is never asked, whoever chose it: who reads what
//! people write is the operator's to say.

use cloister_protocol::{ChatId, Level, WorkspaceId};

use crate::actor::Actor;
use crate::audit;
use crate::error::{StoreError, Tried};
use crate::models::{Model, Models};

/// The number of no chat: the choice is for all of them.
const ALL_CHATS: u32 = 0;

impl Models {
    /// Chooses the model that answers first in a chat, or in all that have no choice of their own; none takes the
    /// choice back.
    pub async fn choose(
        &self,
        actor: &Actor,
        (workspace, chat): (WorkspaceId, Option<ChatId>),
        model: Option<&str>,
    ) -> Result<(), StoreError> {
        let number = chat.map_or(ALL_CHATS, ChatId::number);
        let mut tx = self.store.begin().await?;
        sqlx::query("DELETE FROM model_choices WHERE workspace_id = ? AND chat = ?")
            .bind(workspace.number())
            .bind(number)
            .execute(&mut *tx)
            .await
            .tried("take back the choice of a model")?;
        if let Some(model) = model {
            sqlx::query("INSERT INTO model_choices (workspace_id, chat, model) VALUES (?, ?, ?)")
                .bind(workspace.number())
                .bind(number)
                .bind(model)
                .execute(&mut *tx)
                .await
                .tried("choose a model")?;
        }
        let place = chat.map_or_else(|| "all chats".to_owned(), |chat| chat.to_string());
        let entry = audit::Entry::new(actor, "model.choose", model.unwrap_or("default"))
            .with(format!("{workspace}: {place}"));
        audit::record(&mut tx, self.store.clock.now_ms(), entry).await?;
        tx.commit().await.tried("choose a model")
    }

    /// What was chosen for a chat, or for all of them.
    pub async fn chosen(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<Option<String>, StoreError> {
        let read = self.read_choices(workspace);
        let choices = self.store.memory.model_choices.or_read(workspace, read).await?;
        let of = |number: u32| choices.iter().find(|(of, _)| *of == number);
        Ok(of(chat.number()).or_else(|| of(ALL_CHATS)).map(|(_, model)| model.clone()))
    }

    /// The chats for which a model was chosen; none is all of a workspace.
    pub async fn chosen_by(
        &self,
        model: &str,
    ) -> Result<Vec<(WorkspaceId, Option<ChatId>)>, StoreError> {
        let rows: Vec<(u32, u32)> = sqlx::query_as(
            "SELECT workspace_id, chat FROM model_choices WHERE model = ? ORDER BY workspace_id, chat",
        )
        .bind(model)
        .fetch_all(self.store.reader())
        .await
        .tried("read who chose a model")?;
        let chat = |number: u32| (number != ALL_CHATS).then(|| ChatId::from_number(number));
        let place = |(workspace, number)| (WorkspaceId::from_number(workspace), chat(number));
        Ok(rows.into_iter().map(place).collect())
    }

    async fn read_choices(&self, workspace: WorkspaceId) -> Result<Vec<(u32, String)>, StoreError> {
        sqlx::query_as("SELECT chat, model FROM model_choices WHERE workspace_id = ?")
            .bind(workspace.number())
            .fetch_all(self.store.reader())
            .await
            .tried("read the choices of models")
    }

    /// The models that serve a level in a chat: the chosen one first, if any level uses it.
    pub async fn chain_for(
        &self,
        (workspace, chat): (WorkspaceId, ChatId),
        level: Level,
    ) -> Result<Vec<Model>, StoreError> {
        let mut chain = self.chain(level).await?;
        let Some(chosen) = self.chosen(workspace, chat).await? else { return Ok(chain) };
        for of in [level].into_iter().chain(Level::ALL) {
            let found = self.chain(of).await?.into_iter().find(|model| model.name == chosen);
            if let Some(model) = found {
                chain.retain(|other| other.name != chosen);
                chain.insert(0, model);
                break;
            }
        }
        Ok(chain)
    }
}

#[cfg(test)]
#[path = "model_choices_tests.rs"]
mod tests;
