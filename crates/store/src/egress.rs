//! Where users' executors may go, and what went there.

use cloister_protocol::UserId;
use sqlx::Sqlite;
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;

use crate::actor::Actor;
use crate::audit;
use crate::error::{StoreError, Tried};

#[derive(Clone, Debug, serde::Serialize)]
pub struct EgressRule {
    pub rule: String,
    pub added_by: String,
    pub added_at: i64,
}

from_row!(EgressRule { rule, added_by, added_at });

/// What one request (or several) moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub requests: i64,
    pub bytes_out: i64,
    pub bytes_in: i64,
}

#[derive(Clone, Debug, serde::Serialize)]
pub struct EgressUsage {
    pub day: String,
    pub host: String,
    pub requests: i64,
    pub bytes_out: i64,
    pub bytes_in: i64,
}

from_row!(EgressUsage { day, host, requests, bytes_out, bytes_in });

table! {
    /// Where agents may go, and what went there.
    pub struct EgressRules;
}

impl EgressRules {
    /// The rules of a user, as text; policy reads them.
    pub async fn egress_rules(&self, user: UserId) -> Result<Vec<String>, StoreError> {
        let read = async {
            sqlx::query_scalar("SELECT rule FROM egress_rules WHERE user_id = ?")
                .bind(user.number())
                .fetch_all(self.store.reader())
                .await
                .tried("read the egress rules of a user")
        };
        self.store.memory.egress_rules.or_read(user, read).await
    }

    pub async fn egress_rule_list(&self, user: UserId) -> Result<Vec<EgressRule>, StoreError> {
        sqlx::query_as(
            "SELECT rule, added_by, added_at FROM egress_rules WHERE user_id = ? ORDER BY rule",
        )
        .bind(user.number())
        .fetch_all(self.store.reader())
        .await
        .tried("list the egress rules of a user")
    }

    /// Adds a rule that policy has checked; whether it is new.
    pub async fn allow_egress(
        &self,
        actor: &Actor,
        user: UserId,
        rule: &str,
    ) -> Result<bool, StoreError> {
        let add = sqlx::query(
            "INSERT INTO egress_rules (user_id, rule, added_by, added_at) VALUES (?, ?, ?, ?) \
             ON CONFLICT DO NOTHING",
        );
        let add = add
            .bind(user.number())
            .bind(rule)
            .bind(actor.to_string())
            .bind(self.store.clock.now_ms());
        let entry = audit::Entry::new(actor, "egress.allow", user).with(rule).of(user);
        self.change_egress(add, entry).await
    }

    /// Removes a rule; whether there was one.
    pub async fn forbid_egress(
        &self,
        actor: &Actor,
        user: UserId,
        rule: &str,
    ) -> Result<bool, StoreError> {
        let remove = sqlx::query("DELETE FROM egress_rules WHERE user_id = ? AND rule = ?");
        let entry = audit::Entry::new(actor, "egress.forbid", user).with(rule).of(user);
        self.change_egress(remove.bind(user.number()).bind(rule), entry).await
    }

    /// Changes a rule and says so in the audit trail; whether there was something to change.
    async fn change_egress(
        &self,
        change: Query<'_, Sqlite, SqliteArguments>,
        entry: audit::Entry,
    ) -> Result<bool, StoreError> {
        let mut tx = self.store.begin().await?;
        let changed = change.execute(&mut *tx).await.tried("change an egress rule")?;
        let is_change = changed.rows_affected() == 1;
        if is_change {
            audit::record(&mut tx, self.store.clock.now_ms(), entry).await?;
        }
        tx.commit().await.tried("change an egress rule")?;
        Ok(is_change)
    }

    /// Adds to what a user moved today to and from a host.
    pub async fn add_egress_usage(
        &self,
        user: UserId,
        host: &str,
        traffic: Traffic,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.begin_one().await?;
        sqlx::query(
            "INSERT INTO egress_usage (user_id, day, host, requests, bytes_out, bytes_in) \
             VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (user_id, day, host) DO UPDATE SET \
             requests = requests + excluded.requests, bytes_out = bytes_out + excluded.bytes_out, \
             bytes_in = bytes_in + excluded.bytes_in",
        )
        .bind(user.number())
        .bind(self.store.clock.today())
        .bind(host)
        .bind(traffic.requests)
        .bind(traffic.bytes_out)
        .bind(traffic.bytes_in)
        .execute(&mut *tx)
        .await
        .tried("count egress")?;
        tx.commit().await.tried("count egress")
    }

    /// What a user moved today, all hosts together.
    pub async fn egress_today(&self, user: UserId) -> Result<Traffic, StoreError> {
        let (requests, bytes_out, bytes_in) = sqlx::query_as(
            "SELECT COALESCE(SUM(requests), 0), COALESCE(SUM(bytes_out), 0), \
             COALESCE(SUM(bytes_in), 0) FROM egress_usage WHERE user_id = ? AND day = ?",
        )
        .bind(user.number())
        .bind(self.store.clock.today())
        .fetch_one(self.store.reader())
        .await
        .tried("read a user's egress")?;
        Ok(Traffic { requests, bytes_out, bytes_in })
    }

    /// What a user moved, newest day first.
    pub async fn egress_usage(
        &self,
        user: UserId,
        rows: u32,
    ) -> Result<Vec<EgressUsage>, StoreError> {
        sqlx::query_as(
            "SELECT day, host, requests, bytes_out, bytes_in FROM egress_usage WHERE user_id = ? \
             ORDER BY day DESC, host LIMIT ?",
        )
        .bind(user.number())
        .bind(rows)
        .fetch_all(self.store.reader())
        .await
        .tried("list a user's egress")
    }
}
