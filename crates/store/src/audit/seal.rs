//! Closing segments and signing checkpoints.
//!
//! A segment is planned in the database, written whole, and then noted as written; a checkpoint is on disk
//! before the database and the witnesses hear of it. Whatever is cut short is finished at the next start.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cloister_vault::{Digest32, Owner, PublicKey, Signer};

use super::checkpoint::{self, Checkpoint, CheckpointLine, Head, Statement};
use super::error::{AuditError, blocking, file};
use super::witness::{Delivery, Witness};
use super::{Entry, rows, segment};
use crate::actor::Actor;
use crate::audit::AuditLog;
use crate::db::Store;
use crate::error::{StoreError, Tried, corrupt};

#[derive(Clone, Copy, Debug)]
pub struct SealOptions {
    /// A segment is closed when it has this many entries,
    pub segment_entries: u64,
    /// or when its first one is this old.
    pub segment_age: Duration,
}

impl Default for SealOptions {
    fn default() -> Self {
        Self { segment_entries: 4096, segment_age: Duration::from_secs(24 * 3600) }
    }
}

/// What was put right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    pub what: String,
}

/// Seals the audit of one store. There is one of it.
#[derive(Debug)]
pub struct Sealer {
    pub(super) store: Store,
    pub(super) dir: PathBuf,
    signer: Signer,
    options: SealOptions,
    last: Option<Statement>,
}

struct Tail {
    chain: String,
    first: i64,
    last: i64,
    oldest: i64,
    segments: i64,
}

from_row!(Tail { chain, first, last, oldest, segments });

/// A run of entries that is, or will be, a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) chain: Owner,
    pub(super) number: u64,
    pub(super) first: u64,
    pub(super) last: u64,
}

pub(super) fn owner(chain: &str) -> Result<Owner, StoreError> {
    chain.parse().map_err(|_not_ours| corrupt("audit chain", chain))
}

fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Sealer {
    /// Opens the folder of segments and checkpoints, makes the signing key at first use, and finishes what was
    /// cut short. What it had to put right is recorded, and returned.
    pub async fn open(
        store: Store,
        dir: &Path,
        options: SealOptions,
    ) -> Result<(Self, Vec<Repair>), AuditError> {
        let at = store.clock.now_ms();
        let folder = dir.to_owned();
        let (signer, last, torn) = blocking(move || open_files(&folder, at)).await?;
        let mut sealer = Self { store, dir: dir.to_owned(), signer, options, last };
        let mut repairs = Vec::new();
        if torn {
            let what = "cut off a checkpoint that was never written to its end".to_owned();
            repairs.push(Repair { what });
        }
        sealer.catch_up().await?;
        for plan in sealer.plans("written = 0").await? {
            sealer.write_segment(plan).await?;
            let what = format!("finished segment {} of chain {}", plan.number, plan.chain);
            repairs.push(Repair { what });
        }
        sealer.finish_redactions().await?;
        for repair in &repairs {
            let entry = Entry::new(&Actor::PLATFORM, "audit.repair", "audit").with(&repair.what);
            sealer.store.audit().record(entry).await?;
        }
        Ok((sealer, repairs))
    }

    /// Tells the database of a checkpoint that only reached the file.
    async fn catch_up(&mut self) -> Result<(), AuditError> {
        let known: Option<i64> = sqlx::query_scalar("SELECT MAX(number) FROM audit_checkpoints")
            .fetch_one(self.store.reader())
            .await
            .tried("find the newest checkpoint")?;
        let known = known.unwrap_or(0).unsigned_abs();
        match self.last {
            Some(last) if known < last.number => {
                // Which entry was its newest is not known: the next one looks at all since the one before.
                let since = self.last_entry().await?;
                self.note_checkpoint(&last, since).await
            }
            last if last.map_or(0, |last| last.number) < known => {
                let problem = format!("the file ends before checkpoint {known}");
                Err(AuditError::Checkpoints { path: checkpoint::path(&self.dir), problem })
            }
            _ => Ok(()),
        }
    }

    /// Closes every segment that is full or old enough; returns how many.
    pub async fn close_segments(&mut self) -> Result<u64, AuditError> {
        let now = self.store.clock.now_ms();
        let age = i64::try_from(self.options.segment_age.as_millis()).unwrap_or(i64::MAX);
        let tails: Vec<Tail> = sqlx::query_as(
            "SELECT c.chain, MIN(e.seq) AS first, MAX(e.seq) AS last, MIN(e.at) AS oldest, c.segments \
             FROM audit_chains c CROSS JOIN audit_entries e ON e.chain = c.chain AND e.seq > c.sealed_to \
             GROUP BY c.chain",
        )
        .fetch_all(self.store.reader())
        .await
        .tried("find what is to be sealed")?;
        let mut closed = 0;
        for tail in tails {
            let chain = owner(&tail.chain)?;
            let (mut first, last) = (tail.first.unsigned_abs(), tail.last.unsigned_abs());
            let mut number = tail.segments.unsigned_abs();
            let size = self.options.segment_entries.max(1);
            let old = now.saturating_sub(tail.oldest) >= age;
            while last + 1 >= first + size || (old && first <= last) {
                number += 1;
                let plan = Plan { chain, number, first, last: last.min(first + size - 1) };
                self.plan(plan).await?;
                self.write_segment(plan).await?;
                first = plan.last + 1;
                closed += 1;
            }
        }
        Ok(closed)
    }

    async fn plan(&self, plan: Plan) -> Result<(), AuditError> {
        let mut tx = self.store.begin_one().await?;
        sqlx::query("INSERT INTO audit_segments (chain, number, first, last) VALUES (?, ?, ?, ?)")
            .bind(plan.chain.to_string())
            .bind(int(plan.number))
            .bind(int(plan.first))
            .bind(int(plan.last))
            .execute(&mut *tx)
            .await
            .tried("plan an audit segment")?;
        tx.commit().await.tried("plan an audit segment")?;
        Ok(())
    }

    /// Segments that fit a condition of ours.
    pub(super) async fn plans(&self, condition: &str) -> Result<Vec<Plan>, AuditError> {
        let query = format!(
            "SELECT chain, number, first, last FROM audit_segments WHERE {condition} ORDER BY chain, number"
        );
        let rows: Vec<(String, i64, i64, i64)> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .fetch_all(self.store.reader())
            .await
            .tried("list audit segments")?;
        let plan = |(chain, number, first, last): (String, i64, i64, i64)| {
            Ok(Plan {
                chain: owner(&chain)?,
                number: number.unsigned_abs(),
                first: first.unsigned_abs(),
                last: last.unsigned_abs(),
            })
        };
        rows.into_iter().map(plan).collect()
    }

    /// Writes a planned segment from the database, which must hold.
    async fn write_segment(&self, plan: Plan) -> Result<(), AuditError> {
        let Plan { chain, number, first, last } = plan;
        let entries = rows::read(self.store.reader(), chain, first, last).await?;
        if !segment::is_run(chain, &entries, (first, last)) {
            return Err(AuditError::NotGenuine { chain, number, first, last });
        }
        let dir = self.dir.clone();
        blocking(move || segment::write(&dir, chain, number, &entries)).await?;
        let mut tx = self.store.begin().await?;
        sqlx::query("UPDATE audit_segments SET written = 1 WHERE chain = ? AND number = ?")
            .bind(chain.to_string())
            .bind(int(number))
            .execute(&mut *tx)
            .await
            .tried("note an audit segment")?;
        sqlx::query(
            "UPDATE audit_chains SET sealed_to = MAX(sealed_to, ?), segments = MAX(segments, ?) WHERE chain = ?",
        )
        .bind(int(last))
        .bind(int(number))
        .bind(chain.to_string())
        .execute(&mut *tx)
        .await
        .tried("note an audit segment")?;
        tx.commit().await.tried("note an audit segment")?;
        Ok(())
    }

    /// Reads every segment back and writes those that do not hold again from the database. Each is recorded.
    pub async fn repair(&mut self) -> Result<Vec<Repair>, AuditError> {
        let mut repairs = Vec::new();
        for plan in self.plans("1 = 1").await? {
            let dir = self.dir.clone();
            let read = move || {
                segment::read_genuine(&dir, plan.chain, plan.number, (plan.first, plan.last))
            };
            if blocking(read).await?.is_none() {
                self.write_segment(plan).await?;
                let what = format!("wrote segment {} of chain {} again", plan.number, plan.chain);
                let entry = Entry::new(&Actor::PLATFORM, "audit.repair", "audit").with(&what);
                self.store.audit().record(entry).await?;
                repairs.push(Repair { what });
            }
        }
        Ok(repairs)
    }

    /// Signs how far every chain has come that changed since the last time; none if none did.
    pub async fn checkpoint(&mut self) -> Result<Option<Checkpoint>, AuditError> {
        let since = self.last_entry().await?;
        // With one MAX, SQLite takes the other columns from the row that has it.
        let rows: Vec<(i64, String, i64, Vec<u8>, i64)> = sqlx::query_as(
            "SELECT MAX(e.id), e.chain, e.seq, e.hash, c.segments FROM audit_entries e \
             JOIN audit_chains c ON c.chain = e.chain WHERE e.id > ? GROUP BY e.chain",
        )
        .bind(since)
        .fetch_all(self.store.reader())
        .await
        .tried("read the ends of the audit chains")?;
        let Some(newest) = rows.iter().map(|row| row.0).max() else { return Ok(None) };
        let head = |(_, chain, seq, hash, segments): (i64, String, i64, Vec<u8>, i64)| {
            Ok(Head {
                chain: owner(&chain)?,
                entries: seq.unsigned_abs(),
                hash: Digest32::from_slice(&hash).ok_or_else(|| corrupt("audit entry", seq))?,
                segments: segments.unsigned_abs(),
            })
        };
        let heads = rows.into_iter().map(head).collect::<Result<Vec<Head>, StoreError>>()?;
        // A power cut must not take back what is signed.
        self.store.reach_the_disk().await?;
        let at = self.store.clock.now_ms();
        let made = Checkpoint::sign(&self.signer, self.last.as_ref(), at, heads);
        let (dir, line) = (self.dir.clone(), made.clone());
        blocking(move || checkpoint::append(&dir, &line)).await?;
        self.last = Some(made.statement);
        self.note_checkpoint(&made.statement, newest).await?;
        Ok(Some(made))
    }

    async fn last_entry(&self) -> Result<i64, AuditError> {
        let last: Option<i64> = sqlx::query_scalar(
            "SELECT last_entry FROM audit_checkpoints ORDER BY number DESC LIMIT 1",
        )
        .fetch_optional(self.store.reader())
        .await
        .tried("find the newest checkpoint")?;
        Ok(last.unwrap_or(0))
    }

    async fn note_checkpoint(&self, statement: &Statement, newest: i64) -> Result<(), AuditError> {
        let mut tx = self.store.begin_one().await?;
        sqlx::query(
            "INSERT INTO audit_checkpoints (number, hash, last_entry, at) VALUES (?, ?, ?, ?)",
        )
        .bind(int(statement.number))
        .bind(statement.hash().0.as_slice())
        .bind(newest)
        .bind(statement.at)
        .execute(&mut *tx)
        .await
        .tried("note a checkpoint")?;
        tx.commit().await.tried("note a checkpoint")?;
        Ok(())
    }

    /// Shows a witness every checkpoint it has not confirmed.
    pub async fn deliver(&self, witness: &impl Witness) -> Result<u64, AuditError> {
        self.store.audit().deliver_checkpoints(&self.dir, witness).await
    }

    /// Takes a new signing key, which the present one vouches for.
    pub async fn rotate_key(&mut self, actor: &Actor) -> Result<PublicKey, AuditError> {
        let key = self.signer.rotate(self.store.clock.now_ms())?;
        let entry = Entry::new(actor, "audit.key", key.id());
        self.store.audit().record(entry).await?;
        Ok(key)
    }
}

impl AuditLog {
    /// Shows a witness every checkpoint it has not confirmed, in order; returns how many it took.
    pub async fn deliver_checkpoints(
        &self,
        dir: &Path,
        witness: &impl Witness,
    ) -> Result<u64, AuditError> {
        let confirmed: Option<i64> =
            sqlx::query_scalar("SELECT number FROM audit_witnesses WHERE name = ?")
                .bind(witness.name())
                .fetch_optional(self.store.reader())
                .await
                .tried("find what a witness has")?;
        let confirmed = confirmed.unwrap_or(0).unsigned_abs();
        let dir = dir.to_owned();
        let waiting = blocking(move || after(&dir, confirmed)).await?;
        let mut taken = 0;
        for checkpoint in waiting {
            let number = checkpoint.statement.number;
            let sent_at = self.store.clock.now_ms();
            witness.keep(&Delivery { sent_at, checkpoint }).await?;
            let mut tx = self.store.begin_one().await?;
            sqlx::query(
                "INSERT INTO audit_witnesses (name, number, at) VALUES (?, ?, ?) \
                 ON CONFLICT (name) DO UPDATE SET number = excluded.number, at = excluded.at",
            )
            .bind(witness.name())
            .bind(int(number))
            .bind(sent_at)
            .execute(&mut *tx)
            .await
            .tried("note what a witness has")?;
            tx.commit().await.tried("note what a witness has")?;
            taken += 1;
        }
        Ok(taken)
    }
}

/// The checkpoints after a number. Those a witness lacks are few: it is shown each soon after it is made.
fn after(dir: &Path, number: u64) -> Result<Vec<Checkpoint>, AuditError> {
    let mut waiting = Vec::new();
    for line in checkpoint::read(dir)? {
        match line? {
            CheckpointLine::Checkpoint(checkpoint) if checkpoint.statement.number > number => {
                waiting.push(*checkpoint);
            }
            CheckpointLine::Checkpoint(_) | CheckpointLine::Unreadable | CheckpointLine::Torn => {}
        }
    }
    Ok(waiting)
}

fn open_files(dir: &Path, at: i64) -> Result<(Signer, Option<Statement>, bool), AuditError> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(file("created", dir))?;
    let signer = Signer::open(dir, at)?;
    let torn = checkpoint::cut_torn_line(dir)?;
    let mut last: Option<Statement> = None;
    for line in checkpoint::read(dir)? {
        let CheckpointLine::Checkpoint(checkpoint) = line? else {
            let problem = "a line can't be read".to_owned();
            return Err(AuditError::Checkpoints { path: checkpoint::path(dir), problem });
        };
        last = Some(checkpoint.statement);
    }
    Ok((signer, last, torn))
}
