//! What it means when the database or its disk fails, and what to do: whoever is woken by it is not helped by a code.

use std::error::Error;
use std::io;

use crate::error::StoreError;

/// What is wrong where the data is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    Full,
    ReadOnly,
    /// The database was written over, cut or mixed up.
    Damaged,
    /// The disk itself does not do what it is asked.
    Disk,
}

impl Trouble {
    /// Finds it among the causes of an error.
    pub fn of(error: &(dyn Error + 'static)) -> Option<Self> {
        let mut next = Some(error);
        while let Some(cause) = next {
            if let Some(StoreError::Damaged { .. }) = cause.downcast_ref() {
                return Some(Self::Damaged);
            }
            let known = cause
                .downcast_ref::<sqlx::Error>()
                .and_then(Self::of_database)
                .or_else(|| cause.downcast_ref().and_then(Self::of_file));
            if known.is_some() {
                return known;
            }
            next = cause.source();
        }
        None
    }

    fn of_database(error: &sqlx::Error) -> Option<Self> {
        let sqlx::Error::Database(error) = error else { return None };
        let code = error.code()?;
        // SQLite's are numbers, with what exactly it was above the lowest byte; Postgres's have five characters.
        match code.parse::<u32>().ok().filter(|_| code.len() != 5) {
            // The file that connections share could not be made larger, or mapped: there is no room for it.
            Some(4_874 | 5_386) => Some(Self::Full),
            Some(number) => match number & 0xff {
                8 => Some(Self::ReadOnly),
                10 => Some(Self::Disk),
                11 | 26 => Some(Self::Damaged),
                13 => Some(Self::Full),
                _ => None,
            },
            None => match &*code {
                "53100" => Some(Self::Full),
                "25006" => Some(Self::ReadOnly),
                "58030" => Some(Self::Disk),
                "XX001" | "XX002" => Some(Self::Damaged),
                _ => None,
            },
        }
    }

    fn of_file(error: &io::Error) -> Option<Self> {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(Self::Full),
            io::ErrorKind::ReadOnlyFilesystem => Some(Self::ReadOnly),
            // EIO has no kind of its own.
            _ if error.raw_os_error() == Some(5) => Some(Self::Disk),
            _ => None,
        }
    }

    /// One that anybody may read: it names no path.
    pub fn words(self) -> &'static str {
        match self {
            Self::Full => "the disk that the data is kept on is full",
            Self::ReadOnly => "the data can't be written: its disk or directory is read-only",
            Self::Damaged => "the database is damaged",
            Self::Disk => "the disk that the data is kept on fails",
        }
    }

    /// For whoever runs this.
    pub fn fix(self) -> &'static str {
        match self {
            Self::Full => {
                "make room where the data directory is (`df -h` shows it); what was acknowledged is kept, and work \
                 goes on by itself"
            }
            Self::ReadOnly => {
                "give the account that runs cloister the right to write, or mount the disk for writing (`dmesg` says \
                 whether it became read-only after an error)"
            }
            Self::Damaged => {
                "keep a copy of the data directory, look at the disk (`dmesg`), and put back a backup of the whole \
                 directory; `sqlite3 cloister.db .recover` gets out of a copy what can still be read"
            }
            Self::Disk => {
                "look at `dmesg`, and copy the data directory to another disk while it can be read"
            }
        }
    }
}

#[cfg(test)]
#[path = "trouble_tests.rs"]
mod tests;
