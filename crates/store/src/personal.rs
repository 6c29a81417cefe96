//! All rows that are one person's, found by what they point to: to be taken away, or erased.
//!
//! A table belongs to people when its rows name a user, a workspace of theirs, a task or an approval in it, or
//! an owner of secrets. Whoever adds a table has to do nothing; a test says which ones are the platform's.

use cloister_protocol::{UserId, WorkspaceId};
use cloister_vault::Owner;

use crate::actor::Actor;
use crate::db::Tx;
use crate::error::{StoreError, Tried, corrupt, not_found};
use crate::pulse::Platform;
use crate::{audit, requests};

/// Records handed out at once.
const PAGE: u64 = 500;
const HOUR_MS: i64 = 3_600_000;
/// The columns by which a row is someone's, and how.
const BY: &[(&str, &str)] = &[
    ("workspace_id", "workspace_id IN (SELECT id FROM workspaces WHERE user_id = ?1)"),
    ("user_id", "user_id = ?1"),
    (
        "task_id",
        "task_id IN (SELECT id FROM tasks WHERE workspace_id IN \
         (SELECT id FROM workspaces WHERE user_id = ?1))",
    ),
    (
        "approval_id",
        "approval_id IN (SELECT id FROM approvals WHERE workspace_id IN \
         (SELECT id FROM workspaces WHERE user_id = ?1))",
    ),
    ("owner", "owner = ?2"),
];
/// What requests were answered with is kept under the name of who asked.
const REQUESTS: &str = "EXISTS (SELECT 1 FROM workspaces w WHERE w.user_id = ?1 AND \
     (scope = 'w' || w.id OR scope = 'new-chat w' || w.id OR scope = 'branch w' || w.id \
      OR scope = 'task w' || w.id OR scope LIKE 'w' || w.id || '/%'))";
/// Tables whose rows are someone's by the conversation they are about, or by the account.
const BY_CONVERSATION: &[(&str, &str)] = &[
    (
        "outbox",
        "workspace_id IN (SELECT id FROM workspaces WHERE user_id = ?1) \
         OR id IN (SELECT outbox_id FROM mirrors WHERE user_id = ?1)",
    ),
    (
        "posts",
        "conversation IN (SELECT c.id FROM conversations c JOIN workspaces w ON w.id = c.workspace_id \
         WHERE w.user_id = ?1)",
    ),
    (
        "waiting_events",
        "EXISTS (SELECT 1 FROM conversations c JOIN workspaces w ON w.id = c.workspace_id \
         WHERE w.user_id = ?1 AND c.connector_id = waiting_events.connector_id \
           AND c.external_id = waiting_events.place)",
    ),
    (
        "encrypted_places",
        "place IN (SELECT c.external_id FROM conversations c JOIN workspaces w ON w.id = c.workspace_id \
         WHERE w.user_id = ?1)",
    ),
    (
        "strangers",
        "EXISTS (SELECT 1 FROM identities i WHERE i.user_id = ?1 AND i.surface = strangers.surface \
           AND i.external_id = strangers.external_id)",
    ),
];

/// A table with rows of people.
#[derive(Clone, Debug)]
struct Table {
    name: String,
    columns: Vec<String>,
    /// Which rows are those of user ?1, who as an owner is ?2.
    whose: String,
}

impl Table {
    fn of(name: String, columns: Vec<String>) -> Option<Self> {
        let whose = match name.as_str() {
            "users" => "id = ?1".to_owned(),
            "workspaces" => "user_id = ?1".to_owned(),
            "requests" => REQUESTS.to_owned(),
            // The chains have their own way to forget.
            audit if audit.starts_with("audit_") => return None,
            other => {
                if let Some((_, clause)) = BY_CONVERSATION.iter().find(|(table, _)| *table == other)
                {
                    return Some(Self { columns, whose: (*clause).to_owned(), name });
                }
                let named = BY.iter().filter(|(column, _)| columns.iter().any(|c| c == column));
                let clauses: Vec<&str> = named.map(|(_, clause)| *clause).collect();
                if clauses.is_empty() {
                    return None;
                }
                clauses.join(" OR ")
            }
        };
        Some(Self { name, columns, whose })
    }

    /// Sealed values and the hashes that open something stay here.
    fn shown(&self) -> String {
        let shown = self.columns.iter().filter(|c| *c != "sealed" && !c.ends_with("hash"));
        let pairs = shown.map(|column| {
            format!("'{column}', CASE typeof({column}) WHEN 'blob' THEN lower(hex({column})) ELSE {column} END")
        });
        pairs.collect::<Vec<_>>().join(", ")
    }
}

impl Platform {
    async fn personal_tables(&self) -> Result<Vec<Table>, StoreError> {
        let rows: Vec<(String, String)> = sqlx::query_as(
            "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c \
             WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
             AND m.name NOT LIKE '\\_sqlx%' ESCAPE '\\' ORDER BY m.name, c.cid",
        )
        .fetch_all(self.store.reader())
        .await
        .tried("list the tables")?;
        let mut tables: Vec<(String, Vec<String>)> = Vec::new();
        for (table, column) in rows {
            match tables.last_mut() {
                Some((name, columns)) if *name == table => columns.push(column),
                _ => tables.push((table, vec![column])),
            }
        }
        Ok(tables.into_iter().filter_map(|(name, columns)| Table::of(name, columns)).collect())
    }

    /// Records that somebody takes along what is a person's: once an hour, whatever they read of it and in which order.
    pub async fn note_export(
        &self,
        actor: &Actor,
        (user, workspace): (UserId, WorkspaceId),
    ) -> Result<(), StoreError> {
        let now = self.store.clock.now_ms();
        let (scope, id) = (format!("{workspace}/export"), format!("{actor} {}", now / HOUR_MS));
        if requests::known::<()>(&self.store, &scope, &id).await?.is_some() {
            return Ok(());
        }
        let mut tx = self.store.begin().await?;
        if requests::answered::<()>(&mut tx, &scope, &id).await?.is_none() {
            requests::remember(&mut tx, &scope, &id, &(), now).await?;
            let entry = audit::Entry::new(actor, "user.export", user).of_workspace(workspace);
            audit::record(&mut tx, now, entry).await?;
        }
        tx.commit().await.tried("record that somebody's data is exported")
    }

    /// The kinds of records that there can be of a person.
    pub async fn personal_kinds(&self) -> Result<Vec<String>, StoreError> {
        let tables = self.personal_tables().await?;
        Ok(tables.into_iter().map(|table| table.name).collect())
    }

    /// Records of one kind from a place on, and the place to go on from.
    pub async fn personal_records(
        &self,
        user: UserId,
        kind: &str,
        from: u64,
    ) -> Result<(Vec<serde_json::Value>, Option<u64>), StoreError> {
        let tables = self.personal_tables().await?;
        let table = tables.into_iter().find(|table| table.name == kind);
        let table = table.ok_or_else(|| not_found("kind of record", kind))?;
        let query = format!(
            "SELECT json_object({}) FROM {} WHERE {} LIMIT ?3 OFFSET ?4",
            table.shown(),
            table.name,
            table.whose
        );
        let rows: Vec<String> = sqlx::query_scalar(sqlx::AssertSqlSafe(query))
            .bind(user.number())
            .bind(Owner::User(user).to_string())
            .bind(i64::try_from(PAGE).unwrap_or(i64::MAX))
            .bind(i64::try_from(from).unwrap_or(i64::MAX))
            .fetch_all(self.store.reader())
            .await
            .tried("read someone's records")?;
        let next = (rows.len() as u64 == PAGE).then(|| from.saturating_add(PAGE));
        let read = |row: String| serde_json::from_str(&row).map_err(|e| corrupt("record", e));
        Ok((rows.into_iter().map(read).collect::<Result<_, _>>()?, next))
    }

    /// The objects that keep what was sent to a person.
    pub async fn personal_objects(&self, user: UserId) -> Result<Vec<String>, StoreError> {
        sqlx::query_scalar(
            "SELECT id FROM artifacts WHERE workspace_id IN (SELECT id FROM workspaces WHERE user_id = ?)",
        )
        .bind(user.number())
        .fetch_all(self.store.reader())
        .await
        .tried("list what was sent to someone")
    }

    /// Erases every record of a person, their data key with them; returns how many there were. The id is given
    /// to nobody else.
    pub async fn erase_records(&self, actor: &Actor, user: UserId) -> Result<u64, StoreError> {
        let tables = self.personal_tables().await?;
        let mut tx = self.store.begin().await?;
        sqlx::query("PRAGMA secure_delete = ON")
            .execute(&mut *tx)
            .await
            .tried("overwrite what is deleted")?;
        let erased = delete_all(&mut tx, user, tables).await?;
        let entry = audit::Entry::new(actor, "user.erase", user).with(format!("{erased} records"));
        audit::record(&mut tx, self.store.clock.now_ms(), entry).await?;
        tx.commit().await.tried("erase someone's records")?;
        Ok(erased)
    }
}

/// Deletes from one table after another; those that others still point to come again when these are empty.
async fn delete_all(tx: &mut Tx, user: UserId, mut tables: Vec<Table>) -> Result<u64, StoreError> {
    // What says whose the rest is goes last.
    tables.sort_by_key(|table| match table.name.as_str() {
        "users" => 4,
        "workspaces" => 3,
        "tasks" => 2,
        "approvals" | "conversations" | "identities" | "mirrors" => 1,
        _ => 0,
    });
    let mut erased = 0;
    loop {
        let before = tables.len();
        let mut left = Vec::new();
        let mut failed = None;
        for table in tables {
            let query = format!("DELETE FROM {} WHERE {}", table.name, table.whose);
            let done = sqlx::query(sqlx::AssertSqlSafe(query))
                .bind(user.number())
                .bind(Owner::User(user).to_string())
                .execute(&mut *tx)
                .await;
            match done {
                Ok(done) => erased += done.rows_affected(),
                Err(error) => {
                    failed = Some(error);
                    left.push(table);
                }
            }
        }
        match failed {
            None => return Ok(erased),
            Some(source) if left.len() == before => {
                return Err(StoreError::Query { what: "erase someone's records", source });
            }
            Some(_) => tables = left,
        }
    }
}

#[cfg(test)]
#[path = "personal_tests.rs"]
mod tests;
