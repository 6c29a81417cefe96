//! The language that each person is spoken to in.
//!
//! Promises: what a person chose is never changed by what their surface or browser says of them.

use cloister_protocol::{Language, UserId};

use crate::actor::Actor;
use crate::audit;
use crate::db::Tx;
use crate::error::{StoreError, Tried, corrupt, not_found};
use crate::users::Users;

/// What is known of the language a person reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadLanguage {
    pub chosen: Option<Language>,
    /// What their surface or browser said last.
    pub heard: Option<Language>,
}

impl ReadLanguage {
    pub fn best(self) -> Option<Language> {
        self.chosen.or(self.heard)
    }
}

/// What a person reads, if that is known.
pub(crate) async fn best_of(tx: &mut Tx, user: UserId) -> Result<Option<Language>, StoreError> {
    let row: Option<(Option<String>, Option<String>)> =
        sqlx::query_as("SELECT language, language_heard FROM users WHERE id = ?")
            .bind(user.number())
            .fetch_optional(tx)
            .await
            .tried("find the language of a user")?;
    let (chosen, heard) = row.unwrap_or_default();
    Ok(ReadLanguage { chosen: parsed(chosen)?, heard: parsed(heard)? }.best())
}

impl Users {
    pub async fn language(&self, user: UserId) -> Result<ReadLanguage, StoreError> {
        let row: Option<(Option<String>, Option<String>)> =
            sqlx::query_as("SELECT language, language_heard FROM users WHERE id = ?")
                .bind(user.number())
                .fetch_optional(self.store.reader())
                .await
                .tried("find the language of a user")?;
        let (chosen, heard) = row.ok_or_else(|| not_found("user", user))?;
        Ok(ReadLanguage { chosen: parsed(chosen)?, heard: parsed(heard)? })
    }

    /// Remembers what a person chose; none takes their choice back.
    pub async fn choose_language(
        &self,
        actor: &Actor,
        user: UserId,
        language: Option<Language>,
    ) -> Result<(), StoreError> {
        let now = self.store.clock.now_ms();
        let name = self.user_by_id(user).await?.name;
        let mut tx = self.store.begin().await?;
        sqlx::query("UPDATE users SET language = ? WHERE id = ?")
            .bind(language.map(Language::as_str))
            .bind(user.number())
            .execute(&mut *tx)
            .await
            .tried("choose a language")?;
        let chosen = language.map_or("none", Language::as_str);
        let entry = audit::Entry::new(actor, "user.language", name).with(chosen);
        audit::record(&mut tx, now, entry).await?;
        tx.commit().await.tried("choose a language")
    }

    /// Notes what a person's surface or browser says of them. Nobody did anything: it is in no audit.
    pub async fn note_language(&self, user: UserId, heard: Language) -> Result<(), StoreError> {
        if self.language(user).await?.heard == Some(heard) {
            return Ok(());
        }
        let mut tx = self.store.begin_one().await?;
        sqlx::query("UPDATE users SET language_heard = ? WHERE id = ?")
            .bind(heard.as_str())
            .bind(user.number())
            .execute(&mut *tx)
            .await
            .tried("note the language of a user")?;
        tx.commit().await.tried("note the language of a user")
    }
}

fn parsed(stored: Option<String>) -> Result<Option<Language>, StoreError> {
    stored.map(|text| text.parse().map_err(|e| corrupt("language", e))).transpose()
}

#[cfg(test)]
#[path = "languages_tests.rs"]
mod tests;
