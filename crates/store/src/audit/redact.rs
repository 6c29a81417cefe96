//! Taking content out of the audit, with the chain staying whole.

use std::collections::BTreeMap;

use cloister_vault::Owner;

use super::error::{AuditError, blocking};
use super::ranges::Ranges;
use super::record::{Extent, Record};
use super::seal::{Plan, Sealer, owner};
use super::{Entry, append, segment, tip_of};
use crate::actor::Actor;
use crate::db::Tx;
use crate::error::{StoreError, Tried, corrupt};

/// One entry names no more than this many ranges.
const MOST_RANGES: usize = 1000;

/// As many old entries are redacted at once; the rest is for the next time.
const MOST_AT_ONCE: i64 = 10_000;

/// What is to be redacted, by whom and why.
#[derive(Clone, Debug)]
pub struct Redaction {
    pub chain: Owner,
    pub entries: Ranges,
    pub extent: Extent,
    pub why: String,
}

/// A person whose content is to be erased.
#[derive(Clone, Debug)]
pub struct Erasure {
    pub user: cloister_protocol::UserId,
    /// What else the person is called as an actor or a subject in the platform's chain.
    pub names: Vec<String>,
    pub why: String,
}

impl Sealer {
    /// Takes content out of the database and of every segment. The entry that says so is recorded in the same
    /// transaction; entries that say what was redacted are never redacted themselves, so whoever acts is to be
    /// named by an id.
    pub async fn redact(
        &mut self,
        actor: &Actor,
        redaction: &Redaction,
    ) -> Result<u64, AuditError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        // What is taken out is overwritten, not only forgotten.
        pragma(&mut tx, "PRAGMA secure_delete = ON").await?;
        let done = redact_rows(&mut tx, actor, redaction, now).await?;
        tx.commit().await.tried("redact audit entries")?;
        self.finish_redactions().await?;
        self.forget_old_pages().await?;
        Ok(done)
    }

    /// Erases all content of a person: their own chain, and what names them in the platform's.
    pub async fn erase(&mut self, actor: &Actor, erasure: &Erasure) -> Result<u64, AuditError> {
        let own = Owner::User(erasure.user);
        let last = tip_of(self.store.reader(), own).await?.seq;
        let mut names = erasure.names.clone();
        names.push(erasure.user.to_string());
        let named = serde_json::to_string(&names).unwrap_or_default();
        let found: Vec<i64> = sqlx::query_scalar(
            "SELECT seq FROM audit_entries WHERE chain = 'platform' AND names_salt IS NOT NULL AND \
             (actor IN (SELECT value FROM json_each(?1)) OR subject IN (SELECT value FROM json_each(?1))) \
             ORDER BY seq",
        )
        .bind(named)
        .fetch_all(self.store.reader())
        .await
        .tried("find what names a person")?;
        let platform: Ranges = found.into_iter().map(i64::unsigned_abs).collect();
        let mut erased = 0;
        for (chain, entries) in [(own, Ranges::one(1, last)), (Owner::Platform, platform)] {
            for entries in entries.chunks(MOST_RANGES) {
                let why = erasure.why.clone();
                let extent = Extent::All;
                erased += self.redact(actor, &Redaction { chain, entries, extent, why }).await?;
            }
        }
        Ok(erased)
    }

    /// Redacts the detail of entries recorded before a time, up to a number of them; returns how many.
    pub async fn redact_older(
        &mut self,
        actor: &Actor,
        before: i64,
        why: &str,
    ) -> Result<u64, AuditError> {
        let found: Vec<(String, i64)> = sqlx::query_as(
            "SELECT chain, seq FROM audit_entries WHERE at < ? AND detail IS NOT NULL AND detail <> '' \
             AND action NOT IN ('audit.redact', 'audit.erase') ORDER BY chain, seq LIMIT ?",
        )
        .bind(before)
        .bind(MOST_AT_ONCE)
        .fetch_all(self.store.reader())
        .await
        .tried("find old audit entries")?;
        let mut chains: BTreeMap<Owner, Ranges> = BTreeMap::new();
        for (chain, seq) in found {
            chains.entry(owner(&chain)?).or_default().push(seq.unsigned_abs());
        }
        let mut redacted = 0;
        for (chain, entries) in chains {
            for entries in entries.chunks(MOST_RANGES) {
                let why = why.to_owned();
                let extent = Extent::Detail;
                redacted += self.redact(actor, &Redaction { chain, entries, extent, why }).await?;
            }
        }
        Ok(redacted)
    }

    /// Takes what was redacted out of segments; what was cut short is done again.
    pub(super) async fn finish_redactions(&mut self) -> Result<(), AuditError> {
        let waiting: Vec<(i64, String, String, String)> =
            sqlx::query_as("SELECT id, chain, extent, ranges FROM audit_redactions ORDER BY id")
                .fetch_all(self.store.reader())
                .await
                .tried("list redactions to finish")?;
        for (id, chain, extent, ranges) in waiting {
            let chain = owner(&chain)?;
            let extent = Extent::parse(&extent).ok_or_else(|| corrupt("redaction", &extent))?;
            let entries: Ranges =
                ranges.parse().map_err(|error| corrupt("list of entries", error))?;
            for plan in self.plans("written = 1").await? {
                let touched = plan.chain == chain
                    && entries.iter().any(|(a, b)| a <= plan.last && b >= plan.first);
                if touched {
                    let (dir, entries) = (self.dir.clone(), entries.clone());
                    blocking(move || redact_segment(&dir, plan, &entries, extent)).await?;
                }
            }
            let mut tx = self.store.begin_one().await?;
            sqlx::query("DELETE FROM audit_redactions WHERE id = ?")
                .bind(id)
                .execute(&mut *tx)
                .await
                .tried("finish a redaction")?;
            tx.commit().await.tried("finish a redaction")?;
        }
        Ok(())
    }

    /// Empties the write-ahead log, which may still hold the pages from before. Readers that are under way put
    /// it off; it is emptied then when the database is closed.
    async fn forget_old_pages(&self) -> Result<(), AuditError> {
        let mut tx = self.store.begin_one().await?;
        pragma(&mut tx, "PRAGMA secure_delete = FAST").await?;
        let emptied = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut *tx).await;
        drop(emptied);
        tx.commit().await.tried("empty the write-ahead log")?;
        Ok(())
    }
}

async fn pragma(tx: &mut Tx, text: &'static str) -> Result<(), StoreError> {
    sqlx::query(text).execute(tx).await.tried("overwrite what is deleted").map(|_done| ())
}

async fn redact_rows(
    tx: &mut Tx,
    actor: &Actor,
    redaction: &Redaction,
    now: i64,
) -> Result<u64, AuditError> {
    let Redaction { chain, entries, extent, why } = redaction;
    let set = match extent {
        Extent::Detail => "detail = NULL, detail_salt = NULL",
        Extent::All => {
            "detail = NULL, detail_salt = NULL, actor = NULL, subject = NULL, names_salt = NULL"
        }
    };
    let query = format!(
        "UPDATE audit_entries SET {set} WHERE chain = ? AND seq BETWEEN ? AND ? \
         AND action NOT IN ('audit.redact', 'audit.erase')"
    );
    let mut changed = 0;
    for (first, last) in entries.iter() {
        changed += sqlx::query(sqlx::AssertSqlSafe(query.clone()))
            .bind(chain.to_string())
            .bind(i64::try_from(first).unwrap_or(i64::MAX))
            .bind(i64::try_from(last).unwrap_or(i64::MAX))
            .execute(&mut *tx)
            .await
            .tried("redact audit entries")?
            .rows_affected();
    }
    if changed == 0 {
        let ranges = entries.to_string();
        return Err(AuditError::NoSuchEntries { chain: *chain, ranges });
    }
    let entry = Entry::new(actor, extent.action(), entries).with(why).in_chain(*chain);
    append(tx, now, entry).await?;
    sqlx::query("INSERT INTO audit_redactions (chain, extent, ranges) VALUES (?, ?, ?)")
        .bind(chain.to_string())
        .bind(extent.as_str())
        .bind(entries.to_string())
        .execute(&mut *tx)
        .await
        .tried("remember a redaction")?;
    Ok(changed)
}

/// Writes a segment again without what was redacted. One that does not hold is left as it is: it is evidence.
fn redact_segment(
    dir: &std::path::Path,
    plan: Plan,
    entries: &Ranges,
    extent: Extent,
) -> Result<(), AuditError> {
    let bounds = (plan.first, plan.last);
    let Some(mut records) = segment::read_genuine(dir, plan.chain, plan.number, bounds)? else {
        return Ok(());
    };
    let named = |record: &&mut Record| entries.contains(record.seq) && !record.is_redaction();
    records.iter_mut().filter(named).for_each(|record| record.redact(extent));
    segment::write(dir, plan.chain, plan.number, &records)
}
