use std::time::Duration;

use super::*;

#[test]
fn what_went_wrong_is_told_until_it_goes_well_and_counted_for_ten_minutes() {
    let trials = Trials::default();
    let began = Instant::now();
    assert_eq!(trials.lately("m", began), Lately::default());
    trials.note("m", None, began);
    trials.note("m", Some("cut"), began);
    trials.note("m", Some("no_connection"), began + Duration::from_secs(60));
    let lately = trials.lately("m", began + Duration::from_secs(120));
    let kind = Some("no_connection".to_owned());
    assert_eq!(lately, Lately { good: 1, bad: 2, bad_in_a_row: 2, kind: kind.clone() });
    assert_eq!(trials.lately("another", began), Lately::default());

    let later = began + Duration::from_secs(3600);
    assert_eq!(trials.lately("m", later), Lately { good: 0, bad: 0, bad_in_a_row: 2, kind });
    trials.note("m", None, later);
    let lately = trials.lately("m", later);
    assert_eq!((lately.good, lately.bad, lately.bad_in_a_row), (1, 0, 0));
}

#[test]
fn names_are_bounded() {
    let trials = Trials::default();
    let now = Instant::now();
    for n in 0..2 * MOST {
        trials.note(&format!("m{n}"), Some("cut"), now);
    }
    assert_eq!(trials.lately("m0", now).bad, 1);
    assert_eq!(trials.lately("m150", now).bad, 0);
}
