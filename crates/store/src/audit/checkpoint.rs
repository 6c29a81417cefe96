//! Checkpoints: signed statements of how far every chain has come, each following the one before.
//!
//! A checkpoint lists the chains that changed since the one before it. What is signed holds one hash over that
//! list, so that a witness, or one person's export, learns nothing of the others in it.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use cloister_vault::{Canonical, Digest32, KeyId, KeyLog, Owner, Signature, Signer, sync_dir};
use serde::{Deserialize, Serialize};

use super::error::{AuditError, file};
use super::merkle;

/// How far a chain has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    pub chain: Owner,
    /// Entries so far: also the number of the newest.
    pub entries: u64,
    pub hash: Digest32,
    /// How many closed segments there are.
    pub segments: u64,
}

impl Head {
    pub fn leaf(&self) -> Digest32 {
        Canonical::new("cloister audit head v1")
            .text(&self.chain.to_string())
            .number(self.entries)
            .digest(&self.hash)
            .number(self.segments)
            .hash()
    }
}

/// What is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    pub number: u64,
    pub at: i64,
    pub key: KeyId,
    /// The hash of the statement before.
    pub previous: Digest32,
    /// Over the heads of the chains that changed.
    pub root: Digest32,
    pub chains: u64,
}

impl Statement {
    pub fn canonical(&self) -> Canonical {
        Canonical::new("cloister audit checkpoint v1")
            .number(self.number)
            .time(self.at)
            .digest(&self.key)
            .digest(&self.previous)
            .digest(&self.root)
            .number(self.chains)
    }

    pub fn hash(&self) -> Digest32 {
        self.canonical().hash()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    pub statement: Statement,
    pub signature: Signature,
    pub heads: Vec<Head>,
}

impl Checkpoint {
    /// Signs the heads of the chains that changed since the checkpoint before.
    pub fn sign(
        signer: &Signer,
        before: Option<&Statement>,
        at: i64,
        mut heads: Vec<Head>,
    ) -> Self {
        heads.sort_by_key(|head| head.chain);
        let statement = Statement {
            number: before.map_or(1, |before| before.number + 1),
            at,
            key: signer.public().id(),
            previous: before.map_or(Digest32::ZERO, Statement::hash),
            root: merkle::root(&leaves(&heads)),
            chains: heads.len() as u64,
        };
        Self { signature: signer.sign(&statement.canonical()), statement, heads }
    }

    /// What is wrong with it, given the statement before and the keys.
    pub fn problem(&self, before: Option<&Statement>, keys: &KeyLog) -> Option<&'static str> {
        let statement = &self.statement;
        let key_number = |statement: &Statement| keys.find(&statement.key).map(|key| key.number);
        let Some(key) = keys.find(&statement.key) else {
            return Some("it is signed by a key that is not in the log");
        };
        if !key.key.verifies(&statement.canonical(), &self.signature) {
            return Some("its signature is wrong");
        }
        if statement.number != before.map_or(1, |before| before.number + 1) {
            return Some("a checkpoint before it is missing");
        }
        if statement.previous != before.map_or(Digest32::ZERO, Statement::hash) {
            return Some("it does not follow the checkpoint before it");
        }
        if before.is_some_and(|before| key_number(before) > Some(key.number)) {
            return Some("it is signed by a key that was replaced before");
        }
        let listed = statement.chains == self.heads.len() as u64
            && statement.root == merkle::root(&leaves(&self.heads));
        (!listed).then_some("its list of chains is not the one that was signed")
    }
}

pub fn leaves(heads: &[Head]) -> Vec<Digest32> {
    heads.iter().map(Head::leaf).collect()
}

pub fn path(dir: &Path) -> PathBuf {
    dir.join("checkpoints.jsonl")
}

/// One line of the file.
#[derive(Debug)]
pub enum CheckpointLine {
    Checkpoint(Box<Checkpoint>),
    Unreadable,
    /// The last line, without its end: a write that was cut short.
    Torn,
}

/// Reads checkpoints one by one; none if there is no file.
pub fn read(
    dir: &Path,
) -> Result<impl Iterator<Item = Result<CheckpointLine, AuditError>>, AuditError> {
    let path = path(dir);
    let reader: Box<dyn Read + Send> = match File::open(&path) {
        Ok(file) => Box::new(file),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Box::new(std::io::empty()),
        Err(source) => return Err(file("opened", path)(source)),
    };
    let mut lines = BufReader::new(reader);
    let mut line = Vec::new();
    Ok(std::iter::from_fn(move || {
        line.clear();
        match lines.read_until(b'\n', &mut line) {
            Ok(0) => None,
            Ok(_) if !line.ends_with(b"\n") => Some(Ok(CheckpointLine::Torn)),
            Ok(_) => Some(Ok(serde_json::from_slice(&line)
                .map_or(CheckpointLine::Unreadable, |checkpoint| {
                    CheckpointLine::Checkpoint(Box::new(checkpoint))
                }))),
            Err(source) => Some(Err(file("read", path.clone())(source))),
        }
    }))
}

/// Puts a checkpoint at the end of the file, and on disk.
pub fn append(dir: &Path, checkpoint: &Checkpoint) -> Result<(), AuditError> {
    let path = path(dir);
    let mut line = serde_json::to_vec(checkpoint)
        .map_err(|error| file("encoded", path.clone())(error.into()))?;
    line.push(b'\n');
    let mut log = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(&path)
        .map_err(file("opened", &path))?;
    log.write_all(&line).and_then(|()| log.sync_all()).map_err(file("written", &path))?;
    sync_dir(dir).map_err(file("written", &path))
}

/// Cuts off a last line that was never written whole; whether there was one.
pub fn cut_torn_line(dir: &Path) -> Result<bool, AuditError> {
    let path = path(dir);
    let mut log = match OpenOptions::new().read(true).write(true).open(&path) {
        Ok(log) => log,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(file("opened", path)(source)),
    };
    let mut cut = || -> std::io::Result<bool> {
        let mut text = Vec::new();
        log.read_to_end(&mut text)?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        if whole == text.len() {
            return Ok(false);
        }
        log.set_len(whole as u64)?;
        log.sync_all()?;
        Ok(true)
    };
    cut().map_err(file("repaired", &path))
}
