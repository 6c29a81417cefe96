use proptest::prelude::*;

use super::*;

/// The position moves past an event when it and all before it are handed over (X1).
#[test]
fn moves_in_order_whatever_finishes_first() {
    let mut ledger = Ledger::default();
    let first = ledger.open(1, 2);
    let second = ledger.open(2, 1);
    ledger.done(second);
    assert_eq!(ledger.reached(), None, "the first is not done");
    ledger.done(first);
    assert_eq!(ledger.reached(), None, "half of the first is not done");
    ledger.done(first);
    assert_eq!(ledger.reached(), Some(2));
    assert_eq!(ledger.reached(), None, "it is no further than when last asked");
}

#[test]
fn what_concerns_nobody_is_reached_at_once_unless_something_waits_before_it() {
    let mut ledger = Ledger::default();
    ledger.open(1, 0);
    assert_eq!(ledger.reached(), Some(1));
    let waits = ledger.open(2, 1);
    ledger.open(3, 0);
    assert_eq!(ledger.reached(), None);
    ledger.done(waits);
    assert_eq!(ledger.reached(), Some(3));
    ledger.done(waits);
    assert_eq!(ledger.reached(), None, "done twice is done once");
}

/// While a long back-fill holds the position, what concerns nobody is not heaped up behind it (X6).
#[test]
fn what_concerns_nobody_is_held_once_however_long_it_waits() {
    let mut ledger = Ledger::default();
    let long = ledger.open(1, 1);
    for position in 2..10_000 {
        ledger.open(position, 0);
    }
    let next = ledger.open(10_000, 1);
    ledger.open(10_001, 0);
    assert!(ledger.open.len() <= 4);
    ledger.done(long);
    assert_eq!(ledger.reached(), Some(9_999));
    ledger.done(next);
    assert_eq!(ledger.reached(), Some(10_001));
}

proptest! {
    /// Whatever the order in which places finish, the position never passes what is not done.
    #[test]
    fn the_position_never_passes_what_is_open(
        parts in prop::collection::vec(0usize..4, 1..12),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..48),
    ) {
        let mut ledger = Ledger::default();
        let entries: Vec<Entry> =
            parts.iter().enumerate().map(|(n, parts)| ledger.open(n, *parts)).collect();
        let mut left = parts;
        for pick in order {
            let open: Vec<usize> = (0..left.len()).filter(|n| left[*n] > 0).collect();
            if open.is_empty() {
                break;
            }
            let n = open[pick.index(open.len())];
            left[n] -= 1;
            ledger.done(entries[n]);
            if let Some(reached) = ledger.reached() {
                prop_assert!(left[..=reached].iter().all(|left| *left == 0));
            }
        }
    }
}
