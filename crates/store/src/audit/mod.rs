//! The audit trail: one entry per effect, written in the effect's own transaction, hash-chained per user and
//! for the platform.
//!
//! Promises: no entry, no effect. An entry that is changed, taken away, put in or moved is found by `verify`,
//! up to the newest checkpoint; against whoever holds the signing key as well, up to the newest checkpoint a
//! witness has. Content can be erased, and the chain stays whole.

pub mod checker;
pub mod checkpoint;
mod error;
pub mod export;
mod fingerprint;
pub mod merkle;
mod ranges;
pub mod record;
mod redact;
pub mod report;
mod rows;
mod seal;
pub mod segment;
mod show;
mod statements;
mod verify;
pub mod witness;

use cloister_protocol::{TaskId, UserId, WorkspaceId};
use cloister_vault::{Digest32, Owner};
use sqlx::SqliteExecutor;

pub use error::AuditError;
pub use fingerprint::Fingerprint;
pub use ranges::{ParseRangesError, Ranges};
pub use redact::{Erasure, Redaction};
pub use report::{Fault, Finding, Report, Where};
pub use seal::{Repair, SealOptions, Sealer};
pub use show::{AuditRow, Ties};
pub use verify::{Verification, verify_files};

use crate::actor::Actor;
use crate::db::{Store, Tx};
use crate::error::{StoreError, Tried, corrupt, not_found};
use crate::telling;
use crate::tx::WriteTx;
use record::{Record, Salt, Tip};
pub(crate) use rows::{SqliteQuery, write_entry};

/// Which chain an entry goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WhichChain {
    Of(Owner),
    /// The chain of whoever the workspace belongs to.
    Workspace(WorkspaceId),
}

/// Who did what to what. `action` is a word of ours and stays for ever; the rest can be erased.
#[derive(Clone, Debug)]
pub struct Entry {
    place: WhichChain,
    /// Who it is, if they were recognised, and their name; whoever runs the machine has none.
    by: Option<(UserId, Option<String>)>,
    pub actor: String,
    pub action: &'static str,
    pub subject: String,
    pub detail: String,
}

impl Entry {
    /// An entry of the platform's chain, unless it is said to be `of` a user.
    pub fn new(actor: &Actor, action: &'static str, subject: impl ToString) -> Self {
        let by = actor.user().map(|user| (user, actor.name().map(str::to_owned)));
        Self { by, ..Self::named(actor.to_string(), action, subject) }
    }

    pub(crate) const fn by(&self) -> Option<&(UserId, Option<String>)> {
        self.by.as_ref()
    }

    fn named(actor: String, action: &'static str, subject: impl ToString) -> Self {
        Self {
            place: WhichChain::Of(Owner::Platform),
            by: None,
            actor,
            action,
            subject: subject.to_string(),
            detail: String::new(),
        }
    }

    pub fn with(mut self, detail: impl ToString) -> Self {
        self.detail = detail.to_string();
        self
    }

    /// Puts the entry into a user's chain.
    pub fn of(self, user: UserId) -> Self {
        self.in_chain(Owner::User(user))
    }

    /// Puts the entry into the chain of whoever a workspace belongs to.
    pub fn of_workspace(self, workspace: WorkspaceId) -> Self {
        Self { place: WhichChain::Workspace(workspace), ..self }
    }

    pub fn in_chain(self, chain: Owner) -> Self {
        Self { place: WhichChain::Of(chain), ..self }
    }

    /// Whose chain it goes to, if it is known by a workspace.
    pub(crate) const fn workspace(&self) -> Option<WorkspaceId> {
        match self.place {
            WhichChain::Workspace(workspace) => Some(workspace),
            WhichChain::Of(_) => None,
        }
    }

    /// What a cell did, at a task or in its chat, in the chain of its user.
    pub fn of_cell(
        (workspace, task): (WorkspaceId, Option<TaskId>),
        action: &'static str,
        subject: impl ToString,
    ) -> Self {
        Self::new(&Actor::Cell { workspace, task }, action, subject).of_workspace(workspace)
    }
}

/// What was said, as an entry tells of it: enough to prove the words, which are kept elsewhere.
pub(crate) fn said(text: &str) -> String {
    use sha2::{Digest, Sha256};
    let hash = hex::encode(Sha256::digest(text.as_bytes()));
    format!("{} characters, sha256 {hash}", text.chars().count())
}

/// Appends an entry to its chain: in the transaction of the effect, or the effect does not happen.
pub(crate) async fn record(tx: &mut Tx, at: i64, entry: Entry) -> Result<(), StoreError> {
    append(tx, at, entry).await.map(|_tip| ())
}

/// The same, and commits.
pub(crate) async fn record_last(mut tx: WriteTx, at: i64, entry: Entry) -> Result<(), StoreError> {
    let (chain, tip) = chain_and_tip(&mut tx, entry.place).await?;
    telling::tell(&mut tx, (chain, tip.seq + 1), &entry, at).await?;
    let record = Record::next(chain, &tip, at, entry, salts()?);
    let writing = rows::bind(sqlx::query(write_entry!()), chain, &record);
    tx.commit_after(writing).await.tried("write an audit entry")
}

/// Where the chain of a workspace's user ends, as it is read on the way of another statement: a row of the user, and
/// the number and the hash of the last entry.
macro_rules! end_of_chain {
    ($workspace:literal) => {
        concat!(
            "SELECT w.user_id, e.seq, e.hash FROM workspaces w \
             LEFT JOIN audit_entries e ON e.chain = 'u' || w.user_id WHERE w.id = ",
            $workspace,
            " ORDER BY e.seq DESC LIMIT 1"
        )
    };
}
pub(crate) use end_of_chain;

/// What `end_of_chain` brings.
pub(crate) type ChainEnd = (i64, Option<i64>, Option<Vec<u8>>);

/// The next entry of a chain whose end was read in the same transaction, as arguments of `write_entry`.
pub(crate) fn next_entry(
    writing: SqliteQuery,
    end: ChainEnd,
    at: i64,
    entry: Entry,
) -> Result<SqliteQuery, StoreError> {
    let (chain, tip) = end_of(end)?;
    let record = Record::next(chain, &tip, at, entry, salts()?);
    Ok(rows::bind(writing, chain, &record))
}

async fn append(tx: &mut Tx, at: i64, entry: Entry) -> Result<Tip, StoreError> {
    let (chain, tip) = chain_and_tip(&mut *tx, entry.place).await?;
    telling::tell(&mut *tx, (chain, tip.seq + 1), &entry, at).await?;
    let record = Record::next(chain, &tip, at, entry, salts()?);
    let writing = rows::bind(sqlx::query(write_entry!()), chain, &record);
    writing.execute(&mut *tx).await.tried("write an audit entry")?;
    Ok(record.tip())
}

async fn chain_and_tip(tx: &mut Tx, place: WhichChain) -> Result<(Owner, Tip), StoreError> {
    match place {
        WhichChain::Of(chain) => Ok((chain, tip_of(&mut *tx, chain).await?)),
        WhichChain::Workspace(workspace) => tip_of_workspace(tx, workspace).await,
    }
}

fn salts() -> Result<[Salt; 2], StoreError> {
    let mut salts = [Salt([0; 16]); 2];
    for salt in &mut salts {
        getrandom::fill(&mut salt.0).map_err(StoreError::Random)?;
    }
    Ok(salts)
}

async fn tip_of(database: impl SqliteExecutor<'_>, chain: Owner) -> Result<Tip, StoreError> {
    let row: Option<(i64, Vec<u8>)> = sqlx::query_as(
        "SELECT seq, hash FROM audit_entries WHERE chain = ? ORDER BY seq DESC LIMIT 1",
    )
    .bind(chain.to_string())
    .fetch_optional(database)
    .await
    .tried("find the end of an audit chain")?;
    row.map_or(Ok(Tip::NONE), |(seq, hash)| tip(seq, &hash))
}

async fn tip_of_workspace(tx: &mut Tx, workspace: WorkspaceId) -> Result<(Owner, Tip), StoreError> {
    let end: Option<ChainEnd> = sqlx::query_as(end_of_chain!("?"))
        .bind(workspace.number())
        .fetch_optional(&mut *tx)
        .await
        .tried("find the end of an audit chain")?;
    end_of(end.ok_or_else(|| not_found("workspace", workspace))?)
}

fn end_of((user, seq, hash): ChainEnd) -> Result<(Owner, Tip), StoreError> {
    let user = u32::try_from(user).map_err(|_too_large| corrupt("user of a workspace", user))?;
    let tip = match (seq, hash) {
        (Some(seq), Some(hash)) => tip(seq, &hash)?,
        (None, _) | (_, None) => Tip::NONE,
    };
    Ok((Owner::User(UserId::from_number(user)), tip))
}

fn tip(seq: i64, hash: &[u8]) -> Result<Tip, StoreError> {
    let bad = || corrupt("audit entry", seq);
    let hash = Digest32::from_slice(hash).ok_or_else(bad)?;
    Ok(Tip { seq: u64::try_from(seq).map_err(|_negative| bad())?, hash })
}

/// Takes what was recorded before there were chains into the platform's, in its order and with its times.
pub(crate) async fn adopt_unchained(store: &Store) -> Result<(), StoreError> {
    let waits: bool = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM audit_unchained)")
        .fetch_one(store.reader())
        .await
        .tried("look for audit entries from before")?;
    if !waits {
        return Ok(());
    }
    let mut tx = store.begin().await?;
    let old: Vec<(i64, String, String, String, String)> = sqlx::query_as(
        "SELECT at, actor, action, subject, detail FROM audit_unchained ORDER BY id",
    )
    .fetch_all(&mut *tx)
    .await
    .tried("read the audit entries from before")?;
    for (at, actor, action, subject, detail) in old {
        let detail = format!("{action} {detail}");
        record(&mut tx, at, Entry::named(actor, "audit.before", subject).with(detail)).await?;
    }
    sqlx::query("DELETE FROM audit_unchained")
        .execute(&mut *tx)
        .await
        .tried("clear the audit entries from before")?;
    tx.commit().await.tried("chain the audit entries from before")
}

table! {
    /// The audit chain.
    pub struct AuditLog;
}

impl AuditLog {
    /// Records something that has no other row: a refusal, a launch.
    pub async fn record(&self, entry: Entry) -> Result<(), StoreError> {
        let tx = self.store.begin().await?;
        record_last(tx, self.store.clock.now_ms(), entry).await
    }
}

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "closed_tests.rs"]
mod closed_tests;
