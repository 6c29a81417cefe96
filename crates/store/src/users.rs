//! Users and their workspaces: people with a private one each, and the accounts of communities.

use cloister_protocol::{UserId, UserName, WorkspaceId};

use crate::actor::Actor;
use crate::audit;
use crate::error::{StoreError, Tried, corrupt, not_found};
use crate::raises;
use crate::roles;

/// The user who runs this machine.
const FIRST: u32 = 1;
/// How long the guided start is offered once it was.
const START_OFFER_MS: i64 = 10 * 60 * 1000;

/// The limits a new user starts with.
#[derive(Clone, Copy, Debug)]
pub struct UserLimits {
    pub quota_bytes: u64,
    pub max_executors: u32,
    /// Nano-dollars per UTC day.
    pub daily_budget: i64,
    /// Nano-dollars per task.
    pub task_budget: i64,
}

/// Whose account it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountKind {
    Person,
    /// What a community has in place of a person's account; nobody logs in as it.
    Community,
}

impl AccountKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Community => "community",
        }
    }
}

#[derive(Clone, Debug)]
pub struct User {
    pub id: UserId,
    pub name: UserName,
    /// What they are called, in any script; empty: by their name.
    pub display_name: String,
    pub kind: AccountKind,
    pub workspace: WorkspaceId,
    pub limits: UserLimits,
    pub over_quota: bool,
}

impl User {
    /// What people read who this is.
    pub fn called(&self) -> &str {
        if self.display_name.is_empty() { self.name.as_str() } else { &self.display_name }
    }
}

struct Row {
    id: u32,
    name: String,
    display_name: String,
    kind: String,
    workspace: u32,
    quota_bytes: i64,
    max_executors: u32,
    daily_budget: i64,
    task_budget: i64,
    over_quota: bool,
}

from_row!(Row {
    id,
    name,
    display_name,
    kind,
    workspace,
    quota_bytes,
    max_executors,
    daily_budget,
    task_budget,
    over_quota,
});

const SELECT: &str = "SELECT u.id, u.name, u.display_name, u.kind, w.id AS workspace, u.quota_bytes, u.max_executors, \
     u.daily_budget, u.task_budget, w.over_quota FROM users u JOIN workspaces w ON w.user_id = u.id";

impl Row {
    fn into_user(self) -> Result<User, StoreError> {
        let kind = match self.kind.as_str() {
            "person" => AccountKind::Person,
            "community" => AccountKind::Community,
            other => return Err(corrupt("kind of account", other)),
        };
        Ok(User {
            id: UserId::from_number(self.id),
            name: self.name.parse().map_err(|e| corrupt("user name", e))?,
            display_name: self.display_name,
            kind,
            workspace: WorkspaceId::from_number(self.workspace),
            limits: UserLimits {
                quota_bytes: self.quota_bytes.unsigned_abs(),
                max_executors: self.max_executors,
                daily_budget: self.daily_budget,
                task_budget: self.task_budget,
            },
            over_quota: self.over_quota,
        })
    }
}

table! {
    /// People, their accounts, roles and sessions.
    pub struct Users;
}

impl Users {
    /// Makes a user and their workspace, of which they are a member. The first user of all rules.
    pub async fn add_user(
        &self,
        actor: &Actor,
        name: &UserName,
        limits: UserLimits,
    ) -> Result<User, StoreError> {
        self.add_account(actor, name, AccountKind::Person, limits).await
    }

    /// Makes an account of either kind, with its workspace.
    pub async fn add_account(
        &self,
        actor: &Actor,
        name: &UserName,
        kind: AccountKind,
        limits: UserLimits,
    ) -> Result<User, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let id: Option<u32> = sqlx::query_scalar(
            "INSERT INTO users (name, kind, created_at, quota_bytes, max_executors, daily_budget, \
             task_budget) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING RETURNING id",
        )
        .bind(name.as_str())
        .bind(kind.as_str())
        .bind(now)
        .bind(i64::try_from(limits.quota_bytes).unwrap_or(i64::MAX))
        .bind(limits.max_executors)
        .bind(limits.daily_budget)
        .bind(limits.task_budget)
        .fetch_optional(&mut *tx)
        .await
        .tried("add a user")?;
        let Some(id) = id else {
            return Err(StoreError::Exists { what: "user", name: name.to_string() });
        };
        let add = "INSERT INTO workspaces (user_id, created_at) VALUES (?, ?) RETURNING id";
        let workspace: u32 = sqlx::query_scalar(add)
            .bind(id)
            .bind(now)
            .fetch_one(&mut *tx)
            .await
            .tried("add a workspace")?;
        let user = UserId::from_number(id);
        let scope = format!("workspace:{}", WorkspaceId::from_number(workspace));
        roles::insert(&mut tx, user, ("member", &scope), (actor, now)).await?;
        if id == FIRST && kind == AccountKind::Person {
            roles::insert(&mut tx, user, ("overlord", "platform"), (actor, now)).await?;
        }
        let action = match kind {
            AccountKind::Person => "user.add",
            AccountKind::Community => "workspace.add",
        };
        audit::record(&mut tx, now, audit::Entry::new(actor, action, name)).await?;
        tx.commit().await.tried("add a user")?;
        self.user(name).await
    }

    pub async fn all(&self) -> Result<Vec<User>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(format!("{SELECT} ORDER BY u.id")))
            .fetch_all(self.store.reader())
            .await
            .tried("list users")?;
        rows.into_iter().map(Row::into_user).collect()
    }

    pub async fn user(&self, name: &UserName) -> Result<User, StoreError> {
        let read = async {
            let row: Option<Row> =
                sqlx::query_as(sqlx::AssertSqlSafe(format!("{SELECT} WHERE u.name = ?")))
                    .bind(name.as_str())
                    .fetch_optional(self.store.reader())
                    .await
                    .tried("find a user")?;
            row.ok_or_else(|| not_found("user", name))?.into_user()
        };
        self.store.memory.users.or_read(name.clone(), read).await
    }

    pub async fn user_by_id(&self, id: UserId) -> Result<User, StoreError> {
        let row: Option<Row> =
            sqlx::query_as(sqlx::AssertSqlSafe(format!("{SELECT} WHERE u.id = ?")))
                .bind(id.number())
                .fetch_optional(self.store.reader())
                .await
                .tried("find a user")?;
        row.ok_or_else(|| not_found("user", id))?.into_user()
    }

    /// Whose workspace it is: a person's, or a community's account.
    pub async fn user_of(&self, workspace: WorkspaceId) -> Result<User, StoreError> {
        let read = async {
            let row: Option<Row> =
                sqlx::query_as(sqlx::AssertSqlSafe(format!("{SELECT} WHERE w.id = ?")))
                    .bind(workspace.number())
                    .fetch_optional(self.store.reader())
                    .await
                    .tried("find the user of a workspace")?;
            row.ok_or_else(|| not_found("workspace", workspace))?.into_user()
        };
        self.store.memory.owners.or_read(workspace, read).await
    }

    /// Replaces a user's limits.
    pub async fn set_limits(
        &self,
        actor: &Actor,
        name: &UserName,
        limits: UserLimits,
    ) -> Result<User, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let before: Option<(u32, i64)> =
            sqlx::query_as("SELECT id, daily_budget FROM users WHERE name = ?")
                .bind(name.as_str())
                .fetch_optional(&mut *tx)
                .await
                .tried("read a user's limits")?;
        let (user, daily) = before.ok_or_else(|| not_found("user", name))?;
        sqlx::query(
            "UPDATE users SET quota_bytes = ?, max_executors = ?, daily_budget = ?, task_budget = ? \
             WHERE name = ?",
        )
        .bind(i64::try_from(limits.quota_bytes).unwrap_or(i64::MAX))
        .bind(limits.max_executors)
        .bind(limits.daily_budget)
        .bind(limits.task_budget)
        .bind(name.as_str())
        .execute(&mut *tx)
        .await
        .tried("change a user's limits")?;
        if limits.daily_budget > daily {
            raises::day_is_raised(&mut tx, UserId::from_number(user)).await?;
        }
        let detail = format!("{limits:?}");
        audit::record(&mut tx, now, audit::Entry::new(actor, "user.limits", name).with(detail))
            .await?;
        tx.commit().await.tried("change a user's limits")?;
        self.user(name).await
    }

    /// What a user is called from now on; empty: by their name.
    pub async fn set_display_name(
        &self,
        actor: &Actor,
        name: &UserName,
        called: &str,
    ) -> Result<User, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let changed = sqlx::query("UPDATE users SET display_name = ? WHERE name = ?")
            .bind(called)
            .bind(name.as_str())
            .execute(&mut *tx)
            .await
            .tried("name a user")?;
        if changed.rows_affected() == 0 {
            return Err(not_found("user", name));
        }
        audit::record(&mut tx, now, audit::Entry::new(actor, "user.display_name", name)).await?;
        tx.commit().await.tried("name a user")?;
        self.user(name).await
    }

    /// Whether the guided start is to be offered: for a while from the first login on, unless it was used or
    /// skipped before. Looking changes nothing.
    pub async fn offers_start(&self, user: UserId) -> Result<bool, StoreError> {
        let now = self.store.clock.now_ms();
        let at = self.start_offered_at(user).await?;
        Ok(at.is_none_or(|at| now.saturating_sub(at) < START_OFFER_MS))
    }

    /// From here on the guided start is offered, unless it was before.
    pub async fn begin_start_offer(&self, user: UserId) -> Result<(), StoreError> {
        match self.start_offered_at(user).await? {
            Some(_) => Ok(()),
            None => self.note_start(user, self.store.clock.now_ms()).await,
        }
    }

    async fn start_offered_at(&self, user: UserId) -> Result<Option<i64>, StoreError> {
        let read = "SELECT start_offered_at FROM users WHERE id = ?";
        let offered_at: Option<Option<i64>> = sqlx::query_scalar(read)
            .bind(user.number())
            .fetch_optional(self.store.reader())
            .await
            .tried("see whether the guided start was offered")?;
        offered_at.ok_or_else(|| not_found("user", user))
    }

    /// The guided start was used or skipped: it is not offered again.
    pub async fn close_start(&self, user: UserId) -> Result<(), StoreError> {
        self.note_start(user, 0).await
    }

    async fn note_start(&self, user: UserId, at: i64) -> Result<(), StoreError> {
        let mut tx = self.store.begin_one().await?;
        sqlx::query("UPDATE users SET start_offered_at = ? WHERE id = ?")
            .bind(at)
            .bind(user.number())
            .execute(&mut *tx)
            .await
            .tried("note that the guided start was offered")?;
        tx.commit().await.tried("note that the guided start was offered")
    }

    /// Remembers that a workspace passed its quota, or came back under it.
    pub async fn set_over_quota(
        &self,
        workspace: WorkspaceId,
        over: bool,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.begin_one().await?;
        sqlx::query("UPDATE workspaces SET over_quota = ? WHERE id = ?")
            .bind(over)
            .bind(workspace.number())
            .execute(&mut *tx)
            .await
            .tried("mark a workspace's quota")?;
        tx.commit().await.tried("mark a workspace's quota")
    }
}
