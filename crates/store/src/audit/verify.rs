//! Verifying the whole audit: every chain in the database and in segments, against what the checkpoints say.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cloister_vault::{Digest32, Owner};

use super::checker::{Checked, Checker, Expected};
use super::error::{AuditError, blocking, file};
use super::record::Record;
use super::report::{Fault, Finding, Report, Where};
use super::rows::{self, COLUMNS, Row};
use super::segment::{self, Part};
use super::statements::{Files, KnownCheckpoint, check_checkpoints};
use crate::audit::AuditLog;
use crate::error::{StoreError, Tried};
use crate::readers::Reader;

/// Entries are read and checked in pages of this many.
const PAGE: i64 = 4096;

/// What to verify, and against what.
#[derive(Clone, Debug)]
pub struct Verification {
    /// The folder of segments and checkpoints.
    pub dir: PathBuf,
    /// What a witness kept, as lines of JSON.
    pub witness: Option<PathBuf>,
    /// How far a time may be before an older one, or from a witness's: entries take their time before they
    /// wait for their turn.
    pub clock_tolerance_ms: i64,
}

impl Verification {
    pub fn of(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), witness: None, clock_tolerance_ms: 60_000 }
    }
}

impl AuditLog {
    /// Verifies the audit against its files. What is recorded meanwhile does no harm.
    pub async fn verify_audit(&self, what: &Verification) -> Result<Report, AuditError> {
        // Read before the file, which is always ahead of it.
        let known = newest_checkpoint(self.store.reader()).await?;
        let options = what.clone();
        let Files { mut report, expected } =
            blocking(move || check_checkpoints(&options, known)).await?;
        let mut chains = chains(self.store.reader(), &mut report).await?;
        for chain in expected.keys() {
            chains.entry(*chain).or_default();
        }
        report.chains = chains.len() as u64;
        for (chain, segments) in chains {
            let of_chain = expected.get(&chain).cloned().unwrap_or_default();
            let options = what.clone();
            let sealed_expected = of_chain.clone();
            let sealed =
                blocking(move || check_segments(&options, chain, sealed_expected, segments));
            let rows = check_rows(self.store.reader(), chain, of_chain, what.clock_tolerance_ms);
            let (sealed, rows) = tokio::join!(sealed, rows);
            let (sealed, rows) = (sealed?, rows?);
            let differs = if sealed.findings.is_empty() && rows.findings.is_empty() {
                first_difference(self.store.reader(), what, chain, &sealed).await?
            } else {
                None
            };
            add_chain(&mut report, chain, sealed, rows, differs);
        }
        Ok(report)
    }
}

/// Verifies a folder of segments and checkpoints without the database: a copy, or what is left.
pub fn verify_files(what: &Verification) -> Result<Report, AuditError> {
    let Files { mut report, expected } = check_checkpoints(what, None)?;
    let mut chains: Vec<Owner> = expected.keys().copied().collect();
    let entries = std::fs::read_dir(&what.dir).map_err(file("listed", &what.dir))?;
    for entry in entries {
        let entry = entry.map_err(file("listed", &what.dir))?;
        chains.extend(entry.file_name().to_str().and_then(|name| name.parse::<Owner>().ok()));
    }
    chains.sort_unstable();
    chains.dedup();
    report.chains = chains.len() as u64;
    for chain in chains {
        let of_chain = expected.get(&chain).cloned().unwrap_or_default();
        let sealed = check_segments(what, chain, of_chain, 0)?;
        report.sealed_entries += sealed.entries;
        sealed.findings.into_iter().for_each(|finding| report.add(finding));
    }
    report.notes.push("entries that are only in the database were not looked at".to_owned());
    Ok(report)
}

fn add_chain(
    report: &mut Report,
    chain: Owner,
    sealed: Checked,
    rows: Checked,
    differs: Option<u64>,
) {
    report.entries += rows.entries;
    report.sealed_entries += sealed.entries;
    let silently = |gone: Option<u64>, place| {
        gone.map(|entry| Finding {
            fault: Fault::ErasedSilently,
            chain: Some(chain),
            entry: Some(entry),
            place,
            text: "its content is gone, and no entry says that it was redacted".to_owned(),
        })
    };
    let in_rows = silently(rows.gone.first_unsaid(&rows.taken), Where::Database);
    let in_segments = silently(sealed.gone.first_unsaid(&rows.taken), Where::Segment(0));
    let differs = differs.map(|entry| Finding {
        fault: Fault::Rewritten,
        chain: Some(chain),
        entry: Some(entry),
        place: Where::Database,
        text: "the database and the segments hold different entries".to_owned(),
    });
    let found = rows.findings.into_iter().chain(sealed.findings);
    let found = found.chain(in_rows).chain(in_segments).chain(differs);
    found.for_each(|finding| report.add(finding));
    if rows.gone.first_unsaid(&sealed.gone).is_some_and(|entry| entry <= sealed.tip.seq) {
        let note = format!(
            "chain {chain}: a redaction is not yet in its segments; it is finished at the next start"
        );
        report.notes.push(note);
    }
}

async fn newest_checkpoint(reader: Reader<'_>) -> Result<KnownCheckpoint, StoreError> {
    let newest: Option<(i64, Vec<u8>)> =
        sqlx::query_as("SELECT number, hash FROM audit_checkpoints ORDER BY number DESC LIMIT 1")
            .fetch_optional(reader)
            .await
            .tried("find the newest checkpoint")?;
    // A hash that is none fits no checkpoint.
    let hash = |bytes: &[u8]| Digest32::from_slice(bytes).unwrap_or(Digest32::ZERO);
    Ok(newest.map(|(number, bytes)| (number.unsigned_abs(), hash(&bytes))))
}

/// The chains the database knows, and how many segments of each are written.
async fn chains(
    reader: Reader<'_>,
    report: &mut Report,
) -> Result<BTreeMap<Owner, u64>, StoreError> {
    let rows: Vec<(String, i64)> = sqlx::query_as(
        "SELECT chain, segments FROM audit_chains UNION ALL \
         SELECT DISTINCT chain, 0 FROM audit_entries WHERE chain NOT IN (SELECT chain FROM audit_chains)",
    )
    .fetch_all(reader)
    .await
    .tried("list the audit chains")?;
    let mut chains = BTreeMap::new();
    for (name, segments) in rows {
        match name.parse() {
            Ok(chain) => drop(chains.insert(chain, segments.unsigned_abs())),
            Err(_not_ours) => report.add(Finding {
                fault: Fault::Inserted,
                chain: None,
                entry: None,
                place: Where::Database,
                text: format!("there is no chain {name:?}, yet there are entries of it"),
            }),
        }
    }
    Ok(chains)
}

/// Checks a chain's rows; the next page is read while one is checked.
async fn check_rows(
    reader: Reader<'_>,
    chain: Owner,
    expected: Vec<Expected>,
    tolerance_ms: i64,
) -> Result<Checked, AuditError> {
    let query = format!(
        "SELECT {COLUMNS} FROM audit_entries WHERE chain = ? AND seq > ? ORDER BY seq LIMIT ?"
    );
    let mut checker = Checker::new(chain, Where::Database, expected, tolerance_ms);
    let mut page: Vec<Row> = Vec::new();
    let mut after = -1_i64;
    loop {
        let full = page.len() as i64 == PAGE || after < 0;
        let checking = blocking(move || feed_all(checker, page));
        let reading = async {
            if !full {
                return Ok(Vec::new());
            }
            sqlx::query_as::<_, Row>(sqlx::AssertSqlSafe(query.clone()))
                .bind(chain.to_string())
                .bind(after)
                .bind(PAGE)
                .fetch_all(reader)
                .await
                .tried("read audit entries")
        };
        let (checked, read) = tokio::join!(checking, reading);
        checker = checked?;
        page = read?;
        match page.last() {
            None => return Ok(checker.finish_whole()),
            Some(last) => after = last.number(),
        }
    }
}

fn feed_all(mut checker: Checker, page: Vec<Row>) -> Result<Checker, AuditError> {
    for row in page {
        match row.into_record() {
            Ok(record) => checker.feed(&record),
            Err(StoreError::Corrupt { value, .. }) => {
                checker.unreadable(value.parse().unwrap_or(0))
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(checker)
}

/// Checks a chain's segments in their order.
fn check_segments(
    what: &Verification,
    chain: Owner,
    expected: Vec<Expected>,
    written: u64,
) -> Result<Checked, AuditError> {
    let signed = expected.iter().map(|expected| expected.segments).max().unwrap_or(0);
    let wanted = signed.max(written);
    let mut checker = Checker::new(chain, Where::Segment(1), expected, what.clock_tolerance_ms);
    let mut number = 0;
    loop {
        number += 1;
        checker.read_from(Where::Segment(number));
        match segment::open(&what.dir, chain, number)? {
            Some(reader) => {
                let heading = reader.heading.clone();
                let fits = heading.is_some_and(|h| h.chain == chain && h.segment == number);
                if !fits {
                    checker.broken("its heading is not that of this segment");
                }
                feed_segment(&mut checker, reader)?;
            }
            None if number <= wanted => checker.missing_segment(),
            None => return Ok(checker.finish()),
        }
    }
}

fn feed_segment(checker: &mut Checker, reader: segment::Reader) -> Result<(), AuditError> {
    for part in reader {
        match part? {
            Part::Entry(record) => checker.feed(&record),
            Part::Ending(ending) => checker.ends(ending.last, &ending.head),
            Part::Broken => checker.broken("it does not end as it should"),
        }
    }
    Ok(())
}

/// The first sealed entry that the database does not hold, when both are consistent in themselves.
async fn first_difference(
    reader: Reader<'_>,
    what: &Verification,
    chain: Owner,
    sealed: &Checked,
) -> Result<Option<u64>, AuditError> {
    let last = sealed.tip.seq;
    if last == 0 {
        return Ok(None);
    }
    let newest = rows::read(reader, chain, last, last).await?;
    if newest.first().is_some_and(|row| row.hash == sealed.tip.hash) {
        return Ok(None);
    }
    let mut number = 0;
    loop {
        number += 1;
        let Some(parts) = segment::open(&what.dir, chain, number)? else { return Ok(Some(last)) };
        let mut entries: Vec<Record> = Vec::new();
        for part in parts {
            if let Part::Entry(entry) = part? {
                entries.push(*entry);
            }
        }
        let (Some(from), Some(to)) = (entries.first(), entries.last()) else { continue };
        let rows = rows::read(reader, chain, from.seq, to.seq).await?;
        let mut pairs = entries.iter().zip(rows.iter().map(Some).chain(std::iter::repeat(None)));
        let differs = pairs.find(|(entry, row)| row.is_none_or(|row| row.hash != entry.hash));
        if let Some((entry, _)) = differs {
            return Ok(Some(entry.seq));
        }
    }
}
