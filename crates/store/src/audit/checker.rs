//! Checks the entries of one chain, one after another: that each is genuine, follows the one before, is what
//! the checkpoints say, and was recorded when it says. Pure, and of constant size.

use cloister_vault::{Digest32, Owner};

use super::ranges::Ranges;
use super::record::{ERASE, Extent, Record, Tip};
use super::report::{Fault, Finding, Where};

/// Findings of one chain beyond this many are not kept.
const MOST_FINDINGS: usize = 20;

/// What a checkpoint says of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    pub entries: u64,
    pub hash: Digest32,
    pub segments: u64,
    pub checkpoint: u64,
    pub at: i64,
}

/// Content that is gone, or was said to be taken.
#[derive(Clone, Debug, Default)]
pub struct Gone {
    pub detail: Ranges,
    pub all: Ranges,
}

impl Gone {
    fn of(&mut self, extent: Extent) -> &mut Ranges {
        match extent {
            Extent::Detail => &mut self.detail,
            Extent::All => &mut self.all,
        }
    }

    /// The first entry with something gone that `taken` does not say.
    pub fn first_unsaid(&self, taken: &Self) -> Option<u64> {
        let mut any = taken.all.clone();
        any.add(&taken.detail);
        let all = self.all.first_outside(&taken.all);
        let detail = self.detail.first_outside(&any);
        all.into_iter().chain(detail).min()
    }
}

/// What was found out about one chain in one place.
#[derive(Clone, Debug)]
pub struct Checked {
    pub tip: Tip,
    pub entries: u64,
    pub findings: Vec<Finding>,
    /// Content that is not there.
    pub gone: Gone,
    /// Content that entries of the chain say was taken.
    pub taken: Gone,
}

pub struct Checker {
    chain: Owner,
    place: Where,
    tolerance_ms: i64,
    expected: Vec<Expected>,
    next_expected: usize,
    /// Entries up to here are what a checkpoint says.
    agreed: u64,
    tip: Tip,
    latest_at: i64,
    /// Entries that were not there in their turn, and the finding that says so.
    gap: Option<(u64, u64, usize)>,
    /// The newest entry does not follow the one before it; which of them is wrong, the next one tells.
    broken_link: bool,
    /// The newest entry was found to be wrong already.
    known_bad: bool,
    checked: Checked,
}

impl Checker {
    /// `expected` is in the order of the checkpoints.
    pub fn new(chain: Owner, place: Where, expected: Vec<Expected>, tolerance_ms: i64) -> Self {
        let checked = Checked {
            tip: Tip::NONE,
            entries: 0,
            findings: Vec::new(),
            gone: Gone::default(),
            taken: Gone::default(),
        };
        Self {
            chain,
            place,
            tolerance_ms,
            expected,
            next_expected: 0,
            agreed: 0,
            tip: Tip::NONE,
            latest_at: i64::MIN,
            gap: None,
            broken_link: false,
            known_bad: false,
            checked,
        }
    }

    /// Says where the entries that follow are read from.
    pub fn read_from(&mut self, place: Where) {
        self.place = place;
    }

    pub fn feed(&mut self, record: &Record) {
        self.checked.entries += 1;
        let next = self.tip.seq + 1;
        if record.seq < next {
            return self.out_of_turn(record);
        }
        self.settle_broken_link(Some(record));
        let genuine = record.is_genuine(self.chain);
        if record.seq > next {
            let index = self.checked.findings.len();
            let last = record.seq - 1;
            self.find(Fault::Missing, next, format!("entries {next} to {last} are missing"));
            self.gap = Some((next, last, index));
        } else if genuine && !self.known_bad && record.prev != self.tip.hash {
            self.broken_link = true;
        }
        if !genuine {
            self.find(Fault::Edited, record.seq, "it is not what was recorded".to_owned());
        }
        self.known_bad = !genuine;
        self.check_times(record);
        self.check_expected(record);
        self.note_redaction(record);
        self.tip = record.tip();
    }

    pub fn finish(mut self) -> Checked {
        self.settle_broken_link(None);
        self.checked.tip = self.tip;
        self.checked
    }

    /// Like `finish`, where the chain must reach what the newest checkpoint says.
    pub fn finish_whole(mut self) -> Checked {
        self.settle_broken_link(None);
        let mut unmet = self.expected.iter().skip(self.next_expected);
        let unmet = unmet.rfind(|expected| expected.entries > self.tip.seq).copied();
        if let Some(expected) = unmet {
            let text = format!(
                "the chain ends before it; checkpoint {} has {} entries",
                expected.checkpoint, expected.entries
            );
            self.find(Fault::Truncated, self.tip.seq + 1, text);
        }
        self.finish()
    }

    /// An entry that holds something no entry can.
    pub fn unreadable(&mut self, seq: u64) {
        self.checked.entries += 1;
        self.find(Fault::Edited, seq, "it can't be read".to_owned());
        self.tip.seq = self.tip.seq.max(seq);
        self.known_bad = true;
    }

    /// The segment that is being read is not as it was written.
    pub fn broken(&mut self, text: &str) {
        self.find(Fault::Torn, self.tip.seq + 1, text.to_owned());
    }

    /// The segment that should be read is gone.
    pub fn missing_segment(&mut self) {
        self.find(Fault::Truncated, self.tip.seq + 1, "this segment is gone".to_owned());
        self.known_bad = true;
    }

    /// The segment that is being read says that it ends so.
    pub fn ends(&mut self, last: u64, head: &Digest32) {
        if last > self.tip.seq {
            let text = format!("the segment ends before it; it should end with {last}");
            self.find(Fault::Missing, self.tip.seq + 1, text);
        } else if (last != self.tip.seq || *head != self.tip.hash) && !self.known_bad {
            let text = "the segment says that it ends with another entry".to_owned();
            self.find(Fault::Inserted, self.tip.seq, text);
        }
    }

    /// An entry whose number was passed: late, or one too many.
    fn out_of_turn(&mut self, record: &Record) {
        match self.gap {
            Some((first, last, index)) if (first..=last).contains(&record.seq) => {
                if let Some(finding) = self.checked.findings.get_mut(index) {
                    finding.fault = Fault::Reordered;
                    finding.text = "it stands behind entries that follow it".to_owned();
                }
            }
            _ => {
                let text = "there is a second entry of this number".to_owned();
                self.find(Fault::Inserted, record.seq, text);
            }
        }
    }

    /// Blames one of two entries that do not fit: the later one, unless the one after it vouches for it.
    fn settle_broken_link(&mut self, following: Option<&Record>) {
        if !std::mem::take(&mut self.broken_link) {
            return;
        }
        let later = self.tip.seq;
        let vouched = following.is_none_or(|following| following.prev == self.tip.hash);
        if vouched && later > 1 {
            let text = format!("it is not the entry that {later} was chained to");
            self.find(Fault::Edited, later - 1, text);
        } else {
            self.find(Fault::Edited, later, "it does not follow the entry before it".to_owned());
            self.known_bad = true;
        }
    }

    fn check_times(&mut self, record: &Record) {
        if record.at < self.latest_at.saturating_sub(self.tolerance_ms) {
            let back = self.latest_at.saturating_sub(record.at) / 1000;
            let text = format!("its time is {back} s before that of an entry before it");
            self.find(Fault::ClockBack, record.seq, text);
        }
        self.latest_at = self.latest_at.max(record.at);
    }

    fn check_expected(&mut self, record: &Record) {
        while let Some(expected) = self.expected.get(self.next_expected).copied() {
            if expected.entries > record.seq {
                break;
            }
            self.next_expected += 1;
            if expected.entries == record.seq {
                self.compare(record, &expected);
            }
        }
        // The checkpoints on either side of the entry bound its time.
        let after = self.expected.get(self.next_expected.saturating_sub(1));
        let before = after.filter(|after| after.entries < record.seq);
        let late = before.is_some_and(|c| record.at.saturating_add(self.tolerance_ms) < c.at);
        let covering = self.expected.iter().skip(self.next_expected.saturating_sub(1));
        let covering = covering.take(2).find(|c| c.entries >= record.seq);
        let early = covering.is_some_and(|c| record.at > c.at.saturating_add(self.tolerance_ms));
        let told = |finding: &Finding| {
            finding.fault == Fault::ClockBack && finding.entry == Some(record.seq)
        };
        if (late || early) && !self.checked.findings.iter().any(told) {
            let text = "its time does not fit the checkpoints around it".to_owned();
            self.find(Fault::ClockBack, record.seq, text);
        }
    }

    fn compare(&mut self, record: &Record, expected: &Expected) {
        if record.hash == expected.hash {
            self.agreed = record.seq;
            return;
        }
        let since = self.agreed;
        // A change that was found already explains it; and once it is told, all that follows differs too.
        let explained = self.checked.findings.iter().any(|finding| {
            finding.entry.is_some_and(|entry| entry > since && entry <= record.seq)
                && finding.fault != Fault::ClockBack
        });
        if !explained && !self.was_rewritten() {
            let first = since + 1;
            let text = format!(
                "entries {first} to {} are not those that checkpoint {} signed",
                record.seq, expected.checkpoint
            );
            self.find(Fault::Rewritten, first, text);
        }
    }

    fn was_rewritten(&self) -> bool {
        self.checked.findings.iter().any(|finding| finding.fault == Fault::Rewritten)
    }

    fn note_redaction(&mut self, record: &Record) {
        if let Some(extent) = record.missing() {
            self.checked.gone.of(extent).push(record.seq);
        }
        if !record.is_redaction() {
            return;
        }
        let extent = if record.action == ERASE { Extent::All } else { Extent::Detail };
        let ranges = record.names.as_ref().and_then(|names| names.subject.parse::<Ranges>().ok());
        if let Some(ranges) = ranges {
            self.checked.taken.of(extent).add(&ranges);
        }
    }

    fn find(&mut self, fault: Fault, entry: u64, text: String) {
        if self.checked.findings.len() < MOST_FINDINGS {
            let (chain, place) = (Some(self.chain), self.place);
            self.checked.findings.push(Finding { fault, chain, entry: Some(entry), place, text });
        }
    }
}

#[cfg(test)]
#[path = "checker_tests.rs"]
mod tests;
