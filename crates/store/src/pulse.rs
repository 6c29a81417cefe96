//! How the control plane is doing, in numbers; and whether the database takes writes.

use cloister_protocol::UserName;

use crate::error::{StoreError, Tried, corrupt};
use crate::trouble::Trouble;

/// How many of the newest answered messages are looked at for one whose answer is missing.
const LOOKED_AT: i64 = 1000;

/// The numbers of one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pulse {
    /// Messages that wait for an answer, and since when the oldest does.
    pub unanswered: i64,
    pub oldest_at: Option<i64>,
    pub queued_tasks: i64,
    pub running_tasks: i64,
    pub waiting_tasks: i64,
    /// What was said and nobody has been sent yet.
    pub undelivered: i64,
    /// Rows of the outbox in all.
    pub outbox: i64,
    pub users: i64,
    /// Workspaces over their quota.
    pub over_quota: i64,
    /// Nano-dollars that were spent today, and that are held for calls under way.
    pub spent_today: i64,
    pub reserved: i64,
    /// Of the newest answered messages: those without an answer in the outbox. Must be none.
    pub lost: i64,
}

from_row!(Pulse {
    unanswered,
    oldest_at,
    queued_tasks,
    running_tasks,
    waiting_tasks,
    undelivered,
    outbox,
    users,
    over_quota,
    spent_today,
    reserved,
    lost,
});

const PULSE: &str = "\
    SELECT \
      (SELECT count(*) FROM inbox WHERE state <> 'answered') AS unanswered, \
      (SELECT min(received_at) FROM inbox WHERE state <> 'answered') AS oldest_at, \
      (SELECT count(*) FROM tasks WHERE state = 'queued') AS queued_tasks, \
      (SELECT count(*) FROM tasks WHERE state = 'running') AS running_tasks, \
      (SELECT count(*) FROM tasks WHERE state = 'waiting') AS waiting_tasks, \
      (SELECT count(*) FROM outbox WHERE delivered_at IS NULL) AS undelivered, \
      (SELECT coalesce(max(id), 0) FROM outbox) AS outbox, \
      (SELECT count(*) FROM users) AS users, \
      (SELECT count(*) FROM workspaces WHERE over_quota <> 0) AS over_quota, \
      (SELECT coalesce(sum(cost), 0) FROM usage WHERE day = ?1) AS spent_today, \
      (SELECT coalesce(sum(amount), 0) FROM reservations WHERE own = 0) AS reserved, \
      (SELECT count(*) FROM (SELECT id, workspace_id, cause FROM inbox WHERE state = 'answered' \
                             ORDER BY id DESC LIMIT ?2) i \
       WHERE json_extract(i.cause, '$.cause') <> 'clear' AND NOT EXISTS \
         (SELECT 1 FROM outbox o WHERE o.workspace_id = i.workspace_id \
                                   AND o.turn = 't-m' || i.id)) AS lost";

/// What a user has spent today of what they may.
#[derive(Clone, Debug)]
pub struct Spend {
    pub user: UserName,
    pub spent: i64,
    pub limit: i64,
}

table! {
    /// The whole platform: how it does, whether it is stopped, what it knows of one person.
    pub struct Platform;
}

impl Platform {
    pub async fn pulse(&self) -> Result<Pulse, StoreError> {
        sqlx::query_as(PULSE)
            .bind(self.store.clock.today())
            .bind(LOOKED_AT)
            .fetch_one(self.store.reader())
            .await
            .tried("read how things are going")
    }

    /// Who has used up most of their day's budget, worst first.
    pub async fn heaviest_spenders(&self, count: u32) -> Result<Vec<Spend>, StoreError> {
        let rows: Vec<(String, i64, i64)> = sqlx::query_as(
            "SELECT u.name, sum(g.cost), u.daily_budget FROM users u \
             JOIN usage g ON g.user_id = u.id AND g.day = ? GROUP BY u.id \
             HAVING sum(g.cost) > 0 \
             ORDER BY CAST(sum(g.cost) AS REAL) / max(u.daily_budget, 1) DESC, u.id LIMIT ?",
        )
        .bind(self.store.clock.today())
        .bind(count)
        .fetch_all(self.store.reader())
        .await
        .tried("list who spent most")?;
        let spend = |(user, spent, limit): (String, i64, i64)| {
            Ok(Spend { user: user.parse().map_err(|e| corrupt("user name", e))?, spent, limit })
        };
        rows.into_iter().map(spend).collect()
    }

    /// Whether the database can be read now.
    pub async fn check_readable(&self) -> Result<(), StoreError> {
        let _users: bool = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM users)")
            .fetch_one(self.store.reader())
            .await
            .tried("be read")?;
        Ok(())
    }

    /// Whether the database takes writes now: waits for its turn to write, and leaves it. After a write that did not get
    /// to the disk one decides: else who is not ready would never be asked again.
    pub async fn check_writable(&self) -> Result<(), StoreError> {
        let tx = self.store.begin().await?;
        if self.trouble().is_some_and(|trouble| trouble != Trouble::Damaged) {
            // The smallest write there is: a number in the file's header that nobody uses.
            let written = tx.commit_after(sqlx::query("PRAGMA user_version = 0")).await;
            return written.tried("be written");
        }
        tx.rollback().await.tried("leave a write")
    }
}
