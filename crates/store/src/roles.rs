//! Which roles people hold, as text: what a role and a scope mean is policy's to say.

use cloister_protocol::{AgentFrame, ChatId, TurnId, Update, UserId, UserName, WorkspaceId};

use crate::actor::Actor;
use crate::audit;
use crate::db::Tx;
use crate::error::{StoreError, Tried, corrupt};
use crate::outbox::{self, OutboxItem};
use crate::users::Users;

/// A role that someone holds.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct HeldRole {
    pub role: String,
    pub scope: String,
    pub given_by: String,
    pub given_at: i64,
}

from_row!(HeldRole { role, scope, given_by, given_at });

/// Somebody whom a change of roles concerns and who did not make it. They are told in the transaction of the
/// change, and their audit has it.
#[derive(Clone, Debug)]
pub struct Concerned {
    pub user: UserId,
    pub chat: (WorkspaceId, ChatId),
    pub text: String,
}

/// What became of a role that was to be taken.
#[derive(Clone, Debug)]
pub enum TakenRole {
    /// And what is told of it.
    Taken(Vec<OutboxItem>),
    NotHeld,
    /// Without it nobody could rule the platform any more.
    LastOverlord,
}

/// Gives a role as part of something greater; says whether it is new.
pub(crate) async fn insert(
    tx: &mut Tx,
    user: UserId,
    (role, scope): (&str, &str),
    (actor, now): (&Actor, i64),
) -> Result<bool, StoreError> {
    let given = sqlx::query(
        "INSERT INTO roles (user_id, role, scope, given_by, given_at) VALUES (?, ?, ?, ?, ?) \
         ON CONFLICT DO NOTHING",
    )
    .bind(user.number())
    .bind(role)
    .bind(scope)
    .bind(actor.to_string())
    .bind(now)
    .execute(&mut *tx)
    .await
    .tried("give a role")?;
    Ok(given.rows_affected() > 0)
}

/// Records a change of somebody's roles and tells whom it concerns, as part of that change.
pub(crate) async fn changed(
    tx: &mut Tx,
    entry: audit::Entry,
    user: UserId,
    (concerned, now): (&[Concerned], i64),
) -> Result<Vec<OutboxItem>, StoreError> {
    let turn = TurnId::of_notice(format_args!("{}-{user}-{now}", entry.action));
    let mut told = Vec::new();
    for Concerned { user: other, chat, text } in concerned {
        if *other != user {
            let entry = entry.clone().with(format!("of {user}"));
            audit::record(tx, now, entry.of(*other)).await?;
        }
        let frame = AgentFrame::Update(Update::Notice { text: text.clone() });
        told.push(outbox::push(tx, *chat, &turn, &frame, now).await?);
    }
    audit::record(tx, now, entry.of(user)).await?;
    Ok(told)
}

impl Users {
    pub async fn roles_of(&self, user: UserId) -> Result<Vec<HeldRole>, StoreError> {
        let read = async {
            sqlx::query_as(
                "SELECT role, scope, given_by, given_at FROM roles WHERE user_id = ? ORDER BY scope, role",
            )
            .bind(user.number())
            .fetch_all(self.store.reader())
            .await
            .tried("read a user's roles")
        };
        self.store.memory.roles.or_read(user, read).await
    }

    /// Everyone's roles.
    pub async fn all_roles(&self) -> Result<Vec<(UserName, HeldRole)>, StoreError> {
        let rows: Vec<(String, String, String, String, i64)> = sqlx::query_as(
            "SELECT u.name, r.role, r.scope, r.given_by, r.given_at FROM roles r \
             JOIN users u ON u.id = r.user_id ORDER BY u.id, r.scope, r.role",
        )
        .fetch_all(self.store.reader())
        .await
        .tried("read all roles")?;
        let held = rows.into_iter().map(|(name, role, scope, given_by, given_at)| {
            let name = name.parse().map_err(|e| corrupt("user name", e))?;
            Ok((name, HeldRole { role, scope, given_by, given_at }))
        });
        held.collect()
    }

    /// Gives a role; says what is told of it, or that they held it before.
    pub async fn give_role(
        &self,
        actor: &Actor,
        user: UserId,
        (role, scope): (&str, &str),
        concerned: &[Concerned],
    ) -> Result<Option<Vec<OutboxItem>>, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        if !insert(&mut tx, user, (role, scope), (actor, now)).await? {
            return Ok(None);
        }
        let entry = audit::Entry::new(actor, "role.give", format!("{role}@{scope}"));
        let told = changed(&mut tx, entry, user, (concerned, now)).await?;
        tx.commit().await.tried("give a role")?;
        Ok(Some(told))
    }

    /// Takes a role away, unless it is the last overlord's.
    pub async fn take_role(
        &self,
        actor: &Actor,
        user: UserId,
        (role, scope): (&str, &str),
        concerned: &[Concerned],
    ) -> Result<TakenRole, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let taken = sqlx::query("DELETE FROM roles WHERE user_id = ? AND role = ? AND scope = ?")
            .bind(user.number())
            .bind(role)
            .bind(scope)
            .execute(&mut *tx)
            .await
            .tried("take a role")?;
        if taken.rows_affected() == 0 {
            return Ok(TakenRole::NotHeld);
        }
        let overlords: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM roles WHERE role = 'overlord' AND scope = 'platform'",
        )
        .fetch_one(&mut *tx)
        .await
        .tried("count the overlords")?;
        if overlords == 0 {
            // Dropping the transaction undoes it.
            return Ok(TakenRole::LastOverlord);
        }
        let entry = audit::Entry::new(actor, "role.take", format!("{role}@{scope}"));
        let told = changed(&mut tx, entry, user, (concerned, now)).await?;
        tx.commit().await.tried("take a role")?;
        Ok(TakenRole::Taken(told))
    }
}

#[cfg(test)]
#[path = "roles_tests.rs"]
mod tests;
