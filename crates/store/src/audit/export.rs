//! One chain as a file that proves itself: the entries, and for every checkpoint that names the chain what was
//! signed and how the chain's head leads there. It says nothing of other chains.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use cloister_vault::{KeyLog, KeyRecord, Owner, Signature};
use serde::{Deserialize, Serialize};

use super::checker::{Checker, Expected};
use super::checkpoint::{self, CheckpointLine, Head, Statement};
use super::error::{AuditError, blocking, file};
use super::merkle::{self, MerkleStep};
use super::record::Record;
use super::report::{Fault, Finding, Report, Where};
use super::{rows, tip_of};
use crate::audit::AuditLog;

const PAGE: u64 = 4096;
/// How a line with an entry begins.
const ENTRY: &str = "{\"entry\"";

/// That a checkpoint holds the chain's head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    pub statement: Statement,
    pub signature: Signature,
    pub head: Head,
    pub path: Vec<MerkleStep>,
}

/// One line of an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExportLine {
    Chain(Owner),
    Key(Box<KeyRecord>),
    Proof(Box<Proof>),
    Entry(Box<Record>),
}

/// Some lines of an export.
#[derive(Clone, Debug)]
pub struct ExportPart {
    pub lines: Vec<String>,
    /// The entry that the next part begins with; none: that was all.
    pub next: Option<u64>,
}

impl AuditLog {
    /// Writes a chain, with its proofs, as lines of JSON; returns how many entries.
    pub async fn export_audit(
        &self,
        dir: &Path,
        chain: Owner,
        out: &mut (dyn Write + Send),
    ) -> Result<u64, AuditError> {
        let (mut first, mut entries) = (Some(1), 0);
        while let Some(from) = first {
            let part = self.export_audit_part(dir, chain, from).await?;
            for line in part.lines {
                entries += u64::from(line.starts_with(ENTRY));
                writeln!(out, "{line}").map_err(file("written", "the export"))?;
            }
            first = part.next;
        }
        Ok(entries)
    }

    /// The part of an export that begins with an entry; the first one holds the proofs too.
    pub async fn export_audit_part(
        &self,
        dir: &Path,
        chain: Owner,
        first: u64,
    ) -> Result<ExportPart, AuditError> {
        let mut lines = Vec::new();
        // The proofs first: by then the entries that they sign for are there.
        if first <= 1 {
            let folder = dir.to_owned();
            let (keys, proofs) = blocking(move || proofs(&folder, chain)).await?;
            lines.push(line(&ExportLine::Chain(chain))?);
            for key in keys.records() {
                lines.push(line(&ExportLine::Key(Box::new(key.clone())))?);
            }
            for proof in proofs {
                lines.push(line(&ExportLine::Proof(Box::new(proof)))?);
            }
        }
        let last = tip_of(self.store.reader(), chain).await?.seq;
        let until = last.min(first.saturating_add(PAGE - 1));
        for record in rows::read(self.store.reader(), chain, first, until).await? {
            lines.push(line(&ExportLine::Entry(Box::new(record)))?);
        }
        Ok(ExportPart { lines, next: (until < last).then_some(until + 1) })
    }
}

fn line(line: &ExportLine) -> Result<String, AuditError> {
    serde_json::to_string(line).map_err(|error| file("encoded", "the export")(error.into()))
}

fn proofs(dir: &Path, chain: Owner) -> Result<(KeyLog, Vec<Proof>), AuditError> {
    let keys = KeyLog::read(dir)?;
    let mut proofs = Vec::new();
    for line in checkpoint::read(dir)? {
        let CheckpointLine::Checkpoint(checkpoint) = line? else { continue };
        let Some(index) = checkpoint.heads.iter().position(|head| head.chain == chain) else {
            continue;
        };
        let path = merkle::path(&checkpoint::leaves(&checkpoint.heads), index);
        proofs.extend(checkpoint.heads.get(index).map(|head| Proof {
            statement: checkpoint.statement,
            signature: checkpoint.signature,
            head: *head,
            path,
        }));
    }
    Ok((keys, proofs))
}

/// Verifies an export by itself.
pub fn verify_export(input: impl BufRead, clock_tolerance_ms: i64) -> Result<Report, AuditError> {
    let path = PathBuf::from("the export");
    let mut report = Report::default();
    let mut key_lines = String::new();
    let (mut chain, mut proofs, mut checker) = (Owner::Platform, Vec::new(), None);
    for line in input.lines() {
        let line = line.map_err(file("read", &path))?;
        match serde_json::from_str(&line) {
            Ok(ExportLine::Chain(owner)) => chain = owner,
            Ok(ExportLine::Key(key)) => {
                key_lines.push_str(&serde_json::to_string(&key).unwrap_or_default());
                key_lines.push('\n');
            }
            Ok(ExportLine::Proof(proof)) => proofs.push(*proof),
            Ok(ExportLine::Entry(record)) => {
                let checker = checker.get_or_insert_with(|| {
                    Checker::new(chain, Where::Database, expected(&proofs), clock_tolerance_ms)
                });
                checker.feed(&record);
            }
            Err(_unreadable) => {
                return Err(AuditError::Checkpoints {
                    path,
                    problem: "a line can't be read".to_owned(),
                });
            }
        }
    }
    let keys = KeyLog::parse(&key_lines)?;
    for proof in &proofs {
        if let Some(problem) = problem(proof, chain, &keys) {
            let place = Where::Checkpoint(proof.statement.number);
            let (fault, text) = (Fault::Unsigned, problem.to_owned());
            report.add(Finding { fault, chain: Some(chain), entry: None, place, text });
        }
    }
    report.chains = 1;
    report.checkpoints = proofs.len() as u64;
    if let Some(checked) = checker.map(Checker::finish_whole) {
        report.entries = checked.entries;
        let silent = checked.gone.first_unsaid(&checked.taken);
        checked.findings.into_iter().for_each(|finding| report.add(finding));
        silent.into_iter().for_each(|entry| {
            let text = "its content is gone, and no entry says that it was redacted".to_owned();
            let (fault, place) = (Fault::ErasedSilently, Where::Database);
            report.add(Finding { fault, chain: Some(chain), entry: Some(entry), place, text });
        });
    }
    Ok(report)
}

fn expected(proofs: &[Proof]) -> Vec<Expected> {
    let of = |proof: &Proof| Expected {
        entries: proof.head.entries,
        hash: proof.head.hash,
        segments: proof.head.segments,
        checkpoint: proof.statement.number,
        at: proof.statement.at,
    };
    proofs.iter().map(of).collect()
}

fn problem(proof: &Proof, chain: Owner, keys: &KeyLog) -> Option<&'static str> {
    let signed = keys
        .find(&proof.statement.key)
        .is_some_and(|key| key.key.verifies(&proof.statement.canonical(), &proof.signature));
    if !signed {
        return Some("its signature is wrong");
    }
    let led = proof.head.chain == chain
        && merkle::climb(proof.head.leaf(), &proof.path) == proof.statement.root;
    (!led).then_some("the chain's head is not in what was signed")
}
