use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn ranges_are_sets(numbers in prop::collection::vec(1u64..60, 1..40), other in prop::collection::vec(1u64..60, 0..40)) {
        let set: BTreeSet<u64> = numbers.iter().copied().collect();
        let others: BTreeSet<u64> = other.iter().copied().collect();
        let ranges: Ranges = numbers.into_iter().collect();
        let against: Ranges = other.into_iter().collect();
        prop_assert_eq!(ranges.count(), set.len() as u64);
        for number in 0..61 {
            prop_assert_eq!(ranges.contains(number), set.contains(&number));
        }
        prop_assert_eq!(ranges.first_outside(&against), set.difference(&others).next().copied());
        prop_assert_eq!(ranges.to_string().parse::<Ranges>().unwrap(), ranges);
    }
}

#[test]
fn nonsense_is_refused() {
    for wrong in ["", "0", "3-1", "a", "1,,2", "1-", "-1", "1-18446744073709551615"] {
        assert!(wrong.parse::<Ranges>().is_err(), "{wrong:?}");
    }
}
