//! The language that each person is spoken to in: what they chose, else what their surface or browser says, else what
//! this installation speaks.

use cloister_protocol::{Language, UserId, WorkspaceId};
use cloister_store::Actor;
use cloister_store::languages::ReadLanguage;

use ref_cast::RefCast;

use crate::control::part;
use crate::error::Fault;
use crate::people::People;

part! {
    /// The languages that people are spoken to in.
    pub struct Languages;
}

impl People {
    pub fn languages(&self) -> &Languages {
        Languages::ref_cast(&self.control)
    }
}

impl Languages {
    pub async fn language_of(&self, user: UserId) -> Result<Language, Fault> {
        let read = self.read_language(user).await?;
        Ok(read.best().unwrap_or(self.default_language()))
    }

    /// The language of whoever a workspace belongs to.
    pub async fn language_in(&self, workspace: WorkspaceId) -> Result<Language, Fault> {
        let owner = self.control.store().users().user_of(workspace).await?;
        self.language_of(owner.id).await
    }

    /// What is known of it, for who shows the choice.
    pub async fn read_language(&self, user: UserId) -> Result<ReadLanguage, Fault> {
        Ok(self.control.store().users().language(user).await?)
    }

    /// What somebody is spoken to in of whom nothing is known.
    pub fn default_language(&self) -> Language {
        self.control.inner.parts.surfaces.language
    }

    /// None takes the choice back.
    pub async fn choose_language(
        &self,
        actor: &Actor,
        user: UserId,
        language: Option<Language>,
    ) -> Result<(), Fault> {
        Ok(self.control.store().users().choose_language(actor, user, language).await?)
    }

    /// What a person's surface or browser says of them. It counts until they choose.
    pub async fn note_language(&self, user: UserId, heard: Language) -> Result<(), Fault> {
        Ok(self.control.store().users().note_language(user, heard).await?)
    }
}
