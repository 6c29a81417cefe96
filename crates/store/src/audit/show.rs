//! Entries as people read them.

use cloister_vault::Owner;

use crate::audit::AuditLog;
use crate::error::{StoreError, Tried, not_found};

/// An entry as people see it. What was erased is empty.
#[derive(Clone, Debug, serde::Serialize)]
pub struct AuditRow {
    pub id: i64,
    pub chain: String,
    pub seq: i64,
    pub at: i64,
    pub actor: String,
    pub action: String,
    pub subject: String,
    pub detail: String,
    /// Something of it was erased.
    pub redacted: bool,
}

from_row!(AuditRow { id, chain, seq, at, actor, action, subject, detail, redacted });

/// What ties an entry to its chain.
#[derive(Clone, Debug)]
pub struct Ties {
    pub hash: Vec<u8>,
    pub prev: Vec<u8>,
    /// The segment it is sealed in, and the first checkpoint that signs for it.
    pub segment: Option<i64>,
    pub checkpoint: Option<i64>,
}

from_row!(Ties { hash, prev, segment, checkpoint });

const SHOWN: &str = "SELECT id, chain, seq, at, COALESCE(actor, '') AS actor, action, \
     COALESCE(subject, '') AS subject, COALESCE(detail, '') AS detail, \
     detail IS NULL OR names_salt IS NULL AS redacted FROM audit_entries";

fn number(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}

impl AuditLog {
    /// The newest entries of all chains, newest first.
    pub async fn audit_tail(&self, count: u32) -> Result<Vec<AuditRow>, StoreError> {
        sqlx::query_as(sqlx::AssertSqlSafe(format!("{SHOWN} ORDER BY id DESC LIMIT ?")))
            .bind(count)
            .fetch_all(self.store.reader())
            .await
            .tried("read the audit trail")
    }

    /// Entries of one chain, newest first, before the given number if one is given.
    #[cfg(test)]
    pub(crate) async fn audit_of(
        &self,
        chain: Owner,
        before: Option<u64>,
        count: u32,
    ) -> Result<Vec<AuditRow>, StoreError> {
        let query = format!("{SHOWN} WHERE chain = ? AND seq < ? ORDER BY seq DESC LIMIT ?");
        sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(chain.to_string())
            .bind(before.map_or(i64::MAX, number))
            .bind(count)
            .fetch_all(self.store.reader())
            .await
            .tried("read an audit chain")
    }

    /// Entries of some chains, oldest first: those that came after the one of this id, or the newest.
    pub async fn audit_among(
        &self,
        chains: &[Owner],
        after: Option<i64>,
        count: u32,
    ) -> Result<Vec<AuditRow>, StoreError> {
        let chains: Vec<String> = chains.iter().map(ToString::to_string).collect();
        let among = "chain IN (SELECT value FROM json_each(?1))";
        let query = match after {
            Some(_) => format!("{SHOWN} WHERE id > ?2 AND {among} ORDER BY id LIMIT ?3"),
            None => format!(
                "SELECT * FROM ({SHOWN} WHERE id > ?2 AND {among} ORDER BY id DESC LIMIT ?3) ORDER BY id"
            ),
        };
        sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(serde_json::to_string(&chains).unwrap_or_default())
            .bind(after.unwrap_or(0))
            .bind(count)
            .fetch_all(self.store.reader())
            .await
            .tried("follow the audit trail")
    }

    /// One entry, and what ties it to its chain.
    pub async fn audit_entry(
        &self,
        chain: Owner,
        seq: u64,
    ) -> Result<(AuditRow, Ties), StoreError> {
        let query = format!("{SHOWN} WHERE chain = ? AND seq = ?");
        let row: Option<AuditRow> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(chain.to_string())
            .bind(number(seq))
            .fetch_optional(self.store.reader())
            .await
            .tried("find an audit entry")?;
        let row = row.ok_or_else(|| not_found("audit entry", format!("{chain}/{seq}")))?;
        let ties: Ties = sqlx::query_as(
            "SELECT e.hash, e.prev, \
             (SELECT number FROM audit_segments s WHERE s.chain = e.chain AND s.written = 1 \
              AND e.seq BETWEEN s.first AND s.last) AS segment, \
             (SELECT MIN(number) FROM audit_checkpoints WHERE last_entry >= e.id) AS checkpoint \
             FROM audit_entries e WHERE e.id = ?",
        )
        .bind(row.id)
        .fetch_one(self.store.reader())
        .await
        .tried("find what signs for an audit entry")?;
        Ok((row, ties))
    }
}
