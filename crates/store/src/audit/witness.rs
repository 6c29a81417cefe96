//! Witnesses: places off this machine that are shown every checkpoint, so that whoever takes over the machine,
//! signing key and all, can't change what was.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::future::Future;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::checkpoint::Checkpoint;
use super::error::{AuditError, blocking, file};
use crate::clock::Clock;

/// A checkpoint on its way to a witness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// When it was sent, by the sender's clock.
    pub sent_at: i64,
    pub checkpoint: Checkpoint,
}

/// A checkpoint as a witness keeps it: one line of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witnessed {
    /// When it arrived, by the witness's own clock.
    pub received_at: i64,
    #[serde(flatten)]
    pub delivery: Delivery,
}

/// A place that keeps checkpoints. It is shown each in turn, and again when it did not confirm.
pub trait Witness: Send + Sync {
    /// A name that stays the same, under which is kept how far it has come.
    fn name(&self) -> &str;

    /// Keeps a checkpoint; it is safe there once this returns. To be given the same one again is no error.
    fn keep(&self, delivery: &Delivery) -> impl Future<Output = Result<(), AuditError>> + Send;
}

/// A file, on another machine's disk or on one that is only appended to.
#[derive(Clone, Debug)]
pub struct FileWitness {
    path: PathBuf,
    name: String,
    clock: Clock,
}

impl FileWitness {
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), name: format!("file {}", path.display()), clock: Clock }
    }
}

impl Witness for FileWitness {
    fn name(&self) -> &str {
        &self.name
    }

    async fn keep(&self, delivery: &Delivery) -> Result<(), AuditError> {
        let received_at = self.clock.now_ms();
        let witnessed = Witnessed { received_at, delivery: delivery.clone() };
        let path = self.path.clone();
        blocking(move || append(&path, &witnessed)).await
    }
}

fn append(path: &Path, witnessed: &Witnessed) -> Result<(), AuditError> {
    let mut line =
        serde_json::to_vec(witnessed).map_err(|error| file("encoded", path)(error.into()))?;
    line.push(b'\n');
    let mut kept = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .map_err(file("opened", path))?;
    kept.write_all(&line).and_then(|()| kept.sync_all()).map_err(file("written", path))
}

/// Reads what a witness kept, by number: a file of lines, or a folder of such files; the first of a number
/// counts. A line that can't be read is left out.
pub fn read(path: &Path) -> Result<BTreeMap<u64, Witnessed>, AuditError> {
    let mut all = BTreeMap::new();
    let mut waiting = vec![path.to_owned()];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            let names = std::fs::read_dir(&path).map_err(file("listed", &path))?;
            let names = names.collect::<Result<Vec<_>, _>>().map_err(file("listed", &path))?;
            waiting.extend(names.into_iter().map(|name| name.path()));
        } else {
            read_lines(&path, &mut all)?;
        }
    }
    Ok(all)
}

fn read_lines(path: &Path, all: &mut BTreeMap<u64, Witnessed>) -> Result<(), AuditError> {
    let kept = std::fs::File::open(path).map_err(file("opened", path))?;
    for line in BufReader::new(kept).split(b'\n') {
        let line = line.map_err(file("read", path))?;
        if let Some(witnessed) = witnessed(&line) {
            all.entry(witnessed.delivery.checkpoint.statement.number).or_insert(witnessed);
        }
    }
    Ok(())
}

/// A witness that only stores what it is sent says nothing of its own clock.
fn witnessed(line: &[u8]) -> Option<Witnessed> {
    serde_json::from_slice(line).ok().or_else(|| {
        let delivery: Delivery = serde_json::from_slice(line).ok()?;
        Some(Witnessed { received_at: delivery.sent_at, delivery })
    })
}
