use cloister_protocol::UserId;
use proptest::prelude::*;

use super::*;
use crate::actor::Actor;
use crate::audit::Entry;
use crate::audit::record::Salt;

const CHAIN: Owner = Owner::Platform;
const MINUTE: i64 = 60_000;

fn entry(seq: u64, detail: &str) -> Entry {
    Entry::new(&Actor::Operator, "test.do", seq).with(detail)
}

/// A chain of entries a second apart.
fn chain(length: u64) -> Vec<Record> {
    let mut tip = Tip::NONE;
    let next = |seq: u64| {
        let salts = [Salt([seq as u8; 16]), Salt([!(seq as u8); 16])];
        let record = Record::next(CHAIN, &tip, seq as i64 * 1000, entry(seq, "said"), salts);
        tip = record.tip();
        record
    };
    (1..=length).map(next).collect()
}

/// What a checkpoint after every `every`th entry says.
fn expected(records: &[Record], every: usize) -> Vec<Expected> {
    let of = |(i, record): (usize, &Record)| Expected {
        entries: record.seq,
        hash: record.hash,
        segments: 0,
        checkpoint: i as u64 + 1,
        at: record.at,
    };
    records.iter().skip(every - 1).step_by(every).enumerate().map(of).collect()
}

fn check(records: &[Record], expected: Vec<Expected>) -> Vec<Finding> {
    let mut checker = Checker::new(CHAIN, Where::Database, expected, MINUTE);
    records.iter().for_each(|record| checker.feed(record));
    let checked = checker.finish_whole();
    let mut findings = checked.findings;
    findings.extend(checked.gone.first_unsaid(&checked.taken).map(|entry| Finding {
        fault: Fault::ErasedSilently,
        chain: Some(CHAIN),
        entry: Some(entry),
        place: Where::Database,
        text: String::new(),
    }));
    findings
}

fn first(findings: &[Finding]) -> (Fault, u64) {
    let first = findings.first().expect("the change is found");
    (first.fault, first.entry.unwrap())
}

/// Gives entries from an index on the hashes a forger would.
fn rehash(records: &mut [Record], from: usize) {
    for i in from..records.len() {
        records[i].prev = if i == 0 { Digest32::ZERO } else { records[i - 1].hash };
        records[i].seq = i as u64 + 1;
        records[i].hash = records[i].expected_hash(CHAIN);
    }
}

#[test]
fn an_untouched_chain_is_whole() {
    let records = chain(50);
    assert_eq!(check(&records, expected(&records, 7)), []);
    assert_eq!(check(&[], Vec::new()), []);
}

proptest! {
    #[test]
    fn an_edit_is_found_and_named(length in 2usize..40, at in any::<prop::sample::Index>(), what in 0..7) {
        let mut records = chain(length as u64);
        let signed = expected(&records, 5);
        let index = at.index(length);
        let record = &mut records[index];
        match what {
            0 => record.at += 1,
            1 => record.action.push('x'),
            2 => record.names.as_mut().unwrap().actor.push('x'),
            3 => record.names.as_mut().unwrap().subject.push('x'),
            4 => record.detail.as_mut().unwrap().text.push('x'),
            5 => record.detail_hash.0[3] ^= 1,
            _ => record.prev.0[3] ^= 1,
        }
        let found = check(&records, signed);
        prop_assert_eq!(first(&found), (Fault::Edited, index as u64 + 1));
        prop_assert_eq!(found.len(), 1, "{:?}", found);
    }

    #[test]
    fn an_edit_with_its_own_hash_made_anew_is_named_by_its_neighbour(length in 3usize..40, at in any::<prop::sample::Index>()) {
        let mut records = chain(length as u64);
        let index = at.index(length - 1);
        records[index].action = "test.other".into();
        records[index].hash = records[index].expected_hash(CHAIN);
        let found = check(&records, Vec::new());
        prop_assert_eq!(first(&found), (Fault::Edited, index as u64 + 1));
    }

    #[test]
    fn a_deletion_is_found_and_named(length in 2usize..40, at in any::<prop::sample::Index>(), many in 1usize..4) {
        let mut records = chain(length as u64);
        let signed = expected(&records, length);
        let index = at.index(length);
        let many = many.min(length - index);
        records.drain(index..index + many);
        let fault = if index + many == length { Fault::Truncated } else { Fault::Missing };
        prop_assert_eq!(first(&check(&records, signed)), (fault, index as u64 + 1));
    }

    #[test]
    fn a_forged_entry_put_in_is_found_and_named(length in 2usize..40, at in any::<prop::sample::Index>()) {
        let mut records = chain(length as u64);
        let index = at.index(length);
        let tip = records[index].tip();
        let salts = [Salt([1; 16]), Salt([2; 16])];
        let mut forged = Record::next(CHAIN, &tip, records[index].at, entry(0, "forged"), salts);
        forged.seq = records[index].seq;
        forged.hash = forged.expected_hash(CHAIN);
        records.insert(index + 1, forged);
        let found = check(&records, Vec::new());
        prop_assert_eq!(first(&found), (Fault::Inserted, index as u64 + 1));
    }

    #[test]
    fn entries_that_changed_places_are_found_and_named(length in 3usize..40, at in any::<prop::sample::Index>()) {
        let mut records = chain(length as u64);
        let index = at.index(length - 1);
        records.swap(index, index + 1);
        let found = check(&records, Vec::new());
        prop_assert_eq!(first(&found), (Fault::Reordered, index as u64 + 1));
    }

    #[test]
    fn a_forger_who_makes_all_hashes_anew_is_caught_by_the_checkpoint(
        length in 6usize..40,
        at in any::<prop::sample::Index>(),
        how in 0..3,
    ) {
        let mut records = chain(length as u64);
        let signed = expected(&records, 5);
        let covered = length / 5 * 5;
        let index = at.index(covered - 1);
        match how {
            0 => records[index].action = "test.other".into(),
            1 => { records.remove(index); }
            _ => {
                let copy = records[index].clone();
                records.insert(index, copy);
            }
        }
        rehash(&mut records, index);
        let (fault, entry) = first(&check(&records, signed));
        // The checkpoints before it still agree: it is narrowed down to what they leave open.
        // A copy put in before its original leaves that one as it was.
        let changed = if how == 2 { index + 1 } else { index };
        let agreed = (changed / 5 * 5) as u64;
        prop_assert!(
            (fault, entry) == (Fault::Rewritten, agreed + 1) || (fault == Fault::Truncated && how == 1),
            "{:?} {} not after {}", fault, entry, agreed
        );
    }

    #[test]
    fn content_taken_without_an_entry_is_found(length in 2usize..40, at in any::<prop::sample::Index>(), all in any::<bool>()) {
        let mut records = chain(length as u64);
        let index = at.index(length);
        records[index].redact(if all { Extent::All } else { Extent::Detail });
        let found = check(&records, Vec::new());
        prop_assert_eq!(first(&found), (Fault::ErasedSilently, index as u64 + 1));
    }
}

#[test]
fn a_clock_that_goes_back_is_found() {
    let at = |times: &[i64], signed: &[(u64, i64)]| {
        let mut records = chain(times.len() as u64);
        for (record, at) in records.iter_mut().zip(times) {
            record.at = *at;
        }
        rehash(&mut records, 0);
        let expected = signed.iter().map(|(entries, at)| Expected {
            entries: *entries,
            hash: records[*entries as usize - 1].hash,
            segments: 0,
            checkpoint: *entries,
            at: *at,
        });
        let expected = expected.collect();
        check(&records, expected).iter().map(|f| (f.fault, f.entry.unwrap())).collect::<Vec<_>>()
    };
    let hour = 60 * MINUTE;
    assert_eq!(
        at(&[0, hour, hour - MINUTE / 2], &[]),
        [],
        "waiting for a turn is no clock that goes back"
    );
    assert_eq!(at(&[0, hour, hour - 2 * MINUTE], &[]), [(Fault::ClockBack, 3)]);
    // Back before the checkpoint that did not have it yet.
    assert_eq!(at(&[0, 1, 2], &[(2, hour)]), [(Fault::ClockBack, 3)]);
    // Later than the checkpoint that has it.
    assert_eq!(at(&[0, hour], &[(2, 1)]), [(Fault::ClockBack, 2)]);
}

#[test]
fn an_entry_belongs_to_its_chain() {
    let records = chain(2);
    let mut elsewhere =
        Checker::new(Owner::User(UserId::from_number(1)), Where::Database, Vec::new(), MINUTE);
    records.iter().for_each(|record| elsewhere.feed(record));
    assert_eq!(first(&elsewhere.finish().findings), (Fault::Edited, 1));
}
