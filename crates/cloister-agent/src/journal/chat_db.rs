//! The tables of one chat and the queries on them. Every query is by key or by the newest rows: none
//! gets slower as the chat grows.

use std::cell::RefCell;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use cloister_protocol::link::{BegunTurn, Cause, Step, Trigger};
use cloister_protocol::{End, ErrorCode, TurnId, Usage};
use rusqlite::types::Type;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row, Transaction, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

const SCHEMA_VERSION: i64 = 1;
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

const SCHEMA: &str = "
    CREATE TABLE turns (
        seq         INTEGER PRIMARY KEY,
        id          TEXT NOT NULL UNIQUE,
        cause       TEXT NOT NULL,
        state       TEXT NOT NULL CHECK (state IN ('open', 'ended', 'stored')),
        ending      TEXT,
        created_at  INTEGER NOT NULL DEFAULT (unixepoch())
    ) STRICT;
    CREATE TABLE steps (
        turn               INTEGER NOT NULL,
        n                  INTEGER NOT NULL,
        body               TEXT NOT NULL,
        prompt_tokens      INTEGER NOT NULL,
        completion_tokens  INTEGER NOT NULL,
        PRIMARY KEY (turn, n)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE summaries (
        upto_turn   INTEGER PRIMARY KEY,
        summary     TEXT NOT NULL,
        created_at  INTEGER NOT NULL DEFAULT (unixepoch())
    ) STRICT;
    CREATE TABLE cleared (turn INTEGER PRIMARY KEY) STRICT;
    CREATE TABLE notices (id INTEGER PRIMARY KEY, notice TEXT NOT NULL) STRICT;
    PRAGMA user_version = 1;
";

/// What became of a trigger that was handed over.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Accepted {
    /// New: its turn is to be run.
    Fresh { seq: i64 },
    /// Known, and its turn has not ended.
    Open { seq: i64 },
    /// Known, and answered.
    Ended(End),
}

/// A step with what it cost.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) n: usize,
    pub(crate) step: Step,
    pub(crate) usage: Usage,
}

/// How a turn ends, written in one go.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    pub(crate) end: End,
    /// The last answer of the model, if there is one.
    pub(crate) last: Option<Recorded>,
    /// Notices up to this one were told.
    pub(crate) notices_told: i64,
}

/// A turn that is over.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PastTurn {
    pub(crate) seq: i64,
    /// When it began, in seconds since 1970.
    pub(crate) at: i64,
    pub(crate) cause: Cause,
    /// What the person was shown.
    pub(crate) text: String,
    /// Why there is no answer, or not a whole one.
    pub(crate) error: Option<ErrorCode>,
    pub(crate) steps: Vec<Step>,
}

/// Turns that later messages took the place of, by their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replaced {
    ranges: Vec<Range<i64>>,
}

impl Replaced {
    fn contains(&self, turn: i64) -> bool {
        self.ranges.iter().any(|range| range.contains(&turn))
    }

    /// Whether a summary up to a turn tells of what is not so any more.
    pub(crate) fn reaches(&self, upto: i64) -> bool {
        self.ranges.iter().any(|range| range.start <= upto)
    }
}

pub(crate) struct ChatDb {
    connection: Connection,
    /// Turns that have ended since the disk was waited for.
    loose: RefCell<Vec<TurnId>>,
}

impl ChatDb {
    pub(super) fn open(folder: &Path) -> rusqlite::Result<Self> {
        std::fs::create_dir_all(folder).map_err(|error| {
            let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
            rusqlite::Error::SqliteFailure(code, Some(format!("{}: {error}", folder.display())))
        })?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connection = Connection::open_with_flags(folder.join("history.db"), flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -256;
             PRAGMA journal_size_limit = 1048576;",
        )?;
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        match version {
            SCHEMA_VERSION => {}
            0 => connection.execute_batch(&format!("BEGIN IMMEDIATE; {SCHEMA} COMMIT;"))?,
            newer => {
                let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_SCHEMA);
                let message = format!("it was written by a newer version (schema {newer})");
                return Err(rusqlite::Error::SqliteFailure(code, Some(message)));
            }
        }
        Ok(Self { connection, loose: RefCell::default() })
    }

    /// Reads until this is dropped all see the same state, and cost one lock.
    pub(crate) fn snapshot(&self) -> rusqlite::Result<Transaction<'_>> {
        self.connection.unchecked_transaction()
    }

    /// Commits and waits for the disk: this and all that was written before survives a power cut. Every other
    /// write survives any kill at once, and a power cut from the next of these on: what the control plane has on
    /// disk as well, or what is made again.
    fn durably<T>(&self, write: impl FnOnce() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        self.connection.execute_batch("PRAGMA synchronous = FULL")?;
        let written = write();
        self.connection.execute_batch("PRAGMA synchronous = NORMAL")?;
        written
    }

    /// Writes a trigger down; after a power cut the control plane hands it over again.
    pub(crate) fn accept(&self, trigger: &Trigger) -> rusqlite::Result<Accepted> {
        let transaction = self.connection.unchecked_transaction()?;
        let turn = TurnId::of_trigger(&trigger.id);
        let added = self
            .connection
            .prepare_cached(
                "INSERT OR IGNORE INTO turns (id, cause, state) VALUES (?1, ?2, 'open')",
            )?
            .execute(params![turn.as_str(), json(&trigger.cause)?])?;
        let (seq, ending): (i64, Option<String>) = self
            .connection
            .prepare_cached("SELECT seq, ending FROM turns WHERE id = ?1")?
            .query_row([turn.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if added == 1 {
            // Left by a turn that ran while its database was replaced.
            self.connection.prepare_cached("DELETE FROM steps WHERE turn = ?1")?.execute([seq])?;
        }
        transaction.commit()?;
        Ok(match ending {
            Some(ending) => Accepted::Ended(parsed(&ending)?),
            None if added == 1 => Accepted::Fresh { seq },
            None => Accepted::Open { seq },
        })
    }

    /// Writes down turns that ended before this chat began, as a branch of where they were said.
    pub(crate) fn begin_with(&self, turns: &[BegunTurn]) -> rusqlite::Result<()> {
        self.durably(|| {
            let transaction = self.connection.unchecked_transaction()?;
            for BegunTurn { at, cause, end } in turns {
                self.connection
                    .prepare_cached(
                        "INSERT OR IGNORE INTO turns (id, cause, state, ending, created_at)
                         VALUES (?1, ?2, 'stored', ?3, ?4)",
                    )?
                    .execute(params![end.turn.as_str(), json(cause)?, json(end)?, at])?;
            }
            transaction.commit()
        })
    }

    pub(crate) fn ending(&self, turn: i64) -> rusqlite::Result<Option<End>> {
        let ending: Option<Option<String>> = self
            .connection
            .prepare_cached("SELECT ending FROM turns WHERE seq = ?1")?
            .query_row([turn], |row| row.get(0))
            .optional()?;
        ending.flatten().as_deref().map(parsed).transpose()
    }

    /// Writes a step down, before it is acted upon. A result is acted upon by the answer that follows it.
    pub(crate) fn append(&self, turn: i64, recorded: &Recorded) -> rusqlite::Result<()> {
        match recorded.step {
            Step::Answer { .. } | Step::Call { .. } => {
                self.durably(|| self.write_step(turn, recorded))
            }
            Step::Result { .. } => self.write_step(turn, recorded),
        }
    }

    fn write_step(&self, turn: i64, recorded: &Recorded) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached(
                "INSERT OR REPLACE INTO steps (turn, n, body, prompt_tokens, completion_tokens)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                turn,
                signed(recorded.n as u64),
                json(&recorded.step)?,
                signed(recorded.usage.prompt_tokens),
                signed(recorded.usage.completion_tokens),
            ])?;
        Ok(())
    }

    pub(crate) fn steps(&self, turn: i64) -> rusqlite::Result<Vec<Step>> {
        self.connection
            .prepare_cached("SELECT body FROM steps WHERE turn = ?1 ORDER BY n")?
            .query_map([turn], |row| parsed(&row.get::<_, String>(0)?))?
            .collect()
    }

    pub(crate) fn usage(&self, turn: i64) -> rusqlite::Result<Usage> {
        self.connection
            .prepare_cached(
                "SELECT coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0)
                 FROM steps WHERE turn = ?1",
            )?
            .query_row([turn], |row| {
                let (prompt, completion): (i64, i64) = (row.get(0)?, row.get(1)?);
                Ok(Usage {
                    prompt_tokens: prompt.unsigned_abs(),
                    completion_tokens: completion.unsigned_abs(),
                })
            })
    }

    /// Ends a turn, which the control plane stores next; `settle` puts it on disk here. The turn's row is made
    /// again if the database was replaced while it ran.
    pub(crate) fn end(
        &self,
        trigger: &Trigger,
        turn: i64,
        ending: &Ending,
    ) -> rusqlite::Result<()> {
        let transaction = self.connection.unchecked_transaction()?;
        if let Some(last) = &ending.last {
            self.write_step(turn, last)?;
        }
        let written = json(&ending.end)?;
        let updated = self
            .connection
            .prepare_cached("UPDATE turns SET state = 'ended', ending = ?2 WHERE id = ?1")?
            .execute([ending.end.turn.as_str(), written.as_str()])?;
        if updated == 0 {
            self.connection.execute(
                "INSERT INTO turns (id, cause, state, ending) VALUES (?1, ?2, 'ended', ?3)",
                params![ending.end.turn.as_str(), json(&trigger.cause)?, written],
            )?;
        }
        self.connection
            .prepare_cached("DELETE FROM notices WHERE id <= ?1")?
            .execute([ending.notices_told])?;
        if matches!(trigger.cause, Cause::Clear) {
            self.connection.execute("INSERT OR IGNORE INTO cleared (turn) VALUES (?1)", [turn])?;
        }
        transaction.commit()?;
        self.loose.borrow_mut().push(ending.end.turn.clone());
        Ok(())
    }

    /// Whether a turn has ended that a power cut would undo.
    pub(super) fn is_loose(&self) -> bool {
        !self.loose.borrow().is_empty()
    }

    /// Puts on disk what has ended.
    pub(super) fn settle(&self) -> rusqlite::Result<()> {
        let ended = self.loose.take();
        self.durably(|| {
            let transaction = self.connection.unchecked_transaction()?;
            for turn in &ended {
                self.connection
                    .prepare_cached("UPDATE turns SET state = 'stored' WHERE id = ?1")?
                    .execute([turn.as_str()])?;
            }
            transaction.commit()
        })
    }

    /// What the person must be told, and the number of the last of it.
    pub(crate) fn notices(&self) -> rusqlite::Result<(i64, Vec<String>)> {
        let rows: Vec<(i64, String)> = self
            .connection
            .prepare_cached("SELECT id, notice FROM notices ORDER BY id LIMIT 10")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        let last = rows.last().map_or(0, |(id, _)| *id);
        Ok((last, rows.into_iter().map(|(_, notice)| notice).collect()))
    }

    pub(super) fn add_notice(&self, notice: &str) -> rusqlite::Result<()> {
        self.connection.execute("INSERT INTO notices (notice) VALUES (?1)", [notice])?;
        Ok(())
    }

    /// The last turn that is forgotten; 0 when none is.
    pub(crate) fn cleared_upto(&self) -> rusqlite::Result<i64> {
        self.connection
            .prepare_cached("SELECT coalesce(max(turn), 0) FROM cleared")?
            .query_row([], |row| row.get(0))
    }

    /// The running summary of what came after `floor`, and the last turn it covers.
    pub(crate) fn summary(&self, floor: i64) -> rusqlite::Result<Option<(i64, String)>> {
        self.connection
            .prepare_cached(
                "SELECT upto_turn, summary FROM summaries WHERE upto_turn > ?1
                 ORDER BY upto_turn DESC LIMIT 1",
            )?
            .query_row([floor], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
    }

    /// Replaces the running summary; others are of no more use, even of more: they tell of what was taken back.
    pub(crate) fn set_summary(&self, upto_turn: i64, summary: &str) -> rusqlite::Result<()> {
        let transaction = self.connection.unchecked_transaction()?;
        self.connection.execute(
            "INSERT OR REPLACE INTO summaries (upto_turn, summary) VALUES (?1, ?2)",
            params![upto_turn, summary],
        )?;
        self.connection.execute("DELETE FROM summaries WHERE upto_turn <> ?1", [upto_turn])?;
        transaction.commit()
    }

    /// What later messages after `floor` took the place of, whether those are answered yet or not.
    pub(crate) fn replaced(&self, floor: i64) -> rusqlite::Result<Replaced> {
        let mut statement = self.connection.prepare_cached(
            "SELECT later.seq, coalesce(
                 (SELECT seq FROM turns WHERE id = json_extract(later.cause, '$.instead')),
                 -- What was no turn, because the control plane answered it: the first that came after it.
                 (SELECT min(seq) FROM turns WHERE CAST(substr(id, 4) AS INTEGER) >=
                     CAST(substr(json_extract(later.cause, '$.instead'), 4) AS INTEGER)))
             FROM turns later WHERE later.seq > ?1 AND json_extract(later.cause, '$.instead') IS NOT NULL",
        )?;
        let ranges = statement.query_map([floor], |row| {
            let (by, from): (i64, Option<i64>) = (row.get(0)?, row.get(1)?);
            Ok(from.unwrap_or(by)..by)
        })?;
        Ok(Replaced { ranges: ranges.collect::<rusqlite::Result<_>>()? })
    }

    /// The newest ended turns between `floor` and `before`, newest first, for as long as `wanted`.
    pub(crate) fn newest(
        &self,
        (floor, before): (i64, i64),
        replaced: &Replaced,
        mut wanted: impl FnMut(&PastTurn) -> bool,
    ) -> rusqlite::Result<Vec<PastTurn>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT seq, cause, ending, created_at FROM turns WHERE seq > ?1 AND seq < ?2 AND state <> 'open'
             ORDER BY seq DESC LIMIT 500",
        )?;
        let mut rows = statement.query([floor, before])?;
        let mut turns = Vec::new();
        while let Some(row) = rows.next()? {
            if replaced.contains(row.get(0)?) {
                continue;
            }
            let turn = self.past_turn(row)?;
            if !wanted(&turn) {
                break;
            }
            turns.push(turn);
        }
        Ok(turns)
    }

    /// The oldest ended turns between `floor` and `before`, oldest first.
    pub(crate) fn oldest(
        &self,
        (floor, before): (i64, i64),
        replaced: &Replaced,
        limit: usize,
    ) -> rusqlite::Result<Vec<PastTurn>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT seq, cause, ending, created_at FROM turns WHERE seq > ?1 AND seq < ?2 AND state <> 'open'
             ORDER BY seq",
        )?;
        let mut rows = statement.query([floor, before])?;
        let mut turns = Vec::new();
        while let Some(row) = rows.next()?.filter(|_| turns.len() < limit) {
            if !replaced.contains(row.get(0)?) {
                turns.push(self.past_turn(row)?);
            }
        }
        Ok(turns)
    }

    /// How many ended turns lie between two.
    pub(crate) fn count_between(
        &self,
        (floor, before): (i64, i64),
        replaced: &Replaced,
    ) -> rusqlite::Result<usize> {
        let mut statement = self.connection.prepare_cached(
            "SELECT seq FROM turns WHERE seq > ?1 AND seq < ?2 AND state <> 'open' LIMIT 10000",
        )?;
        let turns: Vec<i64> =
            statement.query_map([floor, before], |row| row.get(0))?.collect::<Result<_, _>>()?;
        Ok(turns.into_iter().filter(|turn| !replaced.contains(*turn)).count())
    }

    fn past_turn(&self, row: &Row<'_>) -> rusqlite::Result<PastTurn> {
        let seq = row.get(0)?;
        let ending: Option<String> = row.get(2)?;
        let end: Option<End> = ending.as_deref().map(parsed).transpose()?;
        Ok(PastTurn {
            seq,
            at: row.get(3)?,
            cause: parsed(&row.get::<_, String>(1)?)?,
            error: end.as_ref().and_then(|end| end.error),
            text: end.map(|end| end.text).unwrap_or_default(),
            steps: self.steps(seq)?,
        })
    }
}

fn json(value: &impl Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

fn parsed<T: DeserializeOwned>(json: &str) -> rusqlite::Result<T> {
    serde_json::from_str(json)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(error)))
}

/// SQLite counts with a sign.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
#[path = "chat_db_tests.rs"]
mod tests;
