//! Verifying the checkpoints: keys, signatures, order, and what a witness has. Gathers what they say of each
//! chain.

use std::collections::BTreeMap;

use cloister_vault::{Digest32, KeyLog, Owner, VaultError};

use super::checker::Expected;
use super::checkpoint::{self, Checkpoint, CheckpointLine, Statement};
use super::error::AuditError;
use super::report::{Fault, Finding, Report, Where};
use super::verify::Verification;
use super::witness::{self, Witnessed};

/// What the checkpoints say of each chain.
pub(super) type AllExpected = BTreeMap<Owner, Vec<Expected>>;

/// What checking the files has shown.
pub(super) struct Files {
    pub(super) report: Report,
    pub(super) expected: AllExpected,
}

/// The newest checkpoint the database knows.
pub(super) type KnownCheckpoint = Option<(u64, Digest32)>;

/// Checks keys, checkpoints and witness; gathers what they say of each chain.
pub(super) fn check_checkpoints(
    what: &Verification,
    known: KnownCheckpoint,
) -> Result<Files, AuditError> {
    let mut report = Report::default();
    let keys = match KeyLog::read(&what.dir) {
        Ok(keys) => keys,
        Err(error @ VaultError::BadKeyRecord { .. }) => {
            let text = error.to_string();
            report.add(Finding {
                fault: Fault::Unsigned,
                chain: None,
                entry: None,
                place: Where::Keys,
                text,
            });
            KeyLog::default()
        }
        Err(error) => return Err(error.into()),
    };
    let mut kept = what.witness.as_deref().map(witness::read).transpose()?.unwrap_or_default();
    let mut pass = Pass {
        what,
        keys,
        known,
        report,
        expected: AllExpected::new(),
        last: None,
        resigned: false,
    };
    for line in checkpoint::read(&what.dir)? {
        match line? {
            CheckpointLine::Checkpoint(checkpoint) => {
                let witnessed = kept.remove(&checkpoint.statement.number);
                pass.checkpoint(&checkpoint, witnessed.as_ref());
            }
            CheckpointLine::Unreadable => pass.find(Fault::Edited, "it can't be read"),
            CheckpointLine::Torn => pass.find(Fault::Torn, "it was never written to its end"),
        }
    }
    pass.reaches_known();
    for witnessed in kept.values() {
        pass.only_witnessed(witnessed);
    }
    Ok(Files { report: pass.report, expected: pass.expected })
}

/// One way through the checkpoints.
struct Pass<'a> {
    what: &'a Verification,
    keys: KeyLog,
    known: KnownCheckpoint,
    report: Report,
    expected: AllExpected,
    last: Option<Statement>,
    /// The witness was shown something else; all that follows differs too.
    resigned: bool,
}

impl Pass<'_> {
    fn find(&mut self, fault: Fault, text: &str) {
        let number = self.last.map_or(1, |last| last.number + 1);
        self.find_at(number, fault, text);
    }

    fn find_at(&mut self, number: u64, fault: Fault, text: &str) {
        let place = Where::Checkpoint(number);
        let text = text.to_owned();
        self.report.add(Finding { fault, chain: None, entry: None, place, text });
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint, witnessed: Option<&Witnessed>) {
        let statement = checkpoint.statement;
        self.report.checkpoints += 1;
        if let Some(problem) = checkpoint.problem(self.last.as_ref(), &self.keys) {
            self.find_at(statement.number, Fault::Unsigned, problem);
        }
        let tolerance = self.what.clock_tolerance_ms;
        if self.last.is_some_and(|last| statement.at < last.at.saturating_sub(tolerance)) {
            let text = "its time is before that of the checkpoint before it";
            self.find_at(statement.number, Fault::ClockBack, text);
        }
        if self
            .known
            .is_some_and(|known| known.0 == statement.number && known.1 != statement.hash())
        {
            let text = "it is not the one the database knows";
            self.find_at(statement.number, Fault::Rewritten, text);
        }
        if let Some(witnessed) = witnessed {
            self.compare(checkpoint, witnessed);
        }
        self.expect(checkpoint);
        self.last = Some(statement);
    }

    /// The file must hold at least what the database knows.
    fn reaches_known(&mut self) {
        if let Some((number, _)) = self.known
            && self.last.is_none_or(|last| last.number < number)
        {
            self.find_at(number, Fault::Truncated, "the file ends before it");
        }
    }

    fn expect(&mut self, checkpoint: &Checkpoint) {
        for head in &checkpoint.heads {
            self.expected.entry(head.chain).or_default().push(Expected {
                entries: head.entries,
                hash: head.hash,
                segments: head.segments,
                checkpoint: checkpoint.statement.number,
                at: checkpoint.statement.at,
            });
        }
    }

    fn compare(&mut self, ours: &Checkpoint, witnessed: &Witnessed) {
        let number = ours.statement.number;
        let theirs = &witnessed.delivery.checkpoint;
        self.check_clock(witnessed);
        if ours.statement == theirs.statement {
            self.report.witnessed += 1;
            return;
        }
        if std::mem::replace(&mut self.resigned, true) {
            return;
        }
        let changed = theirs.heads.iter().find(|head| !ours.heads.contains(head));
        let entry = changed.map(|head| {
            let agreed = self.expected.get(&head.chain).and_then(|all| all.last());
            agreed.map_or(0, |agreed| agreed.entries) + 1
        });
        self.report.add(Finding {
            fault: Fault::Resigned,
            chain: changed.map(|head| head.chain),
            entry,
            place: Where::Checkpoint(number),
            text: "the witness was shown another: it was signed anew, over changed entries"
                .to_owned(),
        });
    }

    /// A checkpoint that the witness has, and the file has not.
    fn only_witnessed(&mut self, witnessed: &Witnessed) {
        let number = witnessed.delivery.checkpoint.statement.number;
        self.check_clock(witnessed);
        if !std::mem::replace(&mut self.resigned, true) {
            let text = "the witness has it, and the file has not";
            self.find_at(number, Fault::Truncated, text);
        }
        self.expect(&witnessed.delivery.checkpoint);
    }

    fn check_clock(&mut self, witnessed: &Witnessed) {
        let off = witnessed.received_at.abs_diff(witnessed.delivery.sent_at);
        if off > self.what.clock_tolerance_ms.unsigned_abs() {
            let text = format!("this machine's clock was {} s from the witness's", off / 1000);
            let number = witnessed.delivery.checkpoint.statement.number;
            self.find_at(number, Fault::ClockBack, &text);
        }
    }
}
