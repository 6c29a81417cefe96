//! Entries in the database.

use cloister_vault::{Digest32, Owner};
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteRow};
use sqlx::{FromRow, Row as _, SqliteExecutor};

use super::record::{Detail, Names, Record, Salt};
use crate::error::{StoreError, Tried, corrupt};

pub(super) const COLUMNS: &str = "seq, at, action, actor, subject, names_salt, names_hash, detail, \
     detail_salt, detail_hash, prev, hash";

/// An entry as the database holds it; it may hold anything.
pub(super) struct Row {
    seq: i64,
    at: i64,
    action: String,
    actor: Option<String>,
    subject: Option<String>,
    names_salt: Option<Vec<u8>>,
    names_hash: Vec<u8>,
    detail: Option<String>,
    detail_salt: Option<Vec<u8>>,
    detail_hash: Vec<u8>,
    prev: Vec<u8>,
    hash: Vec<u8>,
}

/// By position, in the order of `COLUMNS`: a million rows are not looked up by name.
impl FromRow<'_, SqliteRow> for Row {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            seq: row.try_get(0)?,
            at: row.try_get(1)?,
            action: row.try_get(2)?,
            actor: row.try_get(3)?,
            subject: row.try_get(4)?,
            names_salt: row.try_get(5)?,
            names_hash: row.try_get(6)?,
            detail: row.try_get(7)?,
            detail_salt: row.try_get(8)?,
            detail_hash: row.try_get(9)?,
            prev: row.try_get(10)?,
            hash: row.try_get(11)?,
        })
    }
}

fn salt(bytes: Option<Vec<u8>>) -> Option<Salt> {
    bytes.and_then(|bytes| bytes.try_into().ok()).map(Salt)
}

impl Row {
    pub(super) fn number(&self) -> i64 {
        self.seq
    }

    pub(super) fn into_record(self) -> Result<Record, StoreError> {
        let seq = self.seq;
        let digest = |bytes: &[u8]| {
            Digest32::from_slice(bytes).ok_or_else(|| corrupt("hash in audit entry", seq))
        };
        let names = match (self.actor, self.subject, salt(self.names_salt)) {
            (Some(actor), Some(subject), Some(salt)) => Some(Names { actor, subject, salt }),
            _ => None,
        };
        let detail = match (self.detail, salt(self.detail_salt)) {
            (Some(text), Some(salt)) => Some(Detail { text, salt }),
            _ => None,
        };
        Ok(Record {
            seq: u64::try_from(seq).map_err(|_negative| corrupt("audit entry number", seq))?,
            at: self.at,
            action: self.action,
            names,
            names_hash: digest(&self.names_hash)?,
            detail,
            detail_hash: digest(&self.detail_hash)?,
            prev: digest(&self.prev)?,
            hash: digest(&self.hash)?,
        })
    }
}

/// Writes an entry, and begins its chain with the first. What is written on the same way has the arguments before it:
/// numbers that a statement leaves out count as used for those behind it, and must not pass what there is.
macro_rules! write_entry {
    () => {
        write_entry!("?1" "?2" "?3" "?4" "?5" "?6" "?7" "?8" "?9" "?10" "?11" "?12" "?13")
    };
    (after 4) => {
        write_entry!("?5" "?6" "?7" "?8" "?9" "?10" "?11" "?12" "?13" "?14" "?15" "?16" "?17")
    };
    ($chain:literal $seq:literal $($other:literal)+) => {
        concat!(
            "INSERT INTO audit_chains (chain) SELECT ", $chain, " WHERE ", $seq, " = 1; \
             INSERT INTO audit_entries (chain, seq, at, action, actor, subject, names_salt, names_hash, detail, \
             detail_salt, detail_hash, prev, hash) VALUES (", $chain, ", ", $seq, $(", ", $other,)+ ")"
        )
    };
}
pub(crate) use write_entry;

/// A statement with its arguments.
pub(crate) type SqliteQuery = Query<'static, Sqlite, SqliteArguments>;

/// The arguments of `write_entry`, behind those that are bound.
pub(super) fn bind(query: SqliteQuery, chain: Owner, record: &Record) -> SqliteQuery {
    let names = record.names.as_ref();
    let detail = record.detail.as_ref();
    query
        .bind(chain.to_string())
        .bind(i64::try_from(record.seq).unwrap_or(i64::MAX))
        .bind(record.at)
        .bind(record.action.as_str())
        .bind(names.map(|names| names.actor.as_str()))
        .bind(names.map(|names| names.subject.as_str()))
        .bind(names.map(|names| names.salt.0.as_slice()))
        .bind(record.names_hash.0.as_slice())
        .bind(detail.map(|detail| detail.text.as_str()))
        .bind(detail.map(|detail| detail.salt.0.as_slice()))
        .bind(record.detail_hash.0.as_slice())
        .bind(record.prev.0.as_slice())
        .bind(record.hash.0.as_slice())
}

/// Entries `first` to `last` of a chain, in order.
pub(super) async fn read(
    database: impl SqliteExecutor<'_>,
    chain: Owner,
    first: u64,
    last: u64,
) -> Result<Vec<Record>, StoreError> {
    let number = |seq| i64::try_from(seq).unwrap_or(i64::MAX);
    let query = format!(
        "SELECT {COLUMNS} FROM audit_entries WHERE chain = ? AND seq BETWEEN ? AND ? ORDER BY seq"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(query))
        .bind(chain.to_string())
        .bind(number(first))
        .bind(number(last))
        .fetch_all(database)
        .await
        .tried("read audit entries")?;
    rows.into_iter().map(Row::into_record).collect()
}
