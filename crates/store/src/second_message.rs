//! What each person chose that a message of theirs does to the answer they still wait for. What the words mean is known
//! where messages are handed over.

use cloister_protocol::UserId;

use crate::actor::Actor;
use crate::audit;
use crate::error::{StoreError, Tried};
use crate::users::Users;

impl Users {
    /// Of who has this name; none where they chose nothing, or nobody has it.
    pub async fn second_message(&self, name: &str) -> Result<Option<String>, StoreError> {
        let chosen: Option<Option<String>> =
            sqlx::query_scalar("SELECT second_message FROM users WHERE name = ?")
                .bind(name)
                .fetch_optional(self.store.reader())
                .await
                .tried("find what a second message does")?;
        Ok(chosen.flatten())
    }

    /// Remembers what a person chose; none takes their choice back.
    pub async fn choose_second_message(
        &self,
        actor: &Actor,
        user: UserId,
        chosen: Option<&str>,
    ) -> Result<(), StoreError> {
        let now = self.store.clock.now_ms();
        let name = self.user_by_id(user).await?.name;
        let mut tx = self.store.begin().await?;
        sqlx::query("UPDATE users SET second_message = ? WHERE id = ?")
            .bind(chosen)
            .bind(user.number())
            .execute(&mut *tx)
            .await
            .tried("choose what a second message does")?;
        let entry = audit::Entry::new(actor, "user.second_message", name);
        audit::record(&mut tx, now, entry.with(chosen.unwrap_or("none"))).await?;
        tx.commit().await.tried("choose what a second message does")
    }
}
