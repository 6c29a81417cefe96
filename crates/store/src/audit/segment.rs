//! Segments: closed runs of a chain's entries, as JSON lines between a heading and an ending. A segment
//! without its ending was never finished.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use cloister_vault::{Digest32, Owner, replace_file, sync_dir};
use serde::{Deserialize, Serialize};

use super::error::{AuditError, file};
use super::record::Record;

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heading {
    pub chain: Owner,
    pub segment: u64,
    pub first: u64,
}

/// The last line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ending {
    pub end: Owner,
    pub last: u64,
    pub entries: u64,
    pub head: Digest32,
}

pub fn path(dir: &Path, chain: Owner, number: u64) -> PathBuf {
    dir.join(chain.to_string()).join(format!("{number:06}.seg"))
}

/// Writes a segment whole, in place of one that is there. It must hold at least one entry.
pub fn write(dir: &Path, chain: Owner, number: u64, entries: &[Record]) -> Result<(), AuditError> {
    let path = path(dir, chain, number);
    let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return Ok(()) };
    let heading = Heading { chain, segment: number, first: first.seq };
    let ending =
        Ending { end: chain, last: last.seq, entries: entries.len() as u64, head: last.hash };
    let mut text = Vec::with_capacity(entries.len() * 640);
    let mut encoded = line(&mut text, &heading);
    for entry in entries {
        encoded = encoded.and_then(|()| line(&mut text, entry));
    }
    encoded
        .and_then(|()| line(&mut text, &ending))
        .map_err(|error| file("encoded", &path)(error.into()))?;
    let folder = dir.join(chain.to_string());
    std::fs::create_dir_all(&folder)
        .and_then(|()| sync_dir(dir))
        .and_then(|()| replace_file(&path, &text))
        .map_err(file("written", &path))
}

fn line(text: &mut Vec<u8>, value: &impl Serialize) -> Result<(), serde_json::Error> {
    serde_json::to_writer(&mut *text, value)?;
    text.push(b'\n');
    Ok(())
}

/// What comes next in a segment.
#[derive(Debug)]
pub enum Part {
    Entry(Box<Record>),
    Ending(Ending),
    /// A line that is neither, or nothing where the ending should be.
    Broken,
}

/// Reads a segment line by line.
pub struct Reader {
    path: PathBuf,
    text: BufReader<File>,
    line: Vec<u8>,
    pub heading: Option<Heading>,
    over: bool,
}

/// Opens a segment; none if there is no such file.
pub fn open(dir: &Path, chain: Owner, number: u64) -> Result<Option<Reader>, AuditError> {
    let path = path(dir, chain, number);
    let opened = match File::open(&path) {
        Ok(opened) => opened,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(file("opened", path)(source)),
    };
    let text = BufReader::with_capacity(256 * 1024, opened);
    let mut reader = Reader { path, text, line: Vec::new(), heading: None, over: false };
    if reader.read_line()? {
        reader.heading = serde_json::from_slice(&reader.line).ok();
    }
    Ok(Some(reader))
}

impl Reader {
    /// Whether there is another line, whole.
    fn read_line(&mut self) -> Result<bool, AuditError> {
        self.line.clear();
        let read = self.text.read_until(b'\n', &mut self.line);
        read.map_err(file("read", &self.path))?;
        Ok(self.line.ends_with(b"\n"))
    }

    fn read_part(&mut self) -> Result<Part, AuditError> {
        if !self.read_line()? {
            return Ok(Part::Broken);
        }
        if !self.line.starts_with(b"{\"end\"") {
            let entry = serde_json::from_slice(&self.line);
            return Ok(entry.map_or(Part::Broken, |entry| Part::Entry(Box::new(entry))));
        }
        let ending = serde_json::from_slice(&self.line).map_or(Part::Broken, Part::Ending);
        // Anything behind the ending was not written here.
        let trailing = self.read_line()? || !self.line.is_empty();
        Ok(if trailing { Part::Broken } else { ending })
    }
}

impl Iterator for Reader {
    type Item = Result<Part, AuditError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let part = self.read_part();
        self.over = !matches!(part, Ok(Part::Entry(_)));
        Some(part)
    }
}

/// All entries of a segment that is whole and holds; none if it is not.
pub fn read_genuine(
    dir: &Path,
    chain: Owner,
    number: u64,
    bounds: (u64, u64),
) -> Result<Option<Vec<Record>>, AuditError> {
    let Some(reader) = open(dir, chain, number)? else { return Ok(None) };
    let heading = Heading { chain, segment: number, first: bounds.0 };
    if reader.heading.as_ref() != Some(&heading) {
        return Ok(None);
    }
    let mut entries: Vec<Record> = Vec::new();
    for part in reader {
        match part? {
            Part::Broken => return Ok(None),
            Part::Entry(entry) => entries.push(*entry),
            Part::Ending(ending) => {
                let whole = ending.last == bounds.1
                    && ending.entries == entries.len() as u64
                    && entries.last().is_some_and(|last| last.hash == ending.head);
                return Ok((whole && is_run(chain, &entries, bounds)).then_some(entries));
            }
        }
    }
    Ok(None)
}

/// Whether entries are genuine and follow one another from the first to the last number.
pub fn is_run(chain: Owner, entries: &[Record], (first, last): (u64, u64)) -> bool {
    let numbered = entries.iter().map(|entry| entry.seq).eq(first..=last);
    let linked = entries.iter().zip(entries.iter().skip(1)).all(|(a, b)| b.prev == a.hash);
    numbered && linked && entries.iter().all(|entry| entry.is_genuine(chain))
}
