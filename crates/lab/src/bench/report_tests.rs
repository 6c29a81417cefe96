use std::time::Duration;

use super::{Aim, Row};

fn row(ms: impl IntoIterator<Item = u64>) -> Row {
    Row::times("row", "what", ms.into_iter().map(Duration::from_millis).collect())
}

#[test]
fn percentiles_are_values_that_were_measured() {
    let row = row((1..=100).rev());
    assert_eq!((row.p50, row.p95, row.p99, row.max), (50.0, 95.0, 99.0, 100.0));
}

#[test]
fn a_single_measurement_is_all_of_its_percentiles() {
    let row = row([7]);
    assert_eq!((row.p50, row.p99, row.max, row.n), (7.0, 7.0, 7.0, 1));
}

#[test]
fn flat_means_about_as_much_as_the_row_it_is_compared_with() {
    let short = row([10]);
    assert_eq!(row([12]).over(&short).aim(Aim::Flat).met, Some(true));
    assert_eq!(row([20]).over(&short).aim(Aim::Flat).met, Some(false));
}
