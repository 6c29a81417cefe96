use proptest::prelude::*;

use super::*;

#[test]
fn a_slow_room_holds_the_position_and_no_other_room() {
    let mut ledger = Ledger::default();
    let slow = ledger.open("s1".to_owned(), 2);
    let quick = ledger.open("s2".to_owned(), 1);
    ledger.done(slow);
    ledger.done(quick);
    assert_eq!(ledger.reached(), None);
    ledger.done(slow);
    assert_eq!(ledger.reached().as_deref(), Some("s2"));
    assert_eq!(ledger.reached(), None);
}

#[test]
fn a_response_without_news_moves_the_position() {
    let mut ledger = Ledger::default();
    ledger.open("s1".to_owned(), 0);
    assert_eq!(ledger.reached().as_deref(), Some("s1"));
}

proptest! {
    /// Whatever the order in which rooms finish, the position never passes a response that is not done.
    #[test]
    fn the_position_never_passes_what_is_open(
        parts in prop::collection::vec(0usize..4, 1..12),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..48),
    ) {
        let mut ledger = Ledger::default();
        let entries: Vec<Entry> =
            parts.iter().enumerate().map(|(n, parts)| ledger.open(n.to_string(), *parts)).collect();
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
                let reached: usize = reached.parse().expect("a number");
                prop_assert!(left[..=reached].iter().all(|left| *left == 0));
            }
        }
    }
}
